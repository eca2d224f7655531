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
	// Said is what the client cannot say.
	Said []Said
}

// Output is a written row.
type Output struct {
	ID    string
	Value hujson.Value
}

// Said is a remark on a server.
type Said struct {
	Server       string
	Left         bool // the server is not written
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
	out *Written
	id  string
}

// Write turns servers into a client's words; nil where the client has no form.
func Write(client string, defs []Definition) *Written {
	d := find(client)
	if d == nil || d.only {
		return nil
	}
	out := &Written{Syntax: d.syntax, Where: d.where, List: d.list}
	for _, f := range d.begin {
		out.Begin = append(out.Begin, hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(f.key)}, Value: valueOf(f.value)})
	}
	for _, def := range defs {
		w := &writing{dialect: d, out: out, id: def.ID}
		if fields := w.server(def); fields != nil {
			out.Rows = append(out.Rows, Output{def.ID, valueOf(fields)})
		}
	}
	return out
}

func (w *writing) say(reason, hint string) {
	w.out.Said = append(w.out.Said, Said{Server: w.id, Reason: reason, Hint: hint})
}

// leave says why a server is not written.
func (w *writing) leave(reason, hint string) []field {
	w.out.Said = append(w.out.Said, Said{w.id, true, reason, hint})
	return nil
}

func (w *writing) server(def Definition) []field {
	s, err := decode(def.ID, def.JSON)
	switch {
	case err != nil:
		return w.leave(err.Error(), "")
	case s.disabled && w.enabled == "" && w.disabled == "":
		return w.leave("is disabled, and "+w.title+" would start it", "")
	case s.url != "" && w.url == "" || s.url != "" && w.name == "claude-desktop":
		return w.leave(w.title+" starts commands only, and this is a url", `wrap it: "npx", "-y", "mcp-remote", and the url`)
	case s.sse && s.url != "" && w.noSSE:
		return w.leave(w.title+" speaks streamable HTTP only, and this server speaks SSE", "")
	}
	var extra []field
	if w.adorn != nil {
		extra = w.adorn(w, s)
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
	w.unsaid(s)
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
		words, _ := words(command)
		switch {
		case w.joined:
			add(w.command, append([]string{command}, args...))
		case w.cuts && len(args) == 0 && (len(words) != 1 || words[0] != command):
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
		} else if s.envFile != "" {
			w.say("envFile is left out: "+w.title+" reads no such file", "put its variables into that client's file")
		}
		if s.cwd != "" && w.cwd != "" {
			add(w.cwd, w.text("cwd", s.cwd))
		} else if s.cwd != "" {
			w.say("cwd is left out: "+w.title+" starts its servers where it likes", "")
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
			w.say("the transport SSE is left out: "+w.title+" finds it out itself", "")
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
			of = []string{"connect", "list", "call"}
		}
		d, same := s.steps[of[0]], true
		for _, step := range of {
			same = same && left[step] && s.steps[step] == d
		}
		if !same || d <= 0 || w.whole && d%time.Duration(t.unit*float64(time.Second)) != 0 {
			continue
		}
		for _, step := range of {
			delete(left, step)
		}
		out = append(out, field{t.key, math.Round(d.Seconds()/t.unit*1e6) / 1e6})
	}
	var names []string
	for _, step := range steps() {
		if left[step] && s.steps[step] != 0 {
			names = append(names, step)
		}
	}
	if len(names) > 0 {
		w.say("timeout is left out for "+strings.Join(names, ", ")+": "+w.title+" has no such bound", "")
	}
	return out
}

func (w *writing) tools(s *server) (out []field) {
	if w.emptyIsAll && !s.all && len(s.allow) == 0 {
		w.say("tools.allow is left out: to "+w.title+" an empty list is every tool", wider)
	} else if !s.all {
		if f, ok := w.names("tools.allow", w.allow, s.allow); ok {
			out = append(out, f)
		}
	}
	deny := s.deny
	if len(deny) == 1 && deny[0] == "*" && s.all && w.allow != "" && !w.emptyIsAll {
		return append(out, field{w.allow, []string{}})
	}
	if len(deny) > 0 {
		if f, ok := w.names("tools.deny", w.deny, deny); ok {
			out = append(out, f)
		}
	}
	return out
}

const wider = "the client will see tools that indus hides"

// names are exact ones: no client knows patterns.
func (w *writing) names(what, key string, list []string) (field, bool) {
	if key == "" {
		w.say(what+" is left out: "+w.title+" has no such list", wider)
		return field{}, false
	}
	for _, name := range list {
		if strings.ContainsAny(name, "*?") {
			w.say(what+" is left out: "+w.title+" knows names and no patterns", wider)
			return field{}, false
		}
	}
	return field{key, list}, true
}

func (w *writing) unsaid(s *server) {
	if s.inherit && s.command != "" {
		w.say("inheritEnv is left out: "+w.title+" decides itself what a server inherits", "")
	}
	if s.rename {
		w.say("tools.rename is left out: "+w.title+" shows tools by their own names", "")
	}
	if s.about {
		w.say("tools.describe is left out: "+w.title+" shows tools as their server describes them", "")
	}
	if s.changes {
		w.say("changes is left out: "+w.title+" keeps no changed tool back", "")
	}
	if s.profile {
		w.say("profile is left out: "+w.title+" adapts schemas itself", "")
	}
	if s.era {
		w.say("era is left out: "+w.title+" finds it out itself", "")
	}
	for _, key := range s.strange {
		w.say("unknown key "+tree.Quote(key)+" is left out", "")
	}
}

func (w *writing) texts(where string, list []string) (out []string) {
	for i, s := range list {
		out = append(out, w.text(fmt.Sprintf("%s[%d]", where, i), s))
	}
	return out
}

func (w *writing) pairs(where string, list []pair) (out []pair) {
	for _, p := range list {
		out = append(out, pair{p.name, w.text(where+" "+tree.Quote(p.name), p.value)})
	}
	return out
}

// text turns indus's variables into the client's.
func (w *writing) text(where, s string) string {
	var b strings.Builder
	for _, p := range split(s, []matcher{own, opened}) {
		b.WriteString(w.part(where, p))
	}
	return b.String()
}

func (w *writing) part(where string, p part) string {
	if p.kind == literal {
		if parts := split(p.text, w.variablesOf(where)); len(parts) > 1 || len(parts) == 1 && parts[0].kind != literal {
			w.say(where+": "+w.title+" takes a part of it for a variable", "change it in that client's file")
		}
		return p.text
	}
	if p.kind == alien {
		w.say(where+": \"${\" begins no variable", "write ${NAME}, or \"$${\" for the characters themselves")
		return p.text
	}
	if w.dialect.say != nil && w.variablesOf(where) != nil {
		if text, ok := w.dialect.say(w, p); ok {
			return text
		}
	}
	text, _ := nativeOne(p)
	w.say(fmt.Sprintf("%s: %s has nothing for %s, which stays as it is", where, w.title, p.name()), "write the value itself into that client's file")
	return text
}

// name is a variable without its default, its path or its command, which may hold a secret.
func (p part) name() string {
	switch p.kind {
	case variable:
		if p.fallback != nil {
			return "${" + p.text + ":-…}"
		}
	case contents:
		return "${file:…}"
	case output:
		return "${cmd:…}"
	}
	text, _ := nativeOne(p)
	return text
}

// variablesOf are those that the client replaces in a place.
func (d *dialect) variablesOf(where string) []matcher {
	if d.inHeadersOnly && !strings.HasPrefix(where, "headers") {
		return nil
	}
	return d.vars
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
		list := &hujson.Array{}
		for _, s := range v {
			list.Elements = append(list.Elements, valueOf(s))
		}
		return hujson.Value{Value: list}
	case []pair:
		o := &hujson.Object{}
		for _, p := range v {
			o.Members = append(o.Members, hujson.ObjectMember{Name: valueOf(p.name), Value: valueOf(p.value)})
		}
		return hujson.Value{Value: o}
	case []field:
		o := &hujson.Object{}
		for _, f := range v {
			o.Members = append(o.Members, hujson.ObjectMember{Name: valueOf(f.key), Value: valueOf(f.value)})
		}
		return hujson.Value{Value: o}
	}
	return hujson.Value{Value: hujson.Literal("null")}
}
