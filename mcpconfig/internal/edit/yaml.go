package edit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// yaml returns the text of the file with the row. The row replaces the one with its id, or is added.
func (m *merge) yaml() ([]byte, error) {
	name := m.path[0]
	if m.doc == nil {
		var b bytes.Buffer
		for _, first := range m.Begin {
			b.WriteString(tree.Text(first.Name) + ": " + yamlText(first.Value))
		}
		b.WriteString(name + ":\n" + m.yamlRow(2))
		return b.Bytes(), nil
	}
	if old := m.old(); old != nil {
		from, to, deep, ok := m.yamlLines(old)
		if !ok {
			reason := "the server " + tree.Quote(m.ID) + " is written in a form that cannot be replaced; remove it first"
			return nil, errorAt(m.doc, old.StartOffset, reason)
		}
		cuts := []tree.Cut{{From: from, To: to}}
		if !m.removes {
			cuts[0].By = m.newlines(m.yamlRow(deep))
		} else if len(m.rows(m.doc)) == 1 {
			cuts = append(m.yamlNone(name), cuts...)
		}
		return m.checked(tree.Splice(m.doc.Text, cuts))
	}
	place, indent, head := m.yamlPlace(name)
	added := m.newlines(head + m.yamlRow(indent))
	if place == len(m.doc.Text) && !bytes.HasSuffix(m.doc.Text, []byte("\n")) && head != "\n" {
		added = m.newline + added
	}
	cuts := []tree.Cut{{From: place, To: place, By: added}}
	if from, to := yamlEmpty(m.doc, name); from < to { // "[]" in front of the row
		cuts = append(cuts, tree.Cut{From: from, To: to})
	}
	return m.checked(tree.Splice(m.doc.Text, cuts))
}

func (m *merge) newlines(s string) string { return strings.ReplaceAll(s, "\n", m.newline) }

// yamlLines returns the lines of a server that is on lines of its own, and their indentation.
func (m *merge) yamlLines(v *hujson.Value) (from, to, indent int, ok bool) {
	doc, start, lead := m.doc, v.StartOffset, "-"
	for name, member := range tree.Members(tree.At(&doc.Root, m.path...)) {
		if name == m.ID {
			start, lead = member.Name.StartOffset, ""
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
		end += len(line)
		if mine && len(words) > 0 {
			to = end // comments and blank lines behind it do not belong to it
		}
	}
	return from, to, indent, true
}

// yamlEmpty returns the position of an empty list or map, with the blanks in front of it. Rows in block form replace
// it.
func yamlEmpty(doc *tree.Doc, name string) (from, to int) {
	v := tree.At(&doc.Root, name)
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

// yamlNone returns the change that makes an empty list or map, instead of no value.
func (m *merge) yamlNone(name string) []tree.Cut {
	for n, member := range tree.Members(&m.doc.Root) {
		colon := bytes.IndexByte(m.doc.Text[member.Name.StartOffset:], ':')
		if n == name && colon >= 0 {
			at, by := member.Name.StartOffset+colon+1, " {}"
			if m.IDKey != "" {
				by = " []"
			}
			return []tree.Cut{{From: at, To: at, By: by}}
		}
	}
	return nil
}

// yamlPlace returns the place of new rows, their indentation, and the text before them.
func (m *merge) yamlPlace(name string) (offset, indent int, head string) {
	doc := m.doc
	v, key := (*hujson.Value)(nil), 0
	for n, member := range tree.Members(&doc.Root) {
		if n == name {
			key, v = member.Name.StartOffset, &member.Value
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

// yamlRow returns the server in block form.
func (m *merge) yamlRow(indent int) string {
	v := tree.List(0, []hujson.Value{m.Row})
	if m.IDKey == "" {
		v = tree.Object(0, []hujson.ObjectMember{tree.Member(m.ID, m.Row)})
	}
	var b strings.Builder
	for line := range strings.Lines(yamlText(v)) {
		b.WriteString(strings.Repeat(" ", indent) + line)
	}
	return b.String()
}

// yamlText returns a value in block form, with every text on one line.
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
		// Texts stay on one line. Words that YAML 1.1 reads as booleans are quoted, because some readers still do so.
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
