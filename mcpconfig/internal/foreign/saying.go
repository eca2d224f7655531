package foreign

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// These write indus's variables as the clients do; false where a client has no form.

// plainText is a default without variables; false where it has some.
func plainText(parts []part) (string, bool) {
	switch {
	case len(parts) == 0:
		return "", true
	case len(parts) == 1 && parts[0].kind == literal:
		return parts[0].text, true
	}
	return "", false
}

// sayBraced is ${VAR} and ${VAR:-default}.
func sayBraced(_ *writing, p part) (string, bool) {
	if p.kind != variable {
		return "", false
	}
	if p.fallback == nil {
		return "${" + p.text + "}", true
	}
	fallback, ok := plainText(p.fallback)
	return "${" + p.text + ":-" + fallback + "}", ok && !strings.Contains(fallback, "}")
}

// sayPlain is ${VAR} alone.
func sayPlain(w *writing, p part) (string, bool) {
	if p.kind != variable {
		return "", false
	}
	w.noDefault(p)
	return "${" + p.text + "}", true
}

// noDefault says that a default is lost.
func (w *writing) noDefault(p part) {
	if p.fallback != nil {
		w.say("the default of "+p.text+" is left out: "+w.title+" has none", "set the variable "+p.text)
	}
}

// sayEnvColon is ${env:VAR}, and ${userHome} and the rest where they are known.
func sayEnvColon(w *writing, p part) (string, bool) {
	if p.kind == variable {
		w.noDefault(p)
		return "${env:" + p.text + "}", true
	}
	text, _ := nativeOne(p)
	parts := split(text, w.vars)
	return text, len(parts) == 1 && parts[0].kind == p.kind && (p.kind != contents || anywhere(p.text))
}

// anywhere reports whether a path is the same from every file.
func anywhere(path string) bool {
	return (filepath.IsAbs(path) || strings.HasPrefix(path, "~/")) && !strings.Contains(path, "${")
}

// sayEditor is ${env:VAR}; a default makes it an input, which can have one.
func sayEditor(w *writing, p part) (string, bool) {
	fallback, ok := plainText(p.fallback)
	if p.kind != variable || p.fallback == nil || !ok || variableName(p.text) != p.text {
		return sayEnvColon(w, p)
	}
	if !w.out.ask(p.text, fallback) {
		return sayEnvColon(w, p)
	}
	return "${input:" + p.text + "}", true
}

// ask adds an input unless it is there; false where it is, with another default.
func (o *Written) ask(id, fallback string) bool {
	for i := range o.Inputs {
		if in := rowOr(&o.Inputs[i]); sameText(get(in, "id"), id) {
			return sameText(get(in, "default"), fallback)
		}
	}
	o.Inputs = append(o.Inputs, valueOf([]field{
		{"type", "promptString"}, {"id", id}, {"description", "The variable " + id}, {"default", fallback},
	}))
	return true
}

func sameText(v *hujson.Value, s string) bool {
	text, ok := stringOf(v)
	return ok && text == s
}

// sayCurly is {env:VAR} and {file:path}.
func sayCurly(w *writing, p part) (string, bool) {
	switch p.kind {
	case variable:
		w.noDefault(p)
		return "{env:" + p.text + "}", true
	case contents:
		return "{file:" + p.text + "}", anywhere(p.text)
	}
	return "", false
}

// saySecrets is ${{ secrets.VAR }}.
func saySecrets(w *writing, p part) (string, bool) {
	if p.kind != variable {
		return "", false
	}
	w.noDefault(p)
	return "${{ secrets." + p.text + " }}", true
}

// sayShell is ${VAR}, ${VAR:-default} and $(command).
func sayShell(w *writing, p part) (string, bool) {
	if p.kind == output {
		_, n := substitution("$(" + p.text + ")")
		return "$(" + p.text + ")", n == len(p.text)+3
	}
	return sayBraced(w, p)
}

// wholeVariable is the name in a text that is ${NAME}, behind a prefix, and nothing else.
func wholeVariable(s, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	parts := split(rest, []matcher{own})
	if !ok || len(parts) != 1 || parts[0].kind != variable || parts[0].fallback != nil {
		return "", false
	}
	return parts[0].text, true
}

// codexAdorn names the variables: Codex replaces none in its texts.
func codexAdorn(_ *writing, s *server) (out []field) {
	var names []string
	var env, headers, taken []pair
	for _, p := range s.env {
		if name, ok := wholeVariable(p.value, ""); ok && name == p.name {
			names = append(names, name)
		} else {
			env = append(env, p)
		}
	}
	for _, p := range s.headers {
		bearer, isBearer := wholeVariable(p.value, "Bearer ")
		name, ok := wholeVariable(p.value, "")
		switch {
		case isBearer && p.name == "Authorization":
			out = append(out, field{"bearer_token_env_var", bearer})
		case ok:
			taken = append(taken, pair{p.name, name})
		default:
			headers = append(headers, p)
		}
	}
	if names != nil {
		out = append(out, field{"env_vars", names})
	}
	if taken != nil {
		out = append(out, field{"env_http_headers", taken})
	}
	s.env, s.headers = env, headers
	return out
}

// continueAdorn puts the headers where Continue has them.
func continueAdorn(w *writing, s *server) []field {
	if s.command != "" || len(s.headers) == 0 {
		return nil
	}
	return []field{{"requestOptions", []field{{"headers", w.pairs("headers", s.headers)}}}}
}

// gooseAdorn adds what a row of Goose must have, and names the secrets.
func gooseAdorn(_ *writing, s *server) []field {
	out := []field{{"name", s.id}, {"description", ""}}
	if !s.disabled {
		out = append(out, field{"enabled", true})
	}
	var env []pair
	names := []string{}
	for _, p := range s.env {
		if name, ok := wholeVariable(p.value, ""); ok && name == p.name {
			names = append(names, name)
		} else {
			env = append(env, p)
		}
	}
	s.env = env
	if len(names) > 0 {
		out = append(out, field{"env_keys", names})
	}
	if s.command != "" && len(s.args) == 0 {
		out = append(out, field{"args", []string{}})
	}
	return out
}

// everyTool is what Copilot must be told where no list is given.
func everyTool(_ *writing, s *server) []field {
	if s.all && (len(s.deny) != 1 || s.deny[0] != "*") {
		return []field{{"tools", []string{"*"}}}
	}
	return nil
}

// crushAdorn leaves out headers without a value, which Crush would not send.
func crushAdorn(w *writing, s *server) []field {
	s.headers = slices.DeleteFunc(s.headers, func(p pair) bool {
		if p.value == "" {
			w.say("headers "+tree.Quote(p.name)+" is empty and is left out: "+w.title+" sends no such header", "")
		}
		return p.value == ""
	})
	return nil
}

// zedAdorn marks a command as one's own, as older releases want it.
func zedAdorn(_ *writing, s *server) []field {
	if s.command != "" {
		return []field{{"source", "custom"}}
	}
	return nil
}
