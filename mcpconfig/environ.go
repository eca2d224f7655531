package mcpconfig

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-envparse"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// envFile returns the variables of the file that the row names, without the variables that "env" has. Nothing in the
// file is replaced or shown.
func (r *reading) envFile(s config.Stdio) []config.Pair {
	v := r.fields["envFile"]
	if v == nil {
		return nil
	}
	written, _ := r.literal("envFile", v)
	path := r.expand(written, v.StartOffset, "envFile")
	pending := r.pending[path]
	skip := func(reason, hint string) []config.Pair {
		r.skip(v.StartOffset, "envFile "+tree.Quote(written)+": "+reason, hint)
		return nil
	}
	switch {
	case r.State != Active || written == "":
		return nil
	case pending:
		return skip("the name of the file cannot have ${file:…} or ${cmd:…}", "")
	}
	path = r.fullPath(path)
	want := fetch{kind: "env", target: path, root: r.projectOf(path)}
	r.fetches = append(r.fetches, want)
	r.coverFile(want)
	if r.fetched == nil {
		return nil
	}
	got := r.fetched(want)
	if got.reason != "" {
		hint := ""
		if !anchored(written) {
			hint = "relative paths begin at " + tree.QuoteWord(r.base())
		}
		return skip(got.reason, hint)
	}
	vars, err := envparse.Parse(strings.NewReader(strings.TrimPrefix(got.value, "\ufeff")))
	if err != nil {
		return skip(envFault(err), "write NAME=VALUE, and quotes around a value that has a quote or a # in it")
	}
	var out []config.Pair
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if strings.Contains(vars[name], "\x00") {
			return skip("holds a NUL character", "")
		}
		own := func(p config.Pair) bool { return foldKey("env", p.Name) == foldKey("env", name) }
		if !slices.ContainsFunc(s.Env, own) {
			out = append(out, config.Pair{Name: name, Value: config.NewSecret(vars[name])})
		}
	}
	return out
}

// anchored reports whether a path begins at the same place in every file.
func anchored(path string) bool {
	return filepath.IsAbs(path) || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, "${")
}

// envFault returns the position and the kind of a mistake in a file of variables. It never returns content of the file.
func envFault(err error) string {
	var at *envparse.ParseError
	if !errors.As(err, &at) {
		return "cannot be read"
	}
	reason := "the name of a variable is not of letters, digits and _"
	for _, known := range []error{
		envparse.ErrMissingSeparator, envparse.ErrEmptyKey, envparse.ErrUnmatchedDouble, envparse.ErrUnmatchedSingle,
		envparse.ErrIncompleteEscape, envparse.ErrIncompleteHex, envparse.ErrIncompleteSur, envparse.ErrMultibyteEscape,
	} {
		if errors.Is(at.Err, known) {
			reason = known.Error()
		}
	}
	return "line " + strconv.Itoa(at.Line) + ": " + reason
}

// maxSettings bounds the size of the settings file, which is read for "keyEnv".
const maxSettings = 64 << 10

// KeyVariables returns the variables from which indus takes its own keys. They hold the key of the store of sign-ins,
// the token of indus serve and the keys of models. The variable that "keyEnv" of settings.json names is included. A
// child process gets them only if its row names them.
func KeyVariables(o *Options) []string {
	names := []string{"INDUS_STORE_KEY", "INDUS_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"}
	path, err := PathOf(User, o)
	if err != nil {
		return names
	}
	var set struct {
		KeyEnv string `json:"keyEnv"`
	}
	text, err := atomicfile.ReadPlain(filepath.Join(filepath.Dir(path), "settings.json"), maxSettings)
	if err == nil && json.Unmarshal(text, &set) == nil && set.KeyEnv != "" {
		names = append(names, set.KeyEnv)
	}
	return names
}
