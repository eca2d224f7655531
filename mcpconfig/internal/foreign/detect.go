package foreign

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// SyntaxFor is the grammar of a file: by its name, else by how it begins.
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

// Detect is the client whose format a file has: [Native] for indus's own, "" for
// nobody's. The content decides; where it cannot, the place does.
func Detect(doc *tree.Doc, p *Place) string {
	root, ok := doc.Root.Value.(*hujson.Object)
	if !ok {
		return ""
	}
	place := byPlace(filepath.ToSlash(p.Path))
	if place == Native {
		return Native
	}
	if place == "claude-code" && byContent(doc, root) == "copilot-cli" {
		return "copilot-cli" // which shares .mcp.json
	}
	if d := find(place); d != nil {
		for _, path := range d.where {
			if v := at(&doc.Root, path); v != nil && len(path) > 0 && v.Value.Kind() != 'n' {
				return place
			}
		}
		if d.sections != nil && get(root, "projects") != nil {
			return place
		}
	}
	return byContent(doc, root)
}

func byContent(doc *tree.Doc, root *hujson.Object) string {
	holds := func(name string) hujson.ValueTrimmed {
		if v := get(root, name); v != nil {
			return v.Value
		}
		return nil
	}
	switch servers := holds("mcpServers").(type) {
	case *hujson.Array:
		return listOf(doc, servers)
	case *hujson.Object:
		return family(root, servers)
	}
	if _, ok := holds("amp.mcpServers").(*hujson.Object); ok {
		return "amp"
	}
	if _, ok := holds("mcp_servers").(*hujson.Object); ok {
		return "codex"
	}
	if _, ok := holds("context_servers").(*hujson.Object); ok {
		return "zed"
	}
	if servers := holds("servers"); servers != nil {
		return editorOrNative(root, servers)
	}
	if _, ok := holds("mcpServers").(hujson.Literal); ok {
		return Native // which says what is wrong with it
	}
	if servers, ok := holds("mcp").(*hujson.Object); ok {
		return opencodeOrCrush(root, servers)
	}
	if list, ok := holds("extensions").(*hujson.Object); ok && has(list, "cmd", "uri", "env_keys", "bundled", "type") {
		return "goose"
	}
	if bare(root) {
		return "agents"
	}
	return ""
}

func listOf(doc *tree.Doc, servers *hujson.Array) string {
	for _, e := range servers.Elements {
		if o, ok := e.Value.(*hujson.Object); ok {
			if get(o, "kind") != nil {
				return "indusagi"
			}
			if get(o, "requestOptions") != nil {
				return "continue"
			}
		}
	}
	// JSON begins with a bracket, and Continue writes YAML.
	if text := strings.TrimLeft(string(doc.Text[:min(len(doc.Text), 1000)]), " \t\r\n"); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "/") {
		return Native
	}
	return "continue"
}

// family tells the clients apart whose servers stand in "mcpServers", by the keys
// that only one of them has. Where there is none, indus reads the rows as its own.
func family(root, servers *hujson.Object) string {
	switch {
	case has(servers, "httpUrl", "includeTools", "excludeTools", "trust", "authProviderType"):
		return "gemini-cli"
	case get(root, "imports") != nil || has(servers, "baseUrl", "base_url", "bearerTokenEnv", "bearer_token_env", "lifecycle"):
		return "mcporter"
	case has(servers, "serverUrl"):
		return "windsurf"
	case has(servers, "alwaysAllow"):
		return "roo"
	case has(servers, "autoApprove") || typed(servers, "streamableHttp"):
		return "cline"
	case get(root, "projects") != nil || has(servers, "headersHelper"):
		return "claude-code"
	case has(servers, "auth"):
		return "cursor"
	case has(servers, "allowedTools", "excludedTools", "environment"):
		return "mcphost"
	case typed(servers, "local"):
		return "copilot-cli"
	case typed(servers, "https"):
		return "indus-agents"
	}
	return Native
}

func editorOrNative(root *hujson.Object, servers hujson.ValueTrimmed) string {
	o, ok := servers.(*hujson.Object)
	if ok && (get(root, "inputs") != nil || has(o, "sandbox", "sandboxEnabled", "dev", "gallery")) {
		return "vscode"
	}
	return Native
}

func opencodeOrCrush(root, servers *hujson.Object) string {
	if v := get(servers, "servers"); v != nil && get(rowOr(v), "command") == nil {
		return "vscode"
	}
	about := ""
	if v := get(root, "$schema"); v != nil {
		about = tree.Text(*v)
	}
	switch {
	case typed(servers, "local") || typed(servers, "remote") || has(servers, "environment"):
		return "opencode"
	case typed(servers, "stdio") || typed(servers, "http") || typed(servers, "sse") || strings.Contains(about, "crush"):
		return "crush"
	}
	return "opencode"
}

// rowOr is an object, empty where the value is none.
func rowOr(v *hujson.Value) *hujson.Object {
	if o, ok := v.Value.(*hujson.Object); ok {
		return o
	}
	return &hujson.Object{}
}

// has reports whether any row has one of the keys.
func has(servers *hujson.Object, keys ...string) bool {
	for i := range servers.Members {
		o := rowOr(&servers.Members[i].Value)
		for _, key := range keys {
			if get(o, key) != nil {
				return true
			}
		}
	}
	return false
}

// typed reports whether any row has this type.
func typed(servers *hujson.Object, word string) bool {
	for i := range servers.Members {
		o := rowOr(&servers.Members[i].Value)
		if sameText(orNull(get(o, "type")), word) || sameText(orNull(get(o, "transport")), word) {
			return true
		}
	}
	return false
}

// bare reports whether every member is a server.
func bare(root *hujson.Object) bool {
	for i := range root.Members {
		o := rowOr(&root.Members[i].Value)
		if get(o, "command") == nil && get(o, "url") == nil && get(o, "serverUrl") == nil && get(o, "httpUrl") == nil && get(o, "uri") == nil {
			return false
		}
	}
	return len(root.Members) > 0
}
