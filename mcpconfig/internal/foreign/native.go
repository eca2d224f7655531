package foreign

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// indus is its own format: rows are taken as they are, for their reader to judge.
func indus() *dialect {
	d := &dialect{name: Native, title: "indus", syntax: tree.JSON, where: [][]string{{"servers"}, {"mcpServers"}}, only: true,
		marks: ".indusvx/mcp.json indusvx/mcp.json .indusvx/agent/mcp.json .indusvx/agent/mcp-servers.json .indusagi/mcp.json"}
	d.also = map[string]rule{"id": asItself("id"), "name": asItself("name"), "disabled": asDisabled, "transport": asKind, "type": asKind, "enabled": asEnabled}
	for _, key := range order() {
		if d.also[key] == nil {
			d.also[key] = asItself(key)
		}
	}
	return d
}

// asItself copies a value that has the right shape.
func asItself(key string) rule {
	want := map[string]hujson.Kind{"command": '"', "url": '"', "cwd": '"', "envFile": '"', "args": '[', "env": '{', "headers": '{', "tools": '{'}[key]
	return func(m *row, _ string, v *hujson.Value) {
		switch {
		case key == "id" || key == "name":
		case want != 0 && v.Value.Kind() != want:
			m.fail(v.StartOffset, fmt.Sprintf("%q is %s, which it cannot be", key, tree.KindOf(v.Value)), "")
		case want != '"' || tree.Text(*v) != "":
			m.out[key] = *v
			m.moved(key, *v)
		}
	}
}

// moved remarks on what begins at the file's own directory, and means another place
// in another file.
func (m *row) moved(key string, v hujson.Value) {
	text := v.String()
	path := tree.Text(v)
	relative := (key == "cwd" || key == "envFile") && !anywhere(path) && !strings.HasPrefix(path, "${")
	for _, p := range split(text, []matcher{own}) {
		relative = relative || p.kind == workspace || p.kind == baseName || p.kind == contents && !anywhere(p.text)
	}
	if relative {
		m.remark(v.StartOffset, fmt.Sprintf("%q begins at the directory of this file, and elsewhere in another one", key), "write the whole path if the server moves")
	}
}

// Names are what [Detect] looks for, for an error that says so.
func Names() string {
	var names []string
	for _, d := range append(dialects(), indus()) {
		for _, path := range d.where {
			name := fmt.Sprintf("%q", strings.Join(path, "."))
			if len(path) > 0 && !strings.Contains(strings.Join(names, " "), name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ") + ", and for a map of servers alone"
}
