package edit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// toml returns the text of the file with the row. The row replaces the one with its id, or is added at the end.
func (m *merge) toml() ([]byte, error) {
	doc := m.doc
	if doc == nil {
		doc = &tree.Doc{}
	}
	gone, first, behind := m.replaced(doc)
	var cuts []tree.Cut
	start := 0 // of the lines that are cut in one go
	for i, e := range doc.Expressions {
		if !gone[i] {
			continue
		}
		end, by := e.End, ""
		if i+1 == len(gone) || !gone[i+1] {
			end = e.Start + len(doc.Text[e.Start:e.End]) - len(commentsBehind(doc.Text[e.Start:e.End]))
		}
		if i == 0 || !gone[i-1] {
			start = e.Start
		}
		if i == first && !m.removes {
			by = m.table(m.ID, m.Row)
		}
		if m.removes && end < e.End && doc.Text[end] == '\n' && bytes.HasSuffix(doc.Text[:start], []byte("\n\n")) {
			end++ // one of the empty lines around it
		}
		cuts = append(cuts, tree.Cut{From: e.Start, To: end, By: by})
	}
	if first < 0 && !m.removes {
		behind = append(behind, tree.Member(m.ID, m.Row))
	}
	text := tree.Splice(doc.Text, cuts)
	for _, row := range behind {
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, m.newline...)
		}
		if len(text) > 0 {
			text = append(text, m.newline...)
		}
		text = append(text, m.table(tree.Text(row.Name), row.Value)...)
	}
	return m.checked(text)
}

// replaced returns the expressions that the row replaces, and the first header among them, or -1. If all servers are on
// one line, that line is replaced too, and after holds the other servers.
func (m *merge) replaced(doc *tree.Doc) (removed []bool, first int, after []hujson.ObjectMember) {
	in := append(slices.Clip(m.path), m.ID)
	removed, first = make([]bool, len(doc.Expressions)), -1
	for i, e := range doc.Expressions {
		switch {
		case !e.Header && slices.Equal(e.Path, m.path):
			removed[i] = true
			for id, one := range tree.Members(tree.At(&doc.Root, m.path...)) {
				if id != m.ID {
					after = append(after, *one)
				}
			}
		case len(e.Path) >= len(in) && slices.Equal(e.Path[:len(in)], in):
			removed[i] = true
			if first < 0 && e.Header {
				first = i
			}
		}
	}
	return removed, first, after
}

// table returns a server as a table of its own.
func (m *merge) table(id string, row hujson.Value) string {
	var names []string
	for _, name := range append(slices.Clip(m.path), id) {
		names = append(names, tomlKey(name))
	}
	var b strings.Builder
	b.WriteString("[" + strings.Join(names, ".") + "]" + m.newline)
	for name, member := range tree.Members(&row) {
		b.WriteString(tomlKey(name) + " = " + tomlValue(member.Value) + m.newline)
	}
	return b.String()
}

// commentsBehind returns the blank lines and comments at the end of some lines.
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

// tomlString returns a basic string. It has the escapes of JSON, and DEL must be escaped too.
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
