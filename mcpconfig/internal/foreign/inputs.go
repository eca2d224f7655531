package foreign

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// input is what Visual Studio Code asks its user for.
type input struct {
	name     string // of the variable that takes its place
	about    string
	fallback *string
	command  bool
	options  []string
}

// readInputs collects the inputs, and gives each a variable of its own.
func readInputs(r *reading) {
	r.inputs = map[string]*input{}
	used := map[string]int{}
	for _, path := range [][]string{{"inputs"}, {"mcp", "inputs"}} {
		v := tree.At(r.root, path...)
		if v != nil && !tree.Has(v, '[') {
			r.remark(v.StartOffset, `"inputs" is `+tree.KindOf(v.Value)+" where a list is expected, and is left out", "")
		}
		for _, e := range tree.Elements(v) {
			r.input(e, used)
		}
	}
}

func (r *reading) input(v *hujson.Value, used map[string]int) {
	id := tree.TextAt(v, "id")
	if id == "" {
		r.remark(v.StartOffset, "an input without an id is left out", "")
		return
	}
	in := &input{about: cmp.Or(tree.TextAt(v, "description"), id), command: tree.TextAt(v, "type") == "command"}
	if d := tree.At(v, "default"); tree.Has(d, '"') {
		s := tree.Text(*d)
		in.fallback = &s
	}
	for _, e := range tree.Elements(tree.At(v, "options")) { // strings, or objects with a value
		in.options = append(in.options, cmp.Or(tree.TextAt(e, "value"), tree.Text(*e)))
	}
	if old := r.inputs[id]; old != nil {
		r.remark(v.StartOffset, "the input "+tree.Quote(id)+" comes again; the last counts", "remove or rename one of the two")
		in.name = old.name
	} else {
		in.name = newName(variableName(id), used)
	}
	r.inputs[id] = in
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
func (m *serverRow) ask(where string, p part, offset int) part {
	in := m.inputs[p.text]
	if p.kind == clientPart || in == nil {
		name, quoted := variableName(p.text), tree.Quote(p.text)
		reason := fmt.Sprintf("%s: the input %s is not defined; it has become ${%s}", where, quoted, name)
		if p.kind == clientPart {
			reason = fmt.Sprintf("%s: ${%s} is known to %s alone and has become ${%s}", where, quoted[1:len(quoted)-1], m.title, name)
		}
		m.remark(offset, reason, "set the variable "+name)
		return part{kind: variablePart, text: name}
	}
	out := part{kind: variablePart, text: in.name, fallback: in.fallback}
	if _, ok := nativePart(out); !ok {
		out.fallback = nil
	}
	hint := fmt.Sprintf("set the variable %s: %s", in.name, tree.Quote(in.about))
	if len(in.options) > 0 {
		hint += ", one of " + tree.Quote(strings.Join(in.options, ", "))
	}
	if in.command {
		hint += "; a command of the editor gave its value"
	}
	m.remark(offset, fmt.Sprintf("%s: the input %s has become ${%s}", where, tree.Quote(p.text), in.name), hint)
	return out
}
