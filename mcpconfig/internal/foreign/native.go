package foreign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/fields"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// writtenFields returns the fields that a row of indus has when it is written.
func writtenFields() []fields.Field {
	return slices.DeleteFunc(slices.Clone(fields.Row()), func(f fields.Field) bool { return f.Alias })
}

// nativeDialect returns the dialect of indus. Its rows are copied, and checked by their reader.
func nativeDialect() *dialect {
	d := &dialect{name: Native, title: "indus", paths: [][]string{{"servers"}, {"mcpServers"}},
		ignored: "id name",
		pathEnd: ".indusvx/mcp.json indusvx/mcp.json .indusvx/agent/mcp.json .indusvx/agent/mcp-servers.json " +
			".indusagi/mcp.json"}
	d.extraRules = map[string]rule{"disabled": asDisabled, "transport": asKind}
	for _, f := range writtenFields() {
		d.extraRules[f.Name] = asItself(f.Kind.JSON)
	}
	d.extraRules["type"], d.extraRules["enabled"] = asKind, asEnabled
	return d
}

// asItself returns the rule that copies a value of the right kind.
func asItself(kind hujson.Kind) rule {
	return func(m *serverRow, key string, v *hujson.Value) {
		switch {
		case kind != 0 && !tree.Has(v, kind):
			m.fail(v.StartOffset, fmt.Sprintf("%q is %s, which it cannot be", key, tree.KindOf(v.Value)), "")
		case kind != '"' || tree.Text(*v) != "":
			m.out[key] = *v
			m.moved(key, *v)
		}
	}
}

// moved adds a note about a path that is relative to the file's own directory. It means another place in another file.
func (m *serverRow) moved(key string, v hujson.Value) {
	path := tree.Text(v)
	relative := (key == "cwd" || key == "envFile") && !isAnywhere(path) && !strings.HasPrefix(path, "${")
	if relative || namesDirectory(v.String()) {
		m.remark(v.StartOffset, fmt.Sprintf("%q begins at the directory of this file, and elsewhere in another one", key),
			"write the whole path if the server moves")
	}
}

// namesDirectory reports whether a text has a variable that means another place in another file.
func namesDirectory(s string) bool {
	for _, inner := range strings.Split(strings.ReplaceAll(s, "$${", ""), "${")[1:] {
		path, isFile := strings.CutPrefix(inner, "file:")
		if strings.HasPrefix(inner, "workspaceFolder") || isFile && !isAnywhere(path) {
			return true
		}
	}
	return false
}

// Names returns the names that [Detect] looks for, for an error.
func Names() string {
	var names []string
	for _, d := range dialects() {
		for _, path := range d.paths {
			name := fmt.Sprintf("%q", strings.Join(path, "."))
			if len(path) > 0 && !strings.Contains(strings.Join(names, " "), name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ") + ", and for a map of servers alone"
}
