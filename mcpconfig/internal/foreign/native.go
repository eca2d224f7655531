package foreign

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// nativeKey is a key of indus's own rows, and the kinds of values that it can have.
type nativeKey struct{ name, kinds string }

// nativeKeys returns the keys in the order in which they are written.
func nativeKeys() []nativeKey {
	return []nativeKey{
		{"command", `"`}, {"args", "["}, {"env", "{"}, {"envFile", `"`}, {"cwd", `"`}, {"inheritEnv", `tf"`},
		{"url", `"`}, {"headers", "{"},
		{"oauth", "{f"}, {"tls", "{"}, {"forwardHeaders", "["}, {"authorization", `"`},
		{"type", `"`}, {"era", ""}, {"timeout", `"0{`}, {"lazy", `tf"`}, {"idle", `"0`},
		{"per", `"`}, {"instances", "0"}, {"single", ""}, {"maxPrincipals", "0"}, {"maxConcurrent", "0"}, {"maxQueue", "0"},
		{"tools", "{"}, {"changes", ""}, {"profile", ""}, {"enabled", `tf"`},
	}
}

// NativeKeys returns the keys of indus's own rows in the order in which they are written. A row in a list also has "id"
// or "name". "transport" and "disabled" are read too.
func NativeKeys() (names []string) {
	for _, k := range nativeKeys() {
		names = append(names, k.name)
	}
	return names
}

// nativeDialect returns the dialect of indus. Its rows are copied, and checked by their reader.
func nativeDialect() *dialect {
	d := &dialect{name: Native, title: "indus", paths: [][]string{{"servers"}, {"mcpServers"}},
		ignored: "id name",
		pathEnd: ".indusvx/mcp.json indusvx/mcp.json .indusvx/agent/mcp.json .indusvx/agent/mcp-servers.json " +
			".indusagi/mcp.json"}
	d.extraRules = map[string]rule{"disabled": asDisabled, "transport": asKind}
	for _, key := range nativeKeys() {
		d.extraRules[key.name] = asItself
	}
	d.extraRules["type"], d.extraRules["enabled"] = asKind, asEnabled
	return d
}

// asItself copies a value that is of the right kind.
func asItself(m *serverRow, key string, v *hujson.Value) {
	var kinds string
	for _, k := range nativeKeys() {
		if k.name == key && len(k.kinds) == 1 {
			kinds = k.kinds
		}
	}
	switch {
	case kinds != "" && !tree.Has(v, hujson.Kind(kinds[0])):
		m.fail(v.StartOffset, fmt.Sprintf("%q is %s, which it cannot be", key, tree.KindOf(v.Value)), "")
	case kinds != `"` || tree.Text(*v) != "":
		m.out[key] = *v
		m.moved(key, *v)
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
