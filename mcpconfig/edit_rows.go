package mcpconfig

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Set writes a server: in the place of the row that has its id, of which what stays
// the same keeps its bytes and its comments, or else behind the last row.
func (e *Edit) Set(d Definition) error {
	switch {
	case strings.TrimSpace(d.ID) == "":
		return errors.New("a server needs a name")
	case !utf8.ValidString(d.ID):
		return fmt.Errorf("server %s: the name is not UTF-8", d)
	}
	doc, wrong := tree.Parse(d.JSON, tree.JSON)
	if wrong != nil {
		return fmt.Errorf("server %s: the row is no JSON: %w", d, wrong)
	}
	row, ok := doc.Root.Value.(*hujson.Object)
	if !ok {
		return fmt.Errorf("server %s: the row is %s where an object is expected", d, tree.KindOf(doc.Root.Value))
	}
	row.Members = slices.DeleteFunc(row.Members, func(m hujson.ObjectMember) bool {
		return slices.Contains(idFields(), tree.Text(m.Name))
	})
	return e.atomically(func() error {
		if len(e.of(d.ID)) == 0 {
			return e.append(d.ID, row)
		}
		return e.replace(d.ID, row)
	})
}

// Remove takes the rows of an id out of the file, with the comments that stand on
// their lines. Comments on lines of their own stay.
func (e *Edit) Remove(id string) error {
	if _, err := e.count(id); err != nil {
		return err
	}
	return e.atomically(func() error {
		for rows := e.of(id); len(rows) > 0; rows = e.of(id) {
			r := rows[len(rows)-1]
			if err := e.splice(e.text().remove(itemsOf(r.in), r.at)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Enable switches the rows of an id on or off. What they say about that already is
// changed in place.
func (e *Edit) Enable(id string, on bool) error {
	n, err := e.count(id)
	if err != nil {
		return err
	}
	return e.atomically(func() error {
		for i := range n {
			if err := e.enable(e.of(id)[i], on); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Edit) enable(r editRow, on bool) error {
	object, ok := r.body.Value.(*hujson.Object)
	if !ok {
		return e.faultAt(r.body.StartOffset, "the row is "+tree.KindOf(r.body.Value)+" where an object is expected", "remove it")
	}
	var cuts []tree.Cut
	for _, m := range object.Members {
		switch value := m.Value; tree.Text(m.Name) {
		case "enabled":
			cuts = append(cuts, tree.Cut{From: value.StartOffset, To: value.EndOffset, By: fmt.Sprint(on)})
		case "disabled":
			cuts = append(cuts, tree.Cut{From: value.StartOffset, To: value.EndOffset, By: fmt.Sprint(!on)})
		}
	}
	if len(cuts) > 0 || on {
		return e.splice(cuts)
	}
	field, value := "enabled", hujson.Bool(false)
	if e.nameOf(r.in) == "mcpServers" { // the word of other programs that read such files
		field, value = "disabled", hujson.Bool(true)
	}
	return e.put(r.body, field, hujson.Value{Value: value})
}

// nameOf is the key of a list of servers.
func (e *Edit) nameOf(in *hujson.Value) string {
	top := e.doc.Root.Value.(*hujson.Object)
	for i := range top.Members {
		if &top.Members[i].Value == in {
			return tree.Text(top.Members[i].Name)
		}
	}
	return ""
}

// maxTwins is how many members, or rows of one id, are edited one by one, because the
// text is read again after each. Nobody writes so many by hand.
const maxTwins = 100

// count is how many rows an id has.
func (e *Edit) count(id string) (int, error) {
	rows := e.of(id)
	switch n := len(rows); {
	case n == 0:
		return 0, e.missing(id)
	case n > maxTwins:
		return n, e.faultAt(rows[0].body.StartOffset, fmt.Sprintf("%s comes %d times", tree.Quote(id), n), "remove all but one by hand")
	default:
		return n, nil
	}
}

func (e *Edit) missing(id string) error {
	return &fault{note: Note{File: e.path, Server: id, Reason: ErrNoServer.Error()}, err: ErrNoServer}
}

// atomically undoes what a failed operation began.
func (e *Edit) atomically(operation func() error) error {
	doc := e.doc
	err := operation()
	if err != nil {
		e.doc = doc
	}
	return err
}

// append adds a row behind the last one.
func (e *Edit) append(id string, row *hujson.Object) error {
	lists := e.lists()
	if len(lists) == 0 {
		if err := e.put(&e.doc.Root, "servers", hujson.Value{Value: &hujson.Object{}}); err != nil {
			return err
		}
		lists = e.lists()
	}
	in := lists[len(lists)-1]
	t := e.text()
	key := string(hujson.String(id))
	if list, ok := in.Value.(*hujson.Array); ok {
		named := hujson.ObjectMember{Name: member(idField(list)), Value: member(id)}
		row = &hujson.Object{Members: append([]hujson.ObjectMember{named}, row.Members...)}
		key = ""
	}
	broad := t.broad(in)
	return e.splice(t.insert(itemsOf(in), func(indent string, inline bool) string {
		return t.item(key, hujson.Value{Value: row}, indent, inline, broad)
	}))
}

func member(s string) hujson.Value { return hujson.Value{Value: hujson.String(s)} }

// idField is the word that a list's rows have for their id.
func idField(list *hujson.Array) string {
	for _, v := range list.Elements {
		if object, ok := v.Value.(*hujson.Object); ok && last(object, "id") >= 0 {
			return "id"
		}
	}
	return "name"
}

// replace gives the row of an id that counts new members.
func (e *Edit) replace(id string, row *hujson.Object) error {
	at := len(e.of(id)) - 1
	old := func() *hujson.Value { return e.of(id)[at].body }
	if object, ok := old().Value.(*hujson.Object); !ok || len(object.Members) > maxTwins {
		v, t := old(), e.text()
		text := t.value(hujson.Value{Value: row}, t.indentAt(v.StartOffset), false, false)
		return e.splice([]tree.Cut{{From: v.StartOffset, To: v.EndOffset, By: text}})
	}
	for i := 0; i < len(old().Value.(*hujson.Object).Members); {
		object := old().Value.(*hujson.Object)
		name := tree.Text(object.Members[i].Name)
		if slices.Contains(idFields(), name) || last(row, name) >= 0 {
			i++
		} else if err := e.splice(e.text().remove(itemsOf(old()), i)); err != nil {
			return err
		}
	}
	for _, m := range row.Members {
		if err := e.put(old(), tree.Text(m.Name), m.Value); err != nil {
			return err
		}
	}
	return nil
}

// put gives an object's member of that name a value, or adds it.
func (e *Edit) put(in *hujson.Value, name string, value hujson.Value) error {
	t := e.text()
	object := in.Value.(*hujson.Object)
	i := last(object, name)
	if i < 0 {
		key := string(hujson.String(name))
		return e.splice(t.insert(itemsOf(in), func(indent string, inline bool) string {
			return t.item(key, value, indent, inline, false)
		}))
	}
	old := object.Members[i].Value
	if same(old, value) {
		return nil
	}
	inline := !bytes.Contains(t.text[old.StartOffset:old.EndOffset], []byte("\n"))
	text := t.value(value, t.indentAt(old.StartOffset), inline, !inline)
	return e.splice([]tree.Cut{{From: old.StartOffset, To: old.EndOffset, By: text}})
}

// same reports values that mean the same to every reader.
func same(a, b hujson.Value) bool {
	a, b = a.Clone(), b.Clone()
	for _, v := range []*hujson.Value{&a, &b} {
		v.BeforeExtra, v.AfterExtra = nil, nil
		v.Minimize()
	}
	return bytes.Equal(a.Pack(), b.Pack())
}

// splice changes the text in some places, and reads it again.
func (e *Edit) splice(cuts []tree.Cut) error {
	if len(cuts) == 0 {
		return nil
	}
	text := tree.Splice(e.doc.Text, cuts)
	if len(text) > maxFile {
		return e.fault(errors.New("would be larger than 1 MiB"), "")
	}
	doc, wrong := tree.Parse(text, tree.JSON)
	if wrong != nil {
		return e.fault(fmt.Errorf("could not be read any more: %w", wrong), "")
	}
	e.doc = doc
	return nil
}
