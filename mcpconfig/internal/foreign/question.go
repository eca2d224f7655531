package foreign

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// question is an input of Visual Studio Code: what it asks its user for.
type question struct {
	name        string // of the variable that takes its place
	description string
	fallback    *string
	command     bool
	options     []string
}

// readInputs collects the questions, and gives each a variable of its own.
func readInputs(r *reading) {
	r.inputs = map[string]*question{}
	used := map[string]int{}
	for _, path := range [][]string{{"inputs"}, {"mcp", "inputs"}} {
		v := at(&r.doc.Root, path)
		if v == nil {
			continue
		}
		list, ok := v.Value.(*hujson.Array)
		if !ok {
			r.remark(v.StartOffset, `"inputs" is `+tree.KindOf(v.Value)+" where a list is expected, and is left out", "")
			continue
		}
		for i := range list.Elements {
			r.input(&list.Elements[i], used)
		}
	}
}

func (r *reading) input(v *hujson.Value, used map[string]int) {
	o, ok := v.Value.(*hujson.Object)
	if !ok || get(o, "id") == nil || tree.Text(*get(o, "id")) == "" {
		r.remark(v.StartOffset, "an input without an id is left out", "")
		return
	}
	text := func(name string) string {
		if v := get(o, name); v != nil {
			return tree.Text(*v)
		}
		return ""
	}
	q := &question{description: text("description"), command: text("type") == "command"}
	if v := get(o, "default"); v != nil && v.Value.Kind() == '"' {
		s := tree.Text(*v)
		q.fallback = &s
	}
	if v := get(o, "options"); v != nil {
		if list, ok := v.Value.(*hujson.Array); ok {
			for _, e := range list.Elements {
				q.options = append(q.options, optionText(e))
			}
		}
	}
	if old := r.inputs[text("id")]; old != nil {
		r.remark(v.StartOffset, "the input "+tree.Quote(text("id"))+" comes again; the last counts", "remove or rename one of the two")
		q.name = old.name
	} else {
		q.name = newName(variableName(text("id")), used)
	}
	r.inputs[text("id")] = q
}

// optionText is an option: a string, or an object with a value.
func optionText(v hujson.Value) string {
	if o, ok := v.Value.(*hujson.Object); ok {
		if value := get(o, "value"); value != nil {
			return tree.Text(*value)
		}
	}
	return tree.Text(v)
}

// newName is a name that is not used yet. Of a name that is, used counts up.
func newName(name string, used map[string]int) string {
	out := name
	for used[out] > 0 {
		used[name]++
		out = fmt.Sprintf("%s_%d", name, used[name])
	}
	used[out] = 1
	return out
}

// variableName is an id as a variable: GITHUB_TOKEN for github-token.
func variableName(id string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z':
			return c - 'a' + 'A'
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			return c
		}
		return '_'
	}, id)
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name
	}
	return name[:min(len(name), 64)]
}

// ask is the variable in the place of what only the client can ask or know.
func (m *row) ask(where string, p part, offset int) part {
	q := m.inputs[p.text]
	switch {
	case p.kind == alien:
		name := variableName(p.text)
		m.remark(offset, fmt.Sprintf("%s: ${%s} is known to %s alone and has become ${%s}", where, shown(p.text), m.title, name), "set the variable "+name)
		return part{kind: variable, text: name}
	case q == nil:
		name := variableName(p.text)
		m.remark(offset, fmt.Sprintf("%s: the input %s is not defined; it has become ${%s}", where, tree.Quote(p.text), name), "set the variable "+name)
		return part{kind: variable, text: name}
	}
	out := part{kind: variable, text: q.name}
	if q.fallback != nil {
		out.fallback = text(*q.fallback)
		if _, ok := nativeOne(out); !ok {
			out.fallback = nil
		}
	}
	about := q.description
	if about == "" {
		about = p.text
	}
	reason := fmt.Sprintf("%s: the input %s has become ${%s}", where, tree.Quote(p.text), q.name)
	hint := fmt.Sprintf("set the variable %s: %s", q.name, tree.Quote(about))
	if len(q.options) > 0 {
		hint += ", one of " + tree.Quote(strings.Join(q.options, ", "))
	}
	if q.command {
		hint += "; a command of the editor gave its value"
	}
	m.remark(offset, reason, hint)
	return out
}

// shown is a text of the file without what could harm a terminal.
func shown(s string) string {
	q := tree.Quote(s)
	return q[1 : len(q)-1]
}

// ofUser reports whether the file is the user's own and no project's.
func (p *Place) ofUser() bool {
	return p.Path != "" && !strings.HasPrefix(p.Path, p.Dir+"/") && !strings.HasPrefix(p.Path, p.Dir+`\`)
}
