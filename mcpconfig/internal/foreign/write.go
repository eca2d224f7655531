package foreign

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Definition is a native row, and its id.
type Definition struct {
	ID   string
	JSON []byte
}

// Written are servers in a client's words.
type Written struct {
	Syntax tree.Syntax
	// Where they go: paths of names from the root, the first that is there, else the first.
	Where [][]string
	// List: as a list; the rows have their ids themselves.
	List bool
	// Begin are other members that a file must have.
	Begin []hujson.ObjectMember
	// Rows are objects.
	Rows []Output
	// Inputs are what Visual Studio Code asks its user for.
	Inputs []hujson.Value
	// Lost is what the client has no words for.
	Lost []Lost
}

// Output is a written row.
type Output struct {
	ID    string
	Value hujson.Value
}

// Lost is a note on a server.
type Lost struct {
	Server       string
	Skipped      bool // the server is not written
	Reason, Hint string
}

// field is a member of what is written: a string, a bool, a number, a list of
// strings, pairs or fields.
type field struct {
	key   string
	value any
}

// writing is a server in the course of being written.
type writing struct {
	*dialect
	forms []form
	out   *Written
	id    string
}

// Write turns servers into a client's words; nil where the client has no form.
// Into is the file that is there; nil: there is none.
func Write(client string, defs []Definition, into *hujson.Value) *Written {
	d := find(client)
	if d == nil || d.readOnly {
		return nil
	}
	if d.asWritten != nil {
		d = d.asWritten(*d, into)
	}
	out := &Written{Syntax: d.syntax, Where: d.where, List: d.list}
	for _, f := range d.begin {
		out.Begin = append(out.Begin, tree.Member(f.key, valueOf(f.value)))
	}
	for _, def := range defs {
		w := &writing{dialect: d, forms: formsOf(d.vars), out: out, id: def.ID}
		if fields := w.server(def); fields != nil {
			out.Rows = append(out.Rows, Output{def.ID, valueOf(fields)})
		}
	}
	return out
}

// lose notes what is not written.
func (w *writing) lose(reason, hint string) {
	w.out.Lost = append(w.out.Lost, Lost{Server: w.id, Reason: reason, Hint: hint})
}

// skip notes why a server is not written.
func (w *writing) skip(reason, hint string) []field {
	w.out.Lost = append(w.out.Lost, Lost{w.id, true, reason, hint})
	return nil
}

func (w *writing) server(def Definition) []field {
	s, err := decode(def.ID, def.JSON)
	switch {
	case err != nil:
		return w.skip(err.Error(), "")
	case s.disabled && w.enabled == "" && w.disabled == "":
		return w.skip("is disabled, and "+w.title+" would start it", "")
	case s.url != "" && w.commandsOnly:
		return w.skip(w.title+" starts commands only, and this is a url", `--gateway gives it indus as a command; or wrap it: "npx", "-y", "mcp-remote", and the url`)
	case s.sse && s.url != "" && w.noSSE:
		return w.skip(w.title+" speaks streamable HTTP only, and this server speaks SSE", "")
	}
	extra := w.variables(s)
	if w.dialect.extra != nil {
		extra = append(w.dialect.extra(w, s), extra...)
	}
	out := w.transport(s)
	out = append(out, w.timeouts(s)...)
	out = append(out, w.tools(s)...)
	switch {
	case s.disabled && w.disabled != "":
		out = append(out, field{w.disabled, true})
	case s.disabled:
		out = append(out, field{w.enabled, false})
	}
	w.noteLost(s)
	if w.list {
		out = append([]field{{"name", s.id}}, out...)
	}
	return append(out, extra...)
}

func (w *writing) transport(s *server) (out []field) {
	add := func(key string, value any) { out = append(out, field{key, value}) }
	if s.command != "" {
		if w.stdio != "" {
			add(w.kind, w.stdio)
		}
		command, args := w.text("command", s.command), w.texts("args", s.args)
		words, _ := lineWords(command)
		switch {
		case w.joined:
			add(w.command, append([]string{command}, args...))
		case w.cutsLine && len(args) == 0 && (len(words) != 1 || words[0] != command):
			add(w.command, []string{command}) // one word, whatever is in it
		default:
			add(w.command, command)
			if len(args) > 0 {
				add(w.args, args)
			}
		}
		if env := w.pairs("env", s.env); len(env) > 0 {
			add(w.env, env)
		}
		if s.envFile != "" && w.envFile != "" {
			add(w.envFile, w.text("envFile", s.envFile))
		}
		if s.cwd != "" && w.cwd != "" {
			add(w.cwd, w.text("cwd", s.cwd))
		}
		return out
	}
	key, word := w.url, w.http
	if s.sse {
		word = w.dialect.sse
		switch {
		case w.sseURL != "":
			key = w.sseURL
		case word == "":
			w.lose("the transport SSE is left out: "+w.title+" finds it out itself", "")
			word = w.http
		}
	}
	if word != "" {
		add(w.kind, word)
	}
	add(key, w.text("url", s.url))
	if headers := w.pairs("headers", s.headers); len(headers) > 0 && w.headers != "" {
		add(w.headers, headers)
	}
	return out
}

// timeouts writes each bound that the client has for the same steps.
func (w *writing) timeouts(s *server) (out []field) {
	left := map[string]bool{}
	for step := range s.steps {
		left[step] = true
	}
	for _, t := range w.dialect.timeouts {
		of := t.steps
		if of == nil {
			of = stepNames()[:3]
		}
		d, same := s.steps[of[0]], true
		for _, step := range of {
			same = same && left[step] && s.steps[step] == d
		}
		if !same || d <= 0 || w.wholeTimes && d%time.Duration(t.unit*float64(time.Second)) != 0 {
			continue
		}
		for _, step := range of {
			delete(left, step)
		}
		out = append(out, field{t.key, math.Round(d.Seconds()/t.unit*1e6) / 1e6})
	}
	var names []string
	for _, step := range stepNames() {
		if left[step] && s.steps[step] != 0 {
			names = append(names, step)
		}
	}
	if len(names) > 0 {
		w.lose("timeout is left out for "+strings.Join(names, ", ")+": "+w.title+" has no such bound", "")
	}
	return out
}

// variables writes those that the client has by their names alone, and takes them out of the
// server.
func (w *writing) variables(s *server) (out []field) {
	var env, headers, byName []namedText
	var names []string
	for _, p := range s.env {
		if name, ok := soleVariable(p.value, ""); ok && name == p.name && w.handOn != "" {
			names = append(names, name)
		} else {
			env = append(env, p)
		}
	}
	for _, p := range s.headers {
		token, isToken := soleVariable(p.value, "Bearer ")
		name, ok := soleVariable(p.value, "")
		switch {
		case p.value == "" && w.noEmptyHeaders:
			w.lose("headers "+tree.Quote(p.name)+" is empty and is left out: "+w.title+" sends no such header", "")
		case isToken && p.name == "Authorization" && w.bearerVar != "":
			out = append(out, field{w.bearerVar, token})
		case ok && w.headerVars != "":
			byName = append(byName, namedText{p.name, name})
		default:
			headers = append(headers, p)
		}
	}
	if names != nil {
		out = append(out, field{w.handOn, names})
	}
	if byName != nil {
		out = append(out, field{w.headerVars, byName})
	}
	s.env, s.headers = env, headers
	return out
}

// soleVariable is the name in a text that is ${NAME}, behind a prefix, and nothing else.
func soleVariable(s, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	parts := splitNative(rest)
	if !ok || len(parts) != 1 || parts[0].kind != variablePart || parts[0].fallback != nil {
		return "", false
	}
	return parts[0].text, true
}

func (w *writing) tools(s *server) (out []field) {
	noTool := len(s.deny) == 1 && s.deny[0] == "*"
	switch {
	case !s.all && len(s.allow) == 0 && w.emptyIsAll:
		w.lose("tools.allow is left out: to "+w.title+" an empty list is every tool", moreTools)
	case !s.all:
		out = w.names("tools.allow", w.allow, s.allow)
	case noTool && w.allow != "" && !w.emptyIsAll:
		return []field{{w.allow, []string{}}}
	case w.starIsAll:
		out = []field{{w.allow, []string{"*"}}}
	}
	if len(s.deny) > 0 {
		out = append(out, w.names("tools.deny", w.deny, s.deny)...)
	}
	return out
}

const moreTools = "the client will see tools that indus hides"

// names are exact ones: no client knows patterns.
func (w *writing) names(what, key string, list []string) []field {
	switch {
	case key == "":
		w.lose(what+" is left out: "+w.title+" has no such list", moreTools)
	case strings.ContainsAny(strings.Join(list, ""), "*?"):
		w.lose(what+" is left out: "+w.title+" knows names and no patterns", moreTools)
	default:
		return []field{{key, list}}
	}
	return nil
}

// noteLost notes the keys that the client has no word for.
func (w *writing) noteLost(s *server) {
	for _, lost := range []struct {
		is        bool
		key, does string
		hint      string
	}{
		{s.envFile != "" && s.command != "" && w.envFile == "", "envFile", "reads no such file", "put its variables into that client's file"},
		{s.cwd != "" && s.command != "" && w.cwd == "", "cwd", "starts its servers where it likes", ""},
		{s.inherit && s.command != "", "inheritEnv", "decides itself what a server inherits", ""},
		{s.has("tools.rename"), "tools.rename", "shows tools by their own names", ""},
		{s.has("tools.describe"), "tools.describe", "shows tools as their server describes them", ""},
		{s.has("lazy"), "lazy", "decides itself when a server starts", ""},
		{s.has("idle"), "idle", "decides itself when a server ends", ""},
		{s.has("per"), "per", "has one connection for all", ""},
		{s.has("instances"), "instances", "starts one process", ""},
		{s.has("maxConcurrent"), "maxConcurrent", "sends requests as they come", ""},
		{s.has("changes"), "changes", "keeps no changed tool back", ""},
		{s.has("profile"), "profile", "adapts schemas itself", ""},
		{s.has("oauth"), "oauth", "finds out itself how to sign in", "write what it needs for that into its own file"},
		{s.has("tls"), "tls", "knows the system's authorities alone", "put the authority into the system's store"},
		{s.has("forwardHeaders") || s.has("authorization"), "the forwarding of headers", "calls for one person", ""},
		{s.has("era"), "era", "finds it out itself", ""},
	} {
		if lost.is {
			w.lose(lost.key+" is left out: "+w.title+" "+lost.does, lost.hint)
		}
	}
	for _, key := range s.unknown {
		w.lose("unknown key "+tree.Quote(key)+" is left out", "")
	}
}

func (w *writing) texts(where string, list []string) (out []string) {
	for i, s := range list {
		out = append(out, w.text(fmt.Sprintf("%s[%d]", where, i), s))
	}
	return out
}

func (w *writing) pairs(where string, list []namedText) (out []namedText) {
	for _, p := range list {
		out = append(out, namedText{p.name, w.text(where+" "+tree.Quote(p.name), p.value)})
	}
	return out
}

// text turns indus's variables into the client's.
func (w *writing) text(where, s string) string {
	unclosed := func(s string) (part, int) {
		if strings.HasPrefix(s, "${") {
			return part{kind: clientPart, text: "${"}, 2
		}
		return part{}, 0
	}
	var b strings.Builder
	for _, p := range split(s, form{read: readNative}, form{read: unclosed}) {
		b.WriteString(w.part(where, p))
	}
	return b.String()
}

func (w *writing) part(where string, p part) string {
	forms := formsIn(w.dialect, w.forms, where)
	switch p.kind {
	case literalPart:
		if parts := split(p.text, forms...); len(parts) > 1 || len(parts) == 1 && parts[0].kind != literalPart {
			w.lose(where+": "+w.title+" takes a part of it for a variable", "change it in that client's file")
		}
		return p.text
	case clientPart:
		w.lose(where+": \"${\" begins no variable", "write ${NAME}, or \"$${\" for the characters themselves")
		return p.text
	}
	if fallback, ok := plainText(p.fallback); ok && w.asks && p.fallback != nil && variableName(p.text) == p.text && w.out.ask(p.text, fallback) {
		return "${input:" + p.text + "}"
	}
	for _, f := range forms {
		if f.kind != p.kind && f.kind != "" {
			continue
		}
		if text, ok := f.write(p); ok {
			if p.fallback != nil && !f.fallback {
				w.lose("the default of "+p.text+" is left out: "+w.title+" has none", "set the variable "+p.text)
			}
			return text
		}
		if f.kind == p.kind {
			break // the others are for reading
		}
	}
	text, _ := nativePart(p)
	w.lose(fmt.Sprintf("%s: %s has nothing for %s, which stays as it is", where, w.title, p.name()), "write the value itself into that client's file")
	return text
}

// name is a variable without its default, its path or its command, which may hold a secret.
func (p part) name() string {
	switch {
	case p.kind == variablePart && p.fallback != nil:
		return "${" + p.text + ":-…}"
	case p.kind == filePart:
		return "${file:…}"
	case p.kind == commandPart:
		return "${cmd:…}"
	}
	text, _ := nativePart(p)
	return text
}

// formsIn are those that the client replaces in a place.
func formsIn(d *dialect, forms []form, where string) []form {
	if d.inHeadersOnly && !strings.HasPrefix(where, "headers") {
		return nil
	}
	return forms
}

// valueOf is what is written as a tree.
func valueOf(v any) hujson.Value {
	switch v := v.(type) {
	case string:
		return hujson.Value{Value: hujson.String(v)}
	case bool:
		return hujson.Value{Value: hujson.Bool(v)}
	case float64:
		return hujson.Value{Value: hujson.Float(v)}
	case []string:
		list := []hujson.Value{}
		for _, s := range v {
			list = append(list, valueOf(s))
		}
		return tree.List(0, list)
	case []namedText:
		var members []hujson.ObjectMember
		for _, p := range v {
			members = append(members, tree.Member(p.name, valueOf(p.value)))
		}
		return tree.Object(0, members)
	case []field:
		var members []hujson.ObjectMember
		for _, f := range v {
			members = append(members, tree.Member(f.key, valueOf(f.value)))
		}
		return tree.Object(0, members)
	}
	return hujson.Value{Value: hujson.Literal("null")}
}
