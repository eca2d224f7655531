package foreign

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// SyntaxFor returns the syntax of a file. Its name decides, or else its beginning.
func SyntaxFor(path string, text []byte) tree.Syntax {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".toml":
		return tree.TOML
	case ".yaml", ".yml":
		return tree.YAML
	case ".json", ".jsonc":
		return tree.JSON
	}
	begin := strings.TrimLeft(strings.TrimPrefix(string(text[:min(len(text), 64<<10)]), "\ufeff"), " \t\r\n")
	switch {
	case strings.HasPrefix(begin, "{") || strings.HasPrefix(begin, "//") || strings.HasPrefix(begin, "/*"):
		return tree.JSON
	case regexp.MustCompile(`(?m)^(\[+[\w."' -]+\]+|[\w."'-]+[ \t]*=)`).MatchString(begin):
		return tree.TOML
	case regexp.MustCompile(`(?m)^["']?[\w-]+["']?:([ \t\r]|$)`).MatchString(begin):
		return tree.YAML
	}
	return tree.JSON
}

// Detect returns the client that uses the format of a file. It is [Native] for indus's own format, and "" if no client
// uses it. The content decides, or else the place of the file.
func Detect(doc *tree.Doc, p *Place) string {
	if !tree.Has(&doc.Root, '{') {
		return ""
	}
	content, place := detectContent(doc), clientOfPath(filepath.ToSlash(p.Path))
	if place == Native {
		return Native
	}
	if content == "copilot-cli" && place == "claude-code" { // both use .mcp.json
		return content
	}
	if d := find(place); d != nil {
		for _, path := range d.paths {
			if v := tree.At(&doc.Root, path...); v != nil && len(path) > 0 && !tree.Has(v, 'n') {
				return place
			}
		}
		if d.sections != nil && tree.At(&doc.Root, "projects") != nil {
			return place
		}
	}
	return content
}

// signs are marks of the servers of one client: keys of rows, words for their types, and keys next to the servers.
type signs struct{ client, keys, types, siblings string }

// serverNames are the names under which clients keep their servers, with the signs of these clients, in the order in
// which Detect looks for them. If a file has none of the signs, it belongs to the client without signs.
var serverNames = []struct {
	name  string
	signs []signs
}{
	{"mcpServers", []signs{
		{"gemini-cli", "httpUrl includeTools excludeTools trust authProviderType", "", ""},
		{"mcporter", "baseUrl base_url bearerTokenEnv bearer_token_env lifecycle", "", "imports"},
		{"windsurf", "serverUrl", "", ""},
		{"roo", "alwaysAllow", "", ""},
		{"cline", "autoApprove", "streamableHttp", ""},
		{"claude-code", "headersHelper", "", "projects"},
		{"cursor", "auth", "", ""},
		{"mcphost", "allowedTools excludedTools environment", "", ""},
		{"copilot-cli", "", "local", ""},
		{"indus-agents", "", "https", ""},
		{client: Native},
	}},
	{"amp.mcpServers", []signs{{client: "amp"}}},
	{"mcp_servers", []signs{{client: "codex"}}},
	{"context_servers", []signs{{client: "zed"}}},
	{"servers", []signs{{"vscode", "sandboxEnabled dev gallery", "", "inputs"}, {client: Native}}},
	{"mcp", []signs{
		{"opencode", "environment", "local remote", ""},
		{"crush", "", "stdio http sse", ""},
		{client: "opencode"},
	}},
	{"extensions", []signs{{"goose", "cmd uri env_keys bundled type", "", ""}}},
}

func detectContent(doc *tree.Doc) string {
	for _, m := range serverNames {
		name, servers := m.name, tree.At(&doc.Root, m.name)
		switch {
		case name == "mcpServers" && tree.Has(servers, '['):
			return detectList(doc, servers)
		case name == "mcp" && isOpencode2(&doc.Root) && isOpencodes(doc, tree.At(servers, "servers")):
			return "opencode"
		case name == "mcp" && tree.Has(tree.At(servers, "servers"), '{') && tree.At(servers, "servers", "command") == nil:
			return "vscode"
		case name == "mcp" && strings.Contains(tree.TextAt(&doc.Root, "$schema"), "crush") &&
			!rowsHave(servers, "environment") && !rowsTyped(servers, "local", "remote"):
			return "crush"
		case tree.Has(servers, '{'):
			for _, s := range m.signs {
				if s == (signs{client: s.client}) ||
					rowsHave(servers, strings.Fields(s.keys)...) ||
					rowsTyped(servers, strings.Fields(s.types)...) ||
					s.siblings != "" && tree.At(&doc.Root, s.siblings) != nil {
					return s.client
				}
			}
		case name == "servers" && (servers != nil || tree.At(&doc.Root, "mcpServers") != nil):
			return Native // the reader reports the mistake
		}
	}
	if n := count(&doc.Root); n > 0 && n == countServers(&doc.Root) {
		return "agents"
	}
	return ""
}

// isOpencodes reports whether the servers in "mcp.servers" belong to opencode. Visual Studio Code has settings of that
// name too.
func isOpencodes(doc *tree.Doc, servers *hujson.Value) bool {
	return rowsTyped(servers, "local", "remote") || rowsHave(servers, "environment") ||
		strings.Contains(tree.TextAt(&doc.Root, "$schema"), "opencode")
}

// detectList returns the client of a list of servers. JSON begins with a bracket, and Continue writes YAML.
func detectList(doc *tree.Doc, servers *hujson.Value) string {
	switch {
	case rowsHave(servers, "kind"):
		return "indusagi"
	case rowsHave(servers, "requestOptions"):
		return "continue"
	}
	text := strings.TrimLeft(string(doc.Text[:min(len(doc.Text), 1000)]), " \t\r\n")
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "/") {
		return Native
	}
	return "continue"
}

// rowsHave reports whether any row has one of the keys.
func rowsHave(servers *hujson.Value, keys ...string) bool {
	for _, row := range tree.Items(servers) {
		for name := range tree.Members(row) {
			if slices.Contains(keys, name) {
				return true
			}
		}
	}
	return false
}

// rowsTyped reports whether any row has one of the types.
func rowsTyped(servers *hujson.Value, words ...string) bool {
	for _, row := range tree.Items(servers) {
		if slices.Contains(words, tree.TextAt(row, "type")) || slices.Contains(words, tree.TextAt(row, "transport")) {
			return true
		}
	}
	return false
}

func countServers(root *hujson.Value) (n int) {
	for _, row := range tree.Items(root) {
		fields := tree.Fields(row)
		isField := func(key string) bool { return fields[key] != nil }
		if slices.ContainsFunc([]string{"command", "url", "serverUrl", "httpUrl", "uri"}, isField) {
			n++
		}
	}
	return n
}
