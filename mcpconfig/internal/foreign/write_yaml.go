package foreign

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// YAML is a file with the rows added, or in the place of those that have their ids; doc
// is nil where nothing is. Other lines are not changed, so that comments and blank lines
// stay.
func (w *Written) YAML(doc *tree.Doc) ([]byte, error) {
	name := w.Where[0][0]
	newline := "\n"
	if doc == nil {
		var b bytes.Buffer
		for _, m := range w.Begin {
			b.WriteString(tree.Text(m.Name) + ": " + yamlText(m.Value))
		}
		if len(w.Rows) > 0 {
			b.WriteString(name + ":\n")
		}
		for _, row := range w.Rows {
			b.WriteString(w.yamlRow(row, 2))
		}
		return b.Bytes(), nil
	}
	if bytes.Contains(doc.Text, []byte("\r\n")) {
		newline = "\r\n"
	}
	rows := w.others(doc, w.Where[0])
	if len(rows) == 0 {
		return doc.Text, nil
	}
	var cuts []tree.Cut
	place, indent, head := w.place(doc, name)
	added, there := "", rowsAt(doc, w.Where[0])
	for _, row := range rows {
		old := there[row.ID]
		if old == nil {
			added += w.yamlRow(row, indent)
			continue
		}
		from, to, deep, ok := w.lines(doc, row.ID, old)
		if !ok {
			line, column := doc.Position(old.StartOffset)
			return nil, fmt.Errorf("%d:%d: the server %s is written in a form that cannot be replaced; remove it first", line, column, tree.Quote(row.ID))
		}
		cuts = append(cuts, tree.Cut{From: from, To: to, By: strings.ReplaceAll(w.yamlRow(row, deep), "\n", newline)})
	}
	if added != "" {
		added = strings.ReplaceAll(head+added, "\n", newline)
		if place == len(doc.Text) && !bytes.HasSuffix(doc.Text, []byte("\n")) && !strings.HasPrefix(added, newline) {
			added = newline + added
		}
		cuts = append([]tree.Cut{{From: place, To: place, By: added}}, cuts...)
		if from, to := emptied(doc, name); from < to { // "[]" in front of the rows
			cuts = append(cuts, tree.Cut{From: from, To: to})
		}
	}
	return w.checked(tree.Splice(doc.Text, cuts), doc, w.Where[0])
}

// lines are those of a server that stands on lines of its own, and how far they are
// indented.
func (w *Written) lines(doc *tree.Doc, id string, v *hujson.Value) (from, to, indent int, ok bool) {
	start, lead := v.StartOffset, "-"
	if o, isMap := at(&doc.Root, w.Where[0]).Value.(*hujson.Object); isMap {
		for i := range o.Members {
			if tree.Text(o.Members[i].Name) == id {
				start, lead = o.Members[i].Name.StartOffset, ""
			}
		}
	}
	from = bytes.LastIndexByte(doc.Text[:start], '\n') + 1
	before := string(doc.Text[from:start])
	indent = len(before) - len(strings.TrimLeft(before, " "))
	if strings.TrimSpace(before) != lead {
		return 0, 0, 0, false
	}
	to, end := from, from
	for line := range bytes.Lines(doc.Text[from:]) {
		text := bytes.TrimLeft(line, " ")
		deep := len(line) - len(text)
		words := bytes.TrimSpace(text)
		mine := end == from || deep > indent
		if !mine && len(words) > 0 && words[0] != '#' {
			break
		}
		if end += len(line); mine && len(words) > 0 {
			to = end // comments and blank lines behind it are not its own
		}
	}
	return from, to, indent, true
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

// yamlRow is a server in block form.
func (w *Written) yamlRow(row Output, indent int) string {
	var v hujson.Value
	if w.List {
		v.Value = &hujson.Array{Elements: []hujson.ArrayElement{row.Value}}
	} else {
		v.Value = &hujson.Object{Members: []hujson.ObjectMember{{Name: hujson.Value{Value: hujson.String(row.ID)}, Value: row.Value}}}
	}
	var b strings.Builder
	for line := range strings.Lines(yamlText(v)) {
		b.WriteString(strings.Repeat(" ", indent) + line)
	}
	return b.String()
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
