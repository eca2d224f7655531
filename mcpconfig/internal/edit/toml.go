package edit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// toml is the file with the rows behind what is there, or in the place of those that have
// their ids.
func (m *merge) toml() ([]byte, error) {
	doc, path, rows := m.doc, m.path, m.Rows
	if doc == nil {
		doc = &tree.Doc{}
	}
	if len(rows) == 0 {
		return doc.Text, nil
	}
	table := func(row foreign.Output) string {
		var names []string
		for _, name := range append(path[:len(path):len(path)], row.ID) {
			names = append(names, tomlKey(name))
		}
		var b strings.Builder
		b.WriteString("[" + strings.Join(names, ".") + "]" + m.newline)
		for name, member := range tree.Members(&row.Value) {
			b.WriteString(tomlKey(name) + " = " + tomlValue(member.Value) + m.newline)
		}
		return b.String()
	}
	expressions := tree.Expressions(doc.Text)
	var behind []foreign.Output
	places := map[int]string{} // by the expression that a row takes the place of
	gone := make([]bool, len(expressions))
	for i, e := range expressions {
		if !e.Header && slices.Equal(e.Path, path) { // one line for all of them
			gone[i] = true
			for id, one := range tree.Members(tree.At(&doc.Root, path...)) {
				if !slices.ContainsFunc(rows, func(row foreign.Output) bool { return row.ID == id }) {
					behind = append(behind, foreign.Output{ID: id, Value: one.Value})
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
			text = append(text, m.newline...)
		}
		if len(text) > 0 {
			text = append(text, m.newline...)
		}
		text = append(text, table(row)...)
	}
	return m.checked(text)
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

// tomlString is a basic string, which has the escapes of JSON, and must escape DEL.
func tomlString(s string) string {
	return strings.ReplaceAll(string(hujson.String(s)), "\x7f", `\u007F`)
}

func tomlValue(v hujson.Value) string {
	var out []string
	for name, m := range tree.Members(&v) {
		out = append(out, tomlKey(name)+" = "+tomlValue(m.Value))
	}
	for _, e := range tree.Elements(&v) {
		out = append(out, tomlValue(*e))
	}
	switch v.Value.Kind() {
	case '{':
		return "{ " + strings.Join(out, ", ") + " }"
	case '[':
		return "[" + strings.Join(out, ", ") + "]"
	case '"':
		return tomlString(tree.Text(v))
	}
	return string(v.Value.(hujson.Literal))
}
