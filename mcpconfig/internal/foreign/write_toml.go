package foreign

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// TOML is a file with the rows behind what is there; doc is nil where nothing is.
func (w *Written) TOML(doc *tree.Doc) ([]byte, error) {
	var b bytes.Buffer
	newline := "\n"
	path := w.Where[0]
	if doc != nil {
		b.Write(doc.Text)
		if bytes.Contains(doc.Text, []byte("\r\n")) {
			newline = "\r\n"
		}
		if !bytes.HasSuffix(doc.Text, []byte("\n")) {
			b.WriteString(newline)
		}
	}
	same := 0
	for _, row := range w.Rows {
		if doc != nil {
			if old := at(&doc.Root, append(path[:len(path):len(path)], row.ID)); old != nil {
				if !Alike(old, &row.Value) {
					return nil, taken(doc, old, row.ID)
				}
				same++
				continue
			}
		}
		if b.Len() > 0 {
			b.WriteString(newline)
		}
		names := append(path[:len(path):len(path)], row.ID)
		for i, name := range names {
			names[i] = tomlKey(name)
		}
		b.WriteString("[" + strings.Join(names, ".") + "]" + newline)
		for _, m := range row.Value.Value.(*hujson.Object).Members {
			b.WriteString(tomlKey(tree.Text(m.Name)) + " = " + tomlValue(m.Value) + newline)
		}
	}
	switch {
	case same == len(w.Rows) && doc != nil: // those that are there, or none
		return doc.Text, nil
	case same == len(w.Rows):
		return b.Bytes(), nil
	}
	return w.checked(b.Bytes(), doc, path)
}

// taken says that a server is there.
func taken(doc *tree.Doc, v *hujson.Value, id string) error {
	line, column := doc.Position(v.StartOffset)
	return fmt.Errorf("%d:%d: the server %s is there already; remove it first", line, column, tree.Quote(id))
}

// checked reads what is to be written: all that was there must be there, and all rows.
func (w *Written) checked(text []byte, before *tree.Doc, path []string) ([]byte, error) {
	doc, fault := tree.Parse(text, w.Syntax)
	if fault != nil {
		return nil, fmt.Errorf("the servers cannot be added: %s is written in a form that cannot be added to", tree.Quote(strings.Join(path, ".")))
	}
	list := at(&doc.Root, path)
	for _, row := range w.Rows {
		if list == nil || rowNamed(list, row.ID) == nil {
			return nil, fmt.Errorf("the servers cannot be added: %s is written in a form that cannot be added to", tree.Quote(strings.Join(path, ".")))
		}
	}
	if before != nil && !within(&before.Root, &doc.Root) {
		return nil, fmt.Errorf("the servers cannot be added without changing what is there")
	}
	return text, nil
}

// rowNamed is a server by its id, in an object or a list.
func rowNamed(list *hujson.Value, id string) *hujson.Value {
	switch list := list.Value.(type) {
	case *hujson.Object:
		return get(list, id)
	case *hujson.Array:
		for i := range list.Elements {
			if sameText(orNull(get(rowOr(&list.Elements[i]), "name")), id) {
				return &list.Elements[i]
			}
		}
	}
	return nil
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
		for i := range x.Members {
			other := (*hujson.Value)(nil)
			if ok {
				other = get(y, tree.Text(x.Members[i].Name))
			}
			if other == nil || !within(&x.Members[i].Value, other) {
				return false
			}
		}
		return ok
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
