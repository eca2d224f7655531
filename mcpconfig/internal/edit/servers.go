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

// ErrNoServer is returned if a file has no row with an id.
var ErrNoServer = errors.New("no such server")

// Servers is the text of one of indus's own files. A mistake at a place in the text is returned as a [tree.Note].
type Servers struct{ JSON }

// Server is one row of the text.
type Server struct {
	ID   string        // "" if it has none
	Key  *hujson.Value // the key; nil in a list
	Body *hujson.Value

	list      string        // the name of the list or object that has the row
	container *hujson.Value // that list or object
	index     int           // the index in it
}

// lists yields the values that hold servers.
func (e *Servers) lists() iter.Seq2[string, *hujson.Value] {
	return func(yield func(string, *hujson.Value) bool) {
		for name, m := range tree.Members(&e.Doc.Root) {
			if (name == "servers" || name == "mcpServers") && !yield(name, &m.Value) {
				return
			}
		}
	}
}

// All returns the rows, in order.
func (e *Servers) All() (rows []Server) {
	for list, in := range e.lists() {
		at := 0
		for key, v := range tree.Items(in) {
			id := ""
			if key != nil {
				id = tree.Text(*key)
			} else {
				id = cmp.Or(tree.TextAt(v, "id"), tree.TextAt(v, "name"))
			}
			rows = append(rows, Server{id, key, v, list, in, at})
			at++
		}
	}
	return rows
}

// Of returns the rows with an id. The last one counts.
func (e *Servers) Of(id string) []Server {
	return slices.DeleteFunc(e.All(), func(r Server) bool { return r.ID != id || id == "" })
}

// IsID reports whether a key of a row holds its id.
func IsID(name string) bool { return name == "id" || name == "name" }

// Row returns the object of a row without its id and its comments. It returns false if the row is not an object.
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

// Set writes a server. If a row has its id, Set changes that row, and its unchanged parts keep their bytes and
// comments. Otherwise Set adds a row behind the last one.
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

// maxTwins is the maximum number of rows with one id, or of members of one row, that are edited one by one. The text is
// parsed again after each. No person writes so many by hand.
const maxTwins = 100

// Remove removes all rows with an id, together with the comments on their lines. Comments on lines of their own stay.
func (e *Servers) Remove(id string) error {
	if _, err := e.findFew(id); err != nil {
		return err
	}
	return e.atomically(func() error {
		for rows := e.Of(id); len(rows) > 0; rows = e.Of(id) {
			r := rows[len(rows)-1]
			if err := e.remove(r.container, r.index); err != nil {
				return err
			}
		}
		return nil
	})
}

// Enable switches the rows with an id on or off. If a row has "enabled" or "disabled" already, its value is changed in
// place.
func (e *Servers) Enable(id string, enabled bool) error {
	rows, err := e.findFew(id)
	if err != nil {
		return err
	}
	var cuts []tree.Cut
	for _, r := range rows {
		if !tree.Has(r.Body, '{') {
			reason := "the row is " + tree.KindOf(r.Body.Value) + " where an object is expected"
			return &tree.Note{At: r.Body.StartOffset, Reason: reason, Hint: "remove it"}
		}
		said := false
		for name, m := range tree.Members(r.Body) {
			if name == "enabled" || name == "disabled" {
				said = true
				by := fmt.Sprint(enabled == (name == "enabled"))
				cuts = append(cuts, tree.Cut{From: m.Value.StartOffset, To: m.Value.EndOffset, By: by})
			}
		}
		switch {
		case said || enabled:
		case r.list == "mcpServers": // the key that other programs use in such files
			cuts = append(cuts, e.additionCuts(r.Body, `"disabled"`, hujson.Value{Value: hujson.Bool(true)}, false)...)
		default:
			cuts = append(cuts, e.additionCuts(r.Body, `"enabled"`, hujson.Value{Value: hujson.Bool(false)}, false)...)
		}
	}
	return e.apply(cuts)
}

// findFew returns the rows with an id. It returns an error if there are none or too many.
func (e *Servers) findFew(id string) ([]Server, error) {
	rows := e.Of(id)
	switch n := len(rows); {
	case n == 0:
		return nil, ErrNoServer
	case n > maxTwins:
		reason := fmt.Sprintf("%s comes %d times", tree.Quote(id), n)
		return nil, &tree.Note{At: rows[0].Body.StartOffset, Reason: reason, Hint: "remove all but one by hand"}
	}
	return rows, nil
}

// atomically runs an operation, and undoes its changes if it fails.
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
		members := []hujson.ObjectMember{tree.Member(field, tree.String(0, id))}
		row = &hujson.Object{Members: append(members, row.Members...)}
		key = ""
	}
	return e.add(in, key, hujson.Value{Value: row}, e.text().isExpanded(in))
}

// replaceRow replaces the members of the last row with an id.
func (e *Servers) replaceRow(id string, row *hujson.Object) error {
	value := hujson.Value{Value: row}
	at := len(e.Of(id)) - 1
	old := func() *hujson.Value { return e.Of(id)[at].Body }
	if object, ok := old().Value.(*hujson.Object); !ok || len(object.Members) > maxTwins {
		v, t := old(), e.text()
		written := t.value("", value, t.indentAt(v.StartOffset), false, false)
		return e.apply([]tree.Cut{{From: v.StartOffset, To: v.EndOffset, By: written}})
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
