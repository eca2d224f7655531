package foreign

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// YAML is a file with the rows added; doc is nil where nothing is there. Lines are
// put in and none is changed, so that comments and blank lines stay.
func (w *Written) YAML(doc *tree.Doc) ([]byte, error) {
	name := w.Where[0][0]
	newline := "\n"
	if doc == nil {
		var b bytes.Buffer
		for _, m := range w.Begin {
			b.WriteString(tree.Text(m.Name) + ": " + yamlText(m.Value))
		}
		rows, err := w.yamlRows(doc, name, 2)
		b.WriteString(name + ":\n" + rows)
		if len(w.Rows) == 0 {
			b.Truncate(b.Len() - 2 - len(name))
		}
		return b.Bytes(), err
	}
	if bytes.Contains(doc.Text, []byte("\r\n")) {
		newline = "\r\n"
	}
	if len(w.Rows) == 0 {
		return doc.Text, nil
	}
	before := doc.Text
	at, indent, head := w.place(doc, name)
	rows, err := w.yamlRows(doc, name, indent)
	if err != nil || rows == "" {
		return before, err
	}
	added := strings.ReplaceAll(head+rows, "\n", newline)
	if at == len(before) && !bytes.HasSuffix(before, []byte("\n")) && !strings.HasPrefix(added, newline) {
		added = newline + added
	}
	out := slices.Concat(before[:at], []byte(added), before[at:])
	if from, to := emptied(doc, name); from < to { // "[]" in front of the rows
		out = slices.Delete(out, from, to)
	}
	return w.checked(out, doc, w.Where[0])
}

// emptied is where a list or map without anything stands, with the blanks in front,
// which yields to rows in block form.
func emptied(doc *tree.Doc, name string) (from, to int) {
	v := at(&doc.Root, []string{name})
	if v == nil {
		return 0, 0
	}
	from = v.StartOffset
	for _, empty := range []string{"[]", "{}"} {
		if bytes.HasPrefix(doc.Text[from:], []byte(empty)) {
			to = from + len(empty)
		}
	}
	for from > 0 && doc.Text[from-1] == ' ' {
		from--
	}
	return from, to
}

// place is where rows go, how far they are indented, and what goes before them.
func (w *Written) place(doc *tree.Doc, name string) (offset, indent int, head string) {
	root, ok := doc.Root.Value.(*hujson.Object)
	v := (*hujson.Value)(nil)
	key := 0
	if ok {
		for i := range root.Members {
			if tree.Text(root.Members[i].Name) == name {
				key, v = root.Members[i].Name.StartOffset, &root.Members[i].Value
			}
		}
	}
	if v == nil {
		return len(doc.Text), 2, name + ":\n"
	}
	line, _ := doc.Position(key)
	first, column := doc.Position(v.StartOffset)
	indent = 2
	if first > line {
		indent = column - 1
	}
	end := bytes.IndexByte(doc.Text[key:], '\n')
	if end < 0 {
		return len(doc.Text), indent, "\n"
	}
	return key + end + 1, indent, ""
}

func (w *Written) yamlRows(doc *tree.Doc, name string, indent int) (string, error) {
	var b strings.Builder
	for _, row := range w.Rows {
		if doc != nil {
			if list := at(&doc.Root, []string{name}); list != nil {
				if v := rowNamed(list, row.ID); v != nil {
					if Alike(v, &row.Value) {
						continue
					}
					return "", taken(doc, v, row.ID)
				}
			}
		}
		var v hujson.Value
		if w.List {
			v.Value = &hujson.Array{Elements: []hujson.ArrayElement{row.Value}}
		} else {
			v.Value = &hujson.Object{Members: []hujson.ObjectMember{{Name: hujson.Value{Value: hujson.String(row.ID)}, Value: row.Value}}}
		}
		for line := range strings.Lines(yamlText(v)) {
			b.WriteString(strings.Repeat(" ", indent) + line)
		}
	}
	return b.String(), nil
}

// yamlText is a value in block form, every text on one line.
func yamlText(v hujson.Value) string {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(yamlNode(v)); err != nil {
		return fmt.Sprintf("# %v\n", err)
	}
	return b.String()
}

func yamlNode(v hujson.Value) *yaml.Node {
	switch v := v.Value.(type) {
	case *hujson.Object:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, m := range v.Members {
			n.Content = append(n.Content, yamlNode(m.Name), yamlNode(m.Value))
		}
		return n
	case *hujson.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, e := range v.Elements {
			n.Content = append(n.Content, yamlNode(e))
		}
		return n
	}
	l := v.Value.(hujson.Literal)
	switch l.Kind() {
	case '"':
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: l.String()}
		// On one line; and what was a boolean in YAML 1.1 still is to some readers.
		old := strings.Contains(" y n yes no on off ", " "+strings.ToLower(n.Value)+" ")
		if old || strings.ContainsAny(n.Value, "\r\n\u0085\u2028\u2029") {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	case 't', 'f':
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: string(l)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(l)}
}
