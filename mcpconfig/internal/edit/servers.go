package edit

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// ErrNoServer says that a file has no row of an id.
var ErrNoServer = errors.New("no such server")

// Servers is the text of one of indus's own files. A [tree.Note] is the error of what is wrong
// in one place.
type Servers struct{ JSON }

// Server is one row of the text.
type Server struct {
	ID   string        // "" where it has none
	Key  *hujson.Value // its name; nil in a list
	Body *hujson.Value

	list string        // the name of the list or object that it is in
	in   *hujson.Value // that itself
	at   int           // its place there
}

// lists are the values that hold servers.
func (e *Servers) lists() iter.Seq2[string, *hujson.Value] {
	return func(yield func(string, *hujson.Value) bool) {
		for name, m := range tree.Members(&e.Doc.Root) {
			if (name == "servers" || name == "mcpServers") && !yield(name, &m.Value) {
				return
			}
		}
	}
}

// All are the rows, in order.
func (e *Servers) All() (rows []Server) {
	for list, in := range e.lists() {
		at := 0
		for id, m := range tree.Members(in) {
			rows = append(rows, Server{id, &m.Name, &m.Value, list, in, at})
			at++
		}
		for i, v := range tree.Elements(in) {
			rows = append(rows, Server{cmp.Or(tree.TextAt(v, "id"), tree.TextAt(v, "name")), nil, v, list, in, i})
		}
	}
	return rows
}

// Of are the rows of an id; the last one counts.
func (e *Servers) Of(id string) []Server {
	return slices.DeleteFunc(e.All(), func(r Server) bool { return r.ID != id || id == "" })
}

// IsID reports a key of a row that names it.
func IsID(name string) bool { return name == "id" || name == "name" }

// Row is the object of a row without its id and its comments; false where it is no object.
func Row(v *hujson.Value) ([]byte, bool) {
	row := v.Clone()
	object, ok := row.Value.(*hujson.Object)
	if !ok {
		return nil, false
	}
	row.BeforeExtra, row.AfterExtra = nil, nil
	object.Members = slices.DeleteFunc(object.Members, func(m hujson.ObjectMember) bool { return IsID(tree.Text(m.Name)) })
	row.Standardize()
	row.Minimize()
	return row.Pack(), true
}

// Set writes a server: in the place of the row that has its id, of which what stays
// the same keeps its bytes and its comments, or else behind the last row.
func (e *Servers) Set(id string, row []byte) error {
	switch {
	case strings.TrimSpace(id) == "":
		return errors.New("a server needs a name")
	case !utf8.ValidString(id):
		return fmt.Errorf("server %s: the name is not UTF-8", tree.Quote(id))
	}
	doc, wrong := tree.Parse(row, tree.JSON)
	if wrong != nil {
		return fmt.Errorf("server %s: the row is no JSON: %w", tree.Quote(id), wrong)
	}
	object, ok := doc.Root.Value.(*hujson.Object)
	if !ok {
		return fmt.Errorf("server %s: the row is %s where an object is expected", tree.Quote(id), tree.KindOf(doc.Root.Value))
	}
	object.Members = slices.DeleteFunc(object.Members, func(m hujson.ObjectMember) bool { return IsID(tree.Text(m.Name)) })
	return e.atomically(func() error {
		if len(e.Of(id)) == 0 {
			return e.appendRow(id, object)
		}
		return e.replaceRow(id, object)
	})
}

// maxTwins is how many members, or rows of one id, are edited one by one, because the
// text is read again after each. Nobody writes so many by hand.
const maxTwins = 100

// Remove takes the rows of an id out of the file, with the comments that are on
// their lines. Comments on lines of their own stay.
func (e *Servers) Remove(id string) error {
	if _, err := e.few(id); err != nil {
		return err
	}
	return e.atomically(func() error {
		for rows := e.Of(id); len(rows) > 0; rows = e.Of(id) {
			r := rows[len(rows)-1]
			if err := e.remove(r.in, r.at); err != nil {
				return err
			}
		}
		return nil
	})
}

// Enable switches the rows of an id on or off. What they say about that already is
// changed in place.
func (e *Servers) Enable(id string, on bool) error {
	rows, err := e.few(id)
	if err != nil {
		return err
	}
	var cuts []tree.Cut
	for _, r := range rows {
		if !tree.Has(r.Body, '{') {
			return &tree.Note{At: r.Body.StartOffset, Reason: "the row is " + tree.KindOf(r.Body.Value) + " where an object is expected", Hint: "remove it"}
		}
		said := false
		for name, m := range tree.Members(r.Body) {
			if name == "enabled" || name == "disabled" {
				said = true
				cuts = append(cuts, tree.Cut{From: m.Value.StartOffset, To: m.Value.EndOffset, By: fmt.Sprint(on == (name == "enabled"))})
			}
		}
		switch {
		case said || on:
		case r.list == "mcpServers": // the word of other programs that read such files
			cuts = append(cuts, e.adding(r.Body, `"disabled"`, hujson.Value{Value: hujson.Bool(true)}, false)...)
		default:
			cuts = append(cuts, e.adding(r.Body, `"enabled"`, hujson.Value{Value: hujson.Bool(false)}, false)...)
		}
	}
	return e.apply(cuts)
}

// few are the rows of an id, which must be there and not too many.
func (e *Servers) few(id string) ([]Server, error) {
	rows := e.Of(id)
	switch n := len(rows); {
	case n == 0:
		return nil, ErrNoServer
	case n > maxTwins:
		return nil, &tree.Note{At: rows[0].Body.StartOffset, Reason: fmt.Sprintf("%s comes %d times", tree.Quote(id), n), Hint: "remove all but one by hand"}
	}
	return rows, nil
}

// atomically undoes what a failed operation began.
func (e *Servers) atomically(operation func() error) error {
	doc := e.Doc
	err := operation()
	if err != nil {
		e.Doc = doc
	}
	return err
}

// appendRow adds a row behind the last one.
func (e *Servers) appendRow(id string, row *hujson.Object) error {
	var in *hujson.Value
	for _, in = range e.lists() {
	}
	if in == nil {
		if err := e.Put(&e.Doc.Root, "servers", tree.Object(0, nil), false); err != nil {
			return err
		}
		in = tree.At(&e.Doc.Root, "servers")
	}
	key := string(hujson.String(id))
	if tree.Has(in, '[') {
		field := "name"
		for _, e := range tree.Elements(in) {
			if tree.At(e, "id") != nil {
				field = "id"
			}
		}
		row, key = &hujson.Object{Members: append([]hujson.ObjectMember{tree.Member(field, tree.String(0, id))}, row.Members...)}, ""
	}
	return e.add(in, key, hujson.Value{Value: row}, e.text().broad(in))
}

// replaceRow gives the row of an id that counts new members.
func (e *Servers) replaceRow(id string, row *hujson.Object) error {
	value := hujson.Value{Value: row}
	at := len(e.Of(id)) - 1
	old := func() *hujson.Value { return e.Of(id)[at].Body }
	if object, ok := old().Value.(*hujson.Object); !ok || len(object.Members) > maxTwins {
		v, t := old(), e.text()
		return e.apply([]tree.Cut{{From: v.StartOffset, To: v.EndOffset, By: t.value(value, t.indentAt(v.StartOffset), false, false)}})
	}
	for i := 0; i < len(old().Value.(*hujson.Object).Members); {
		name := tree.Text(old().Value.(*hujson.Object).Members[i].Name)
		if IsID(name) || tree.At(&value, name) != nil {
			i++
		} else if err := e.remove(old(), i); err != nil {
			return err
		}
	}
	for name, m := range tree.Members(&value) {
		if err := e.Put(old(), name, m.Value, false); err != nil {
			return err
		}
	}
	return nil
}
