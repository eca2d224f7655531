package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Merge adds a server to the text of a client's file, or replaces the server with its id. text is empty if there is no
// file. Other lines are not changed. If the file has another server with that id and replace is not set, the error is
// fs.ErrExist.
func Merge(w *foreign.Written, text []byte, replace bool) ([]byte, error) {
	m, err := newMerge(w, text)
	if err != nil {
		return nil, err
	}
	switch old := m.old(); {
	case old != nil && Alike(old, &w.Row):
		return text, nil
	case old != nil && !replace:
		return nil, fmt.Errorf("another server %s: %w", tree.Quote(w.ID), fs.ErrExist)
	}
	return m.write()
}

var byteOrderMark = []byte("\ufeff")

// Remove removes the servers with some ids from the text of a client's file. Other lines are not changed. An id that
// the file does not have is ignored.
func Remove(w *foreign.Written, text []byte, ids []string) ([]byte, error) {
	for _, id := range ids {
		one := *w
		one.ID = id
		for {
			m, err := newMerge(&one, text)
			if err != nil {
				return nil, err
			}
			if m.old() == nil {
				break
			}
			m.removes = true
			if text, err = m.write(); err != nil { // in JSON, a server may be there twice
				return nil, fmt.Errorf("the server %s cannot be removed: %w", tree.Quote(id), err)
			}
		}
	}
	return text, nil
}

// Rows returns the servers in the text of a client's file by their ids, each as JSON.
func Rows(w *foreign.Written, text []byte) (map[string]json.RawMessage, error) {
	m, err := newMerge(w, text)
	if err != nil || m.doc == nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	for id, row := range m.rows(m.doc) {
		plain := row.Clone()
		plain.Standardize()
		plain.Minimize()
		out[id] = json.RawMessage(plain.Pack())
	}
	return out, nil
}

// Restore adds servers to the text of a client's file, in the order of their ids. Each is JSON in that client's format.
// If the file has another server with one of the ids, the error is fs.ErrExist.
func Restore(w *foreign.Written, text []byte, rows map[string]json.RawMessage) ([]byte, error) {
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		doc, wrong := tree.Parse(rows[id], tree.JSON)
		if wrong != nil {
			return nil, fmt.Errorf("the server %s is no JSON: %w", tree.Quote(id), wrong)
		}
		one := *w
		one.ID, one.Row = id, doc.Root
		var err error
		if text, err = Merge(&one, text, false); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func newMerge(w *foreign.Written, text []byte) (*merge, error) {
	doc, wrong := tree.Parse(text, w.Syntax)
	switch {
	case len(bytes.TrimSpace(bytes.TrimPrefix(text, byteOrderMark))) == 0:
		doc = nil
	case wrong != nil:
		return nil, errorAt(doc, wrong.At, wrong.Reason)
	}
	m := &merge{Written: w, doc: doc, path: placeIn(w, doc), newline: "\n", mark: bytes.HasPrefix(text, byteOrderMark)}
	if bytes.Contains(text, []byte("\r\n")) {
		m.newline = "\r\n"
	}
	return m, nil
}

// placeIn returns the first place for servers that the file has, or else the first of all.
func placeIn(w *foreign.Written, doc *tree.Doc) []string {
	for _, path := range w.Where {
		if doc == nil {
			break
		}
		if v := tree.At(&doc.Root, path...); v != nil && !tree.Has(v, 'n') {
			return path
		}
	}
	return w.Where[0]
}

func errorAt(doc *tree.Doc, offset int, reason string) error {
	line, column := doc.Position(offset)
	return fmt.Errorf("%d:%d: %s", line, column, reason)
}

// merge is a server that is being written into a file.
type merge struct {
	*foreign.Written
	doc     *tree.Doc // nil: there is no file
	path    []string
	newline string
	mark    bool // the file begins with a byte order mark
	removes bool // the server is removed, and not added
}

// old returns the server that has the id already. It is nil if there is none.
func (m *merge) old() *hujson.Value {
	if m.doc == nil {
		return nil
	}
	return m.rows(m.doc)[m.ID]
}

func (m *merge) write() (text []byte, err error) {
	switch m.Syntax {
	case tree.TOML:
		text, err = m.toml()
	case tree.YAML:
		text, err = m.yaml()
	default:
		text, err = m.json()
	}
	if err == nil && m.mark {
		text = slices.Concat(byteOrderMark, text)
	}
	return text, err
}

func (m *merge) json() ([]byte, error) {
	j := JSON{Doc: m.doc}
	if m.removes {
		return m.removed(&j)
	}
	if j.Doc == nil {
		j.Doc, _ = tree.Parse([]byte("{\n}\n"), tree.JSON)
	}
	if !tree.Has(&j.Doc.Root, '{') {
		return nil, fmt.Errorf("the file holds %s where an object is expected", tree.KindOf(j.Doc.Root.Value))
	}
	for i, name := range m.path {
		var err error
		v := tree.At(&j.Doc.Root, m.path[:i+1]...)
		isList := m.IDKey != "" && i == len(m.path)-1
		switch {
		case v == nil || tree.Has(v, 'n'):
			empty := tree.Object(0, nil)
			if isList {
				empty = tree.List(0, nil)
			}
			err = j.Put(tree.At(&j.Doc.Root, m.path[:i]...), name, empty, true)
		case !tree.Has(v, '{') && !(isList && tree.Has(v, '[')):
			name := tree.Quote(strings.Join(m.path[:i+1], "."))
			err = errorAt(j.Doc, v.StartOffset, name+" is "+tree.KindOf(v.Value)+" where an object is expected")
		}
		if err != nil {
			return nil, err
		}
	}
	if err := m.put(&j, tree.At(&j.Doc.Root, m.path...)); err != nil {
		return nil, fmt.Errorf("the server cannot be added: %w", err)
	}
	return j.Doc.Text, nil
}

// put sets the server in an object or a list.
func (m *merge) put(j *JSON, servers *hujson.Value) error {
	if !tree.Has(servers, '[') {
		return j.Put(servers, m.ID, m.Row, true)
	}
	if old := m.old(); old != nil {
		return j.replace(old, m.Row)
	}
	return j.add(servers, "", m.Row, true)
}

// removed returns the JSON text without the server.
func (m *merge) removed(j *JSON) ([]byte, error) {
	servers, i := tree.At(&j.Doc.Root, m.path...), 0
	for name, v := range tree.Items(servers) {
		if name != nil && tree.Text(*name) == m.ID || name == nil && tree.TextAt(v, m.IDKey) == m.ID {
			break
		}
		i++
	}
	err := j.remove(servers, i)
	return j.Doc.Text, err
}

// checked parses the new text. It must have the row and everything that was there, except the row that was replaced.
func (m *merge) checked(text []byte) ([]byte, error) {
	if m.removes && len(bytes.TrimSpace(text)) == 0 {
		return []byte{}, nil // nothing but the server was there
	}
	doc, wrong := tree.Parse(text, m.Syntax)
	if wrong == nil {
		row := m.rows(doc)[m.ID]
		ok := row == nil
		if !m.removes {
			ok = row != nil && Alike(row, &m.Row)
		}
		if !ok {
			wrong = &tree.Note{}
		}
	}
	if wrong != nil {
		place := tree.Quote(strings.Join(m.path, "."))
		return nil, fmt.Errorf("the server cannot be added: %s is written in a form that cannot be added to", place)
	}
	if m.doc == nil {
		return text, nil
	}
	if v := tree.At(&m.doc.Root, m.path...); v != nil {
		switch list := v.Value.(type) {
		case *hujson.Object:
			list.Members = slices.DeleteFunc(list.Members, func(o hujson.ObjectMember) bool {
				return tree.Text(o.Name) == m.ID
			})
		case *hujson.Array:
			list.Elements = slices.DeleteFunc(list.Elements, func(e hujson.Value) bool {
				return tree.TextAt(&e, m.IDKey) == m.ID
			})
		}
	}
	if m.removes {
		m.forgetEmpty(doc)
	}
	if !isWithin(&m.doc.Root, &doc.Root) {
		return nil, errors.New("the server cannot be added without changing other entries")
	}
	return text, nil
}

// forgetEmpty removes the empty objects around the removed server that the new text does not have. TOML has no empty
// table of servers once the last one is gone.
func (m *merge) forgetEmpty(after *tree.Doc) {
	for i := len(m.path) - 1; i >= 0; i-- {
		v := tree.At(&m.doc.Root, m.path[:i+1]...)
		in := tree.At(&m.doc.Root, m.path[:i]...)
		if v == nil || tree.At(&after.Root, m.path[:i+1]...) != nil || len(tree.Fields(v)) > 0 {
			return
		}
		if object, ok := in.Value.(*hujson.Object); ok {
			object.Members = slices.DeleteFunc(object.Members, func(o hujson.ObjectMember) bool {
				return tree.Text(o.Name) == m.path[i]
			})
		}
	}
}

// rows returns the servers of a file by their ids, in an object or a list.
func (m *merge) rows(doc *tree.Doc) map[string]*hujson.Value {
	v := tree.At(&doc.Root, m.path...)
	out := tree.Fields(v)
	for _, e := range tree.Elements(v) {
		if name := tree.At(e, m.IDKey); tree.Has(name, '"') && out[tree.Text(*name)] == nil {
			out[tree.Text(*name)] = e
		}
	}
	return out
}

// Alike reports whether two values are equal, in any order of their members.
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
