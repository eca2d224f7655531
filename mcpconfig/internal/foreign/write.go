package foreign

import (
	"fmt"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Entry is indus as a server of another client: a command, or a URL.
type Entry struct {
	ID, Command string
	Args        []string
	URL         string
	// Token is the environment variable of the bearer token that the client sends to the URL; "" is none.
	Token string
	// Bearer is the bearer token itself. It goes before Token.
	Bearer string
}

// Written is an entry in a client's format.
type Written struct {
	Syntax tree.Syntax
	// Where holds paths of names from the root. The entry goes to the first path that the file has, or else to the
	// first path.
	Where [][]string
	// IDKey is set if the servers are a list: the member of a server that has its id.
	IDKey string
	// Begin holds the other members that a new file must have.
	Begin []hujson.ObjectMember
	ID    string
	Row   hujson.Value
	// Notes are about the parts that the client reads in another way. They have no position.
	Notes []tree.Note
}

// field is a member of a written row: a string, a bool, a list of strings, or fields.
type field struct {
	key   string
	value any
}

// writing is an entry that is being written.
type writing struct {
	*dialect
	entry Entry
	notes []tree.Note
}

// Write returns an entry in a client's format. Into is the client's file, or nil if there is none.
func Write(client string, e Entry, existing *hujson.Value) (*Written, error) {
	d := find(client)
	if e.URL != "" && e.Command == "" && d.commandsOnly {
		return nil, fmt.Errorf("the file of %s has commands and no URLs: run indus connect %s", d.title, client)
	}
	w := &writing{dialect: d, entry: e}
	out := &Written{Syntax: d.syntax, Where: d.paths, IDKey: d.idKey, ID: e.ID, Row: valueOf(w.row())}
	if d.writtenAt != nil {
		out.Where = d.writtenAt(existing)
	}
	for _, f := range d.begin {
		out.Begin = append(out.Begin, tree.Member(f.key, valueOf(f.value)))
	}
	out.Notes = w.notes
	return out, nil
}

func (w *writing) row() []field {
	var out []field
	if w.idKey != "" {
		out = append(out, field{w.idKey, w.entry.ID})
	}
	if w.entry.Command != "" {
		out = append(out, w.process()...)
	} else {
		out = append(out, w.remote()...)
	}
	if w.starIsAll {
		out = append(out, field{w.allow, []string{"*"}})
	}
	if w.dialect.extra != nil {
		out = append(out, w.dialect.extra(w.entry)...)
	}
	return out
}

// process returns the members of a server that the client starts.
func (w *writing) process() (out []field) {
	e := w.entry
	w.checkLiteral("command", e.Command)
	for i, arg := range e.Args {
		w.checkLiteral(fmt.Sprintf("args[%d]", i), arg)
	}
	if w.stdio != "" {
		out = append(out, field{w.kind, w.stdio})
	}
	switch {
	case w.joined, w.cutsLine && len(e.Args) == 0:
		return append(out, field{w.command, append([]string{e.Command}, e.Args...)})
	case len(e.Args) > 0:
		return append(out, field{w.command, e.Command}, field{w.args, e.Args})
	}
	return append(out, field{w.command, e.Command})
}

// remote returns the members of a server that the client reaches by its URL.
func (w *writing) remote() (out []field) {
	w.checkLiteral("url", w.entry.URL)
	if w.http != "" {
		out = append(out, field{w.kind, w.http})
	}
	out = append(out, field{w.url, w.entry.URL})
	switch headers := w.headersIn; {
	case w.entry.Token == "" && w.entry.Bearer == "":
	case w.bearerVar != "" && w.entry.Bearer == "":
		out = append(out, field{w.bearerVar, w.entry.Token})
	case w.headerLines:
		out = append(out, field{w.headers, []string{"Authorization: " + w.authorization()[0].value.(string)}})
	case headers != "":
		out = append(out, field{headers, []field{{w.headers, w.authorization()}}})
	default:
		out = append(out, field{w.headers, w.authorization()})
	}
	return out
}

// authorization returns the headers that send the token.
func (w *writing) authorization() []field {
	if w.entry.Bearer != "" {
		return []field{{"Authorization", "Bearer " + w.entry.Bearer}}
	}
	for _, f := range formsOf(w.vars) {
		if f.kind == variablePart {
			return []field{{"Authorization", "Bearer " + f.open + w.entry.Token + f.close}}
		}
	}
	variable := "${" + w.entry.Token + "}"
	w.remark("headers: "+w.title+" has no variables, and "+variable+" stays as it is",
		"write the token itself into that client's file")
	return []field{{"Authorization", "Bearer " + variable}}
}

// checkLiteral adds a note if the client would replace a part of a text.
func (w *writing) checkLiteral(where, s string) {
	for _, p := range split(s, formsIn(w.dialect, formsOf(w.vars), where)...) {
		if p.kind != literalPart {
			w.remark(where+": "+w.title+" takes a part of it for a variable", "change it in that client's file")
			return
		}
	}
}

func (w *writing) remark(reason, hint string) {
	w.notes = append(w.notes, tree.Note{Reason: reason, Hint: hint})
}

// valueOf returns a field's value as a tree.
func valueOf(v any) hujson.Value {
	switch v := v.(type) {
	case string:
		return hujson.Value{Value: hujson.String(v)}
	case bool:
		return hujson.Value{Value: hujson.Bool(v)}
	case []string:
		list := []hujson.Value{}
		for _, s := range v {
			list = append(list, valueOf(s))
		}
		return tree.List(0, list)
	case []field:
		var members []hujson.ObjectMember
		for _, f := range v {
			members = append(members, tree.Member(f.key, valueOf(f.value)))
		}
		return tree.Object(0, members)
	}
	return hujson.Value{Value: hujson.Literal("null")}
}
