package foreign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// isOpencode2 reports whether a file has its servers in "mcp.servers", as opencode 2 writes them, and no server of opencode 1
// of that name. See https://opencode.ai/v2/docs/mcp-servers.
func isOpencode2(root *hujson.Value) bool {
	servers := tree.At(root, "mcp", "servers")
	return tree.Has(servers, '{') && tree.At(servers, "command") == nil && tree.At(servers, "url") == nil && !tree.Has(tree.At(servers, "type"), '"') &&
		!tree.Has(tree.At(servers, "enabled"), 't', 'f')
}

// opencodeForm chooses where the servers are. A file of opencode 2 may have some of version 1 beside them, and of two with one
// name its own counts.
func opencodeForm(r *reading) {
	d := *r.dialect
	r.dialect = &d
	if isOpencode2(r.root) {
		r.aside = []string{"servers", "timeout"}
		if v := tree.At(r.root, "mcp", "timeout"); v != nil {
			r.remark(v.StartOffset, `"mcp.timeout" is not taken over`, `give each server its "timeout"`)
		}
	} else {
		d.where = [][]string{{"mcp"}}
	}
	r.opencodeTools()
}

// opencodeTools remarks on tools that are switched off outside of their server.
func (r *reading) opencodeTools() {
	var ids []string
	for _, path := range r.where {
		for id := range tree.Members(tree.At(r.root, path...)) {
			if len(ids) < maxRows && !slices.Contains(r.aside, id) {
				ids = append(ids, id)
			}
		}
	}
	for name, m := range tree.Members(tree.At(r.root, "tools")) {
		if len(r.file.Notes) >= maxRemarks || ids == nil {
			return
		}
		about := strings.HasPrefix(name, "*") || slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(name, id) })
		if about && tree.Has(&m.Value, 'f') {
			r.remark(m.Name.StartOffset, tree.Quote("tools."+name)+" switches tools off and is not taken over", denyHint)
		}
	}
}

// opencode2Steps are the timeouts of opencode 2, and those of indus.
var opencode2Steps = []timeout{
	{"startup", inMillis, []string{"connect"}}, {"catalog", inMillis, []string{"list"}},
	{"execution", inMillis, []string{"call"}}, {"request", inMillis, []string{"list", "call"}},
}

// opencodeTimeout is a number of milliseconds, or in opencode 2 one for each step.
func opencodeTimeout(m *serverRow, key string, v *hujson.Value) {
	if !tree.Has(v, '{') {
		asTimeout(inMillis, "connect", "list")(m, key, v)
		return
	}
	rules := map[string]rule{}
	for _, t := range opencode2Steps {
		rules[t.key] = func(m *serverRow, name string, v *hujson.Value) { asTimeout(t.unit, t.steps...)(m, key+"."+name, v) }
	}
	m.eachIn(v, rules, func(name string) string { return "unknown key " + tree.Quote(key+"."+name) })
}

// opencodeProtocol is the era of the server.
func opencodeProtocol(m *serverRow, key string, v *hujson.Value) {
	switch word := tree.Text(*v); word {
	case "auto":
	case "legacy":
		m.out["era"] = tree.String(v.StartOffset, "legacy")
	case "2026-07-28":
		m.out["era"] = tree.String(v.StartOffset, "modern")
	default:
		m.remark(v.StartOffset, fmt.Sprintf("%q is not taken over: indus finds the protocol out", key), "")
	}
}

// opencodePlace is in the servers of opencode 2 if the file has some, and otherwise where both versions read them.
func opencodePlace(into *hujson.Value) [][]string {
	if into != nil && isOpencode2(into) {
		return [][]string{{"mcp", "servers"}}
	}
	return [][]string{{"mcp"}}
}
