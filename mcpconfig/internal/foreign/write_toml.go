package foreign

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// TOML is a file with the rows behind what is there, or in the place of those that have
// their ids; doc is nil where nothing is.
func (w *Written) TOML(doc *tree.Doc) ([]byte, error) {
	path, newline := w.Where[0], "\n"
	if doc == nil {
		doc = &tree.Doc{Root: hujson.Value{Value: &hujson.Object{}}}
	}
	if bytes.Contains(doc.Text, []byte("\r\n")) {
		newline = "\r\n"
	}
	table := func(row Output) string {
		var names []string
		for _, name := range append(path[:len(path):len(path)], row.ID) {
			names = append(names, tomlKey(name))
		}
		var b strings.Builder
		b.WriteString("[" + strings.Join(names, ".") + "]" + newline)
		for _, m := range row.Value.Value.(*hujson.Object).Members {
			b.WriteString(tomlKey(tree.Text(m.Name)) + " = " + tomlValue(m.Value) + newline)
		}
		return b.String()
	}
	rows := w.others(doc, path)
	if len(rows) == 0 {
		return doc.Text, nil
	}
	expressions := tree.Expressions(doc.Text)
	var behind []Output
	places := map[int]string{} // by the expression that a row takes the place of
	gone := make([]bool, len(expressions))
	for i, e := range expressions {
		if !e.Header && slices.Equal(e.Path, path) { // one line for all of them
			gone[i] = true
			if inline, ok := at(&doc.Root, path).Value.(*hujson.Object); ok {
				for _, m := range inline.Members {
					if id := tree.Text(m.Name); !slices.ContainsFunc(rows, func(row Output) bool { return row.ID == id }) {
						behind = append(behind, Output{id, m.Value})
					}
				}
			}
		}
	}
	for _, row := range rows {
		in, first := append(path[:len(path):len(path)], row.ID), -1
		for i, e := range expressions {
			if len(e.Path) >= len(in) && slices.Equal(e.Path[:len(in)], in) {
				if gone[i] = true; first < 0 && e.Header {
					first = i
				}
			}
		}
		if first >= 0 {
			places[first] = table(row)
		} else {
			behind = append(behind, row)
		}
	}
	var cuts []tree.Cut
	for i, e := range expressions {
		if !gone[i] {
			continue
		}
		end := e.End
		if _, other := places[min(i+1, len(gone)-1)]; i+1 == len(gone) || !gone[i+1] || other {
			end = e.Start + len(doc.Text[e.Start:e.End]) - len(commentsBehind(doc.Text[e.Start:e.End]))
		}
		cuts = append(cuts, tree.Cut{From: e.Start, To: end, By: places[i]})
	}
	text := tree.Splice(doc.Text, cuts)
	for _, row := range behind {
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, newline...)
		}
		if len(text) > 0 {
			text = append(text, newline...)
		}
		text = append(text, table(row)...)
	}
	return w.checked(text, doc, path)
}

// commentsBehind are the blank lines and comments at the end of some lines.
func commentsBehind(lines []byte) []byte {
	end := len(lines)
	for end > 0 {
		start := bytes.LastIndexByte(lines[:end-1], '\n') + 1
		if line := bytes.TrimSpace(lines[start:end]); start == 0 || len(line) > 0 && line[0] != '#' {
			break
		}
		end = start
	}
	return lines[end:]
}

// others are the rows that are not there, or not as they are written.
func (w *Written) others(doc *tree.Doc, path []string) []Output {
	there := rowsAt(doc, path)
	return slices.DeleteFunc(slices.Clone(w.Rows), func(row Output) bool {
		old := there[row.ID]
		return old != nil && Alike(old, &row.Value)
	})
}

// checked reads what is to be written: all rows must be there, and all that was there but
// those in whose place they are.
func (w *Written) checked(text []byte, before *tree.Doc, path []string) ([]byte, error) {
	stuck := fmt.Errorf("the servers cannot be added: %s is written in a form that cannot be added to", tree.Quote(strings.Join(path, ".")))
	doc, fault := tree.Parse(text, w.Syntax)
	if fault != nil {
		return nil, stuck
	}
	there, written := rowsAt(doc, path), map[string]bool{}
	for _, row := range w.Rows {
		if v := there[row.ID]; v == nil || !Alike(v, &row.Value) {
			return nil, stuck
		}
		written[row.ID] = true
	}
	without(at(&before.Root, path), written)
	if !within(&before.Root, &doc.Root) {
		return nil, fmt.Errorf("the servers cannot be added without changing what is there")
	}
	return text, nil
}

// without takes rows out of the servers.
func without(list *hujson.Value, ids map[string]bool) {
	if list == nil {
		return
	}
	switch list := list.Value.(type) {
	case *hujson.Object:
		list.Members = slices.DeleteFunc(list.Members, func(m hujson.ObjectMember) bool { return ids[tree.Text(m.Name)] })
	case *hujson.Array:
		list.Elements = slices.DeleteFunc(list.Elements, func(e hujson.ArrayElement) bool {
			name, ok := stringOf(orNull(get(rowOr(&e), "name")))
			return ok && ids[name]
		})
	}
}

// rowsAt are the servers at a path by their ids, in an object or a list.
func rowsAt(doc *tree.Doc, path []string) map[string]*hujson.Value {
	out := map[string]*hujson.Value{}
	v := at(&doc.Root, path)
	if v == nil {
		return out
	}
	switch list := v.Value.(type) {
	case *hujson.Object:
		for i := range list.Members {
			out[tree.Text(list.Members[i].Name)] = &list.Members[i].Value
		}
	case *hujson.Array:
		for i := range list.Elements {
			name, ok := stringOf(orNull(get(rowOr(&list.Elements[i]), "name")))
			if ok && out[name] == nil {
				out[name] = &list.Elements[i]
			}
		}
	}
	return out
}

func orNull(v *hujson.Value) *hujson.Value {
	if v == nil {
		return &hujson.Value{Value: hujson.Literal("null")}
	}
	return v
}

// Alike reports values that say the same, whatever the order of their members.
func Alike(a, b *hujson.Value) bool { return within(a, b) && within(b, a) }

// within reports whether all of a is in b too: members by name, elements in order.
func within(a, b *hujson.Value) bool {
	switch x := a.Value.(type) {
	case *hujson.Object:
		y, ok := b.Value.(*hujson.Object)
		if !ok {
			return false
		}
		place := lasts(y)
		for i := range x.Members {
			other, there := place[tree.Text(x.Members[i].Name)]
			if !there || !within(&x.Members[i].Value, &y.Members[other].Value) {
				return false
			}
		}
		return true
	case *hujson.Array:
		y, ok := b.Value.(*hujson.Array)
		next := 0
		for i := range x.Elements {
			for ok && next < len(y.Elements) && !within(&x.Elements[i], &y.Elements[next]) {
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

func tomlKey(s string) string {
	for _, c := range s {
		bare := c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !bare {
			return tomlString(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// tomlString is a basic string.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteRune('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String() + `"`
}

func tomlValue(v hujson.Value) string {
	switch v := v.Value.(type) {
	case *hujson.Object:
		var out []string
		for _, m := range v.Members {
			out = append(out, tomlKey(tree.Text(m.Name))+" = "+tomlValue(m.Value))
		}
		return "{ " + strings.Join(out, ", ") + " }"
	case *hujson.Array:
		var out []string
		for _, e := range v.Elements {
			out = append(out, tomlValue(e))
		}
		return "[" + strings.Join(out, ", ") + "]"
	case hujson.Literal:
		if v.Kind() == '"' {
			return tomlString(v.String())
		}
		return string(v)
	}
	return `""`
}
