package edit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Merge adds servers to the text of a client's file, or replaces those of their ids; text is
// empty where there is no such file. Other lines are not changed. The notes are about
// what was there already.
func Merge(w *foreign.Written, text []byte) (out []byte, notes []tree.Note, err error) {
	doc, wrong := tree.Parse(text, w.Syntax)
	switch {
	case len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))) == 0:
		doc = nil
	case wrong != nil:
		line, column := doc.Position(wrong.At)
		return nil, nil, fmt.Errorf("%d:%d: %s", line, column, wrong.Reason)
	}
	m := &merge{Written: w, doc: doc, path: w.Where[0], Rows: w.Rows, newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		m.newline = "\r\n"
	}
	if doc != nil && w.Syntax != tree.JSON {
		there := rowsAt(doc, m.path)
		m.Rows = slices.DeleteFunc(slices.Clone(w.Rows), func(row foreign.Output) bool {
			old := there[row.ID]
			return old != nil && Alike(old, &row.Value)
		})
		if len(m.Rows) == 0 {
			return text, nil, nil
		}
	}
	switch w.Syntax {
	case tree.TOML:
		out, err = m.toml()
	case tree.YAML:
		out, err = m.yaml()
	default:
		out, notes, err = m.json()
	}
	if err == nil && bytes.HasPrefix(text, []byte("\ufeff")) {
		out = append([]byte("\ufeff"), out...)
	}
	return out, notes, err
}

// merge is what is written into a file in the course of it.
type merge struct {
	*foreign.Written
	Rows    []foreign.Output // that are not there as they are written
	doc     *tree.Doc        // nil: there is no file
	path    []string
	newline string
}

func (m *merge) json() (text []byte, notes []tree.Note, err error) {
	j := JSON{Doc: m.doc}
	if j.Doc == nil {
		j.Doc, _ = tree.Parse([]byte("{\n}\n"), tree.JSON)
	}
	if !tree.Has(&j.Doc.Root, '{') {
		return nil, nil, fmt.Errorf("the file holds %s where an object is expected", tree.KindOf(j.Doc.Root.Value))
	}
	for _, path := range slices.Backward(m.Where) { // the first that is there, else the first of all
		if v := tree.At(&j.Doc.Root, path...); v != nil && !tree.Has(v, 'n') {
			m.path = path
		}
	}
	for _, in := range m.Inputs {
		kept, err := j.addInput(m.path[:len(m.path)-1], in)
		if err != nil {
			return nil, nil, err
		}
		if kept {
			reason := "the input " + tree.Quote(tree.TextAt(&in, "id")) + " is there already and keeps its own default"
			notes = append(notes, tree.Note{Reason: reason, Hint: "look whether it is the right one"})
		}
	}
	for i, name := range m.path {
		v := tree.At(&j.Doc.Root, m.path[:i+1]...)
		if v == nil || tree.Has(v, 'n') {
			err = j.Put(tree.At(&j.Doc.Root, m.path[:i]...), name, tree.Object(0, nil), true)
		} else if !tree.Has(v, '{') {
			line, column := j.Doc.Position(v.StartOffset)
			err = fmt.Errorf("%d:%d: %s is %s where an object is expected", line, column, tree.Quote(strings.Join(m.path[:i+1], ".")), tree.KindOf(v.Value))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for _, row := range m.Rows {
		in := tree.At(&j.Doc.Root, m.path...)
		if old := tree.At(in, row.ID); old != nil && Alike(old, &row.Value) {
			continue
		}
		if err := j.Put(in, row.ID, row.Value, true); err != nil {
			return nil, nil, fmt.Errorf("the servers cannot be added: %w", err)
		}
	}
	return j.Doc.Text, notes, nil
}

// addInput adds what an editor asks its user for, next to the servers, unless it has one
// of that id; kept: that one has another default.
func (j *JSON) addInput(parent []string, value hujson.Value) (kept bool, err error) {
	in := tree.At(&j.Doc.Root, parent...)
	if tree.At(in, "inputs") == nil {
		if err := j.Put(in, "inputs", tree.List(0, nil), true); err != nil {
			return false, err
		}
	}
	list := tree.At(tree.At(&j.Doc.Root, parent...), "inputs")
	if !tree.Has(list, '[') {
		return false, fmt.Errorf(`"inputs" is %s where a list is expected`, tree.KindOf(list.Value))
	}
	for _, e := range tree.Elements(list) {
		if tree.TextAt(e, "id") == tree.TextAt(&value, "id") {
			return tree.TextAt(e, "default") != tree.TextAt(&value, "default"), nil
		}
	}
	return false, j.add(list, "", value, true)
}

// checked reads what is to be written: all rows must be there, and all that was there but
// those in whose place they are.
func (m *merge) checked(text []byte) ([]byte, error) {
	stuck := fmt.Errorf("the servers cannot be added: %s is written in a form that cannot be added to", tree.Quote(strings.Join(m.path, ".")))
	doc, wrong := tree.Parse(text, m.Syntax)
	if wrong != nil {
		return nil, stuck
	}
	there, written := rowsAt(doc, m.path), map[string]bool{}
	for _, row := range m.Rows {
		if v := there[row.ID]; v == nil || !Alike(v, &row.Value) {
			return nil, stuck
		}
		written[row.ID] = true
	}
	if m.doc == nil {
		return text, nil
	}
	if v := tree.At(&m.doc.Root, m.path...); v != nil {
		switch list := v.Value.(type) {
		case *hujson.Object:
			list.Members = slices.DeleteFunc(list.Members, func(m hujson.ObjectMember) bool { return written[tree.Text(m.Name)] })
		case *hujson.Array:
			list.Elements = slices.DeleteFunc(list.Elements, func(e hujson.Value) bool { return written[tree.TextAt(&e, "name")] })
		}
	}
	if !isWithin(&m.doc.Root, &doc.Root) {
		return nil, errors.New("the servers cannot be added without changing what is there")
	}
	return text, nil
}

// rowsAt are the servers at a path by their ids, in an object or a list.
func rowsAt(doc *tree.Doc, path []string) map[string]*hujson.Value {
	v := tree.At(&doc.Root, path...)
	out := tree.Fields(v)
	for _, e := range tree.Elements(v) {
		if name := tree.At(e, "name"); tree.Has(name, '"') && out[tree.Text(*name)] == nil {
			out[tree.Text(*name)] = e
		}
	}
	return out
}

// Alike reports values that say the same, whatever the order of their members.
func Alike(a, b *hujson.Value) bool { return isWithin(a, b) && isWithin(b, a) }

// isWithin reports whether all of a is in b too: members by name, elements in order.
func isWithin(a, b *hujson.Value) bool {
	switch x := a.Value.(type) {
	case *hujson.Object:
		fields := tree.Fields(b)
		for name, m := range tree.Members(a) {
			if other := fields[name]; other == nil || !isWithin(&m.Value, other) {
				return false
			}
		}
		return tree.Has(b, '{')
	case *hujson.Array:
		y, ok := b.Value.(*hujson.Array)
		next := 0
		for i := range x.Elements {
			for ok && next < len(y.Elements) && !isWithin(&x.Elements[i], &y.Elements[next]) {
				next++
			}
			if !ok || next == len(y.Elements) {
				return false
			}
			next++
		}
		return ok
	}
	y, ok := b.Value.(hujson.Literal)
	return ok && string(y) == string(a.Value.(hujson.Literal)) || a.Value.Kind() == 'n'
}
