package mcpconfig

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// mergeJSON adds rows to a JSON text, with the hand of who wrote it.
func mergeJSON(w *foreign.Written, doc *tree.Doc) (text []byte, notes []Note, err error) {
	if doc == nil {
		doc, _ = tree.Parse([]byte("{\n}\n"), tree.JSON)
	}
	m := &jsonMerge{doc: doc}
	path, err := m.where(w.Where)
	if err != nil {
		return nil, nil, err
	}
	for _, in := range w.Inputs {
		if err := m.input(path[:len(path)-1], in); err != nil {
			return nil, nil, err
		}
	}
	for i := range path {
		if err := m.object(path[:i+1]); err != nil {
			return nil, nil, err
		}
	}
	for _, row := range w.Rows {
		if err := m.set(path, row.ID, row.Value); err != nil {
			return nil, nil, err
		}
	}
	return m.doc.Text, m.notes, nil
}

// jsonMerge is a text that grows by one change after the other.
type jsonMerge struct {
	doc   *tree.Doc
	notes []Note
}

// where is the first of the paths that is there, else the first of all.
func (m *jsonMerge) where(paths [][]string) ([]string, error) {
	if m.doc.Root.Value.Kind() != '{' {
		return nil, fmt.Errorf("the file holds %s where an object is expected", tree.KindOf(m.doc.Root.Value))
	}
	for _, path := range paths {
		if v := m.at(path); v != nil && v.Value.Kind() != 'n' {
			return path, nil
		}
	}
	return paths[0], nil
}

// at is the value at a path of names, or nil.
func (m *jsonMerge) at(path []string) *hujson.Value {
	v := &m.doc.Root
	for _, name := range path {
		o, ok := v.Value.(*hujson.Object)
		if !ok || last(o, name) < 0 {
			return nil
		}
		v = &o.Members[last(o, name)].Value
	}
	return v
}

// object makes sure that there is one at a path.
func (m *jsonMerge) object(path []string) error {
	v := m.at(path)
	switch {
	case v == nil || v.Value.Kind() == 'n':
		return m.set(path[:len(path)-1], path[len(path)-1], hujson.Value{Value: &hujson.Object{}})
	case v.Value.Kind() != '{':
		line, column := m.doc.Position(v.StartOffset)
		return fmt.Errorf("%d:%d: %s is %s where an object is expected", line, column, tree.Quote(strings.Join(path, ".")), tree.KindOf(v.Value))
	}
	return nil
}

// set gives the object at a path a member.
func (m *jsonMerge) set(path []string, name string, value hujson.Value) error {
	t := (&Edit{doc: m.doc}).text()
	in := m.at(path)
	o := in.Value.(*hujson.Object)
	if i := last(o, name); i >= 0 {
		old := o.Members[i].Value
		if foreign.Alike(&old, &value) {
			return nil
		}
		indent := t.indentAt(o.Members[i].Name.StartOffset)
		inline := !t.leads(o.Members[i].Name.StartOffset)
		return m.apply(t, []tree.Cut{{From: old.StartOffset, To: old.EndOffset, By: t.value(value, indent, inline, !inline)}})
	}
	key := string(hujson.String(name))
	return m.apply(t, t.insert(itemsOf(in), func(indent string, inline bool) string {
		return t.item(key, value, indent, inline, !inline)
	}))
}

// input adds what an editor asks its user for, beside the servers, unless it has one
// of that id.
func (m *jsonMerge) input(beside []string, value hujson.Value) error {
	path := append(beside[:len(beside):len(beside)], "inputs")
	if m.at(path) == nil {
		if err := m.set(beside, "inputs", hujson.Value{Value: &hujson.Array{}}); err != nil {
			return err
		}
	}
	list := m.at(path)
	array, ok := list.Value.(*hujson.Array)
	if !ok {
		return fmt.Errorf(`"inputs" is %s where a list is expected`, tree.KindOf(list.Value))
	}
	id := inputText(value, "id")
	for _, e := range array.Elements {
		if inputText(e, "id") != id {
			continue
		}
		if inputText(e, "default") != inputText(value, "default") {
			m.notes = append(m.notes, Note{
				Reason: "the input " + tree.Quote(id) + " is there already and keeps its own default",
				Hint:   "look whether it is the right one",
			})
		}
		return nil
	}
	t := (&Edit{doc: m.doc}).text()
	return m.apply(t, t.insert(itemsOf(list), func(indent string, inline bool) string {
		return t.item("", value, indent, inline, !inline)
	}))
}

func inputText(v hujson.Value, name string) string {
	if o, ok := v.Value.(*hujson.Object); ok && last(o, name) >= 0 {
		return tree.Text(o.Members[last(o, name)].Value)
	}
	return ""
}

// apply makes the cuts, and reads the outcome.
func (m *jsonMerge) apply(t *jsonText, cuts []tree.Cut) error {
	doc, fault := tree.Parse(tree.Splice(t.text, cuts), tree.JSON)
	if fault != nil {
		line, column := doc.Position(fault.At)
		return fmt.Errorf("the servers cannot be added: %d:%d: %s", line, column, fault.Reason)
	}
	m.doc = doc
	return nil
}
