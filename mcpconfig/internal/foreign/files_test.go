package foreign_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// TestFiles lists the files in which each client keeps its servers, on each system.
func TestFiles(t *testing.T) {
	env := map[string]string{
		"APPDATA": "/appdata", "CODEX_HOME": "/moved/codex", "COPILOT_HOME": "/moved/copilot", "CLAUDE_CONFIG_DIR": "/moved/claude", "OPENCODE_CONFIG": "/moved/mine.json",
	}
	lookUp := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	places := map[string]*foreign.Place{
		"linux":   {OS: "linux", Dir: "/p", Home: "/h", Config: "/h/.config"},
		"darwin":  {OS: "darwin", Dir: "/p", Home: "/h", Config: "/h/.config"},
		"windows": {OS: "windows", Dir: "/p", Home: "/h", Config: "/h/.config", Env: lookUp},
		"moved":   {OS: "linux", Dir: "/p", Home: "/h", Config: "/h/.config", Env: lookUp},
	}
	const application = "/h/Library/Application Support/"
	for name, want := range map[string]string{
		"linux claude-desktop":   "/h/.config/Claude/claude_desktop_config.json /h/.config/claude/claude_desktop_config.json",
		"darwin claude-desktop":  application + "Claude/claude_desktop_config.json",
		"windows claude-desktop": "/appdata/Claude/claude_desktop_config.json",
		"linux claude-code":      "/p/.mcp.json /h/.claude.json",
		"linux cursor":           "/p/.cursor/mcp.json /h/.cursor/mcp.json",
		"linux windsurf":         "/h/.codeium/windsurf/mcp_config.json /h/.codeium/windsurf-next/mcp_config.json",
		"linux gemini-cli":       "/p/.gemini/settings.json /h/.gemini/settings.json",
		"linux vscode":           "/p/.vscode/mcp.json /h/.config/Code/User/mcp.json /p/.vscode/settings.json /h/.config/Code/User/settings.json",
		"darwin vscode":          "/p/.vscode/mcp.json " + application + "Code/User/mcp.json /p/.vscode/settings.json " + application + "Code/User/settings.json",
		"windows vscode":         "/p/.vscode/mcp.json /appdata/Code/User/mcp.json /p/.vscode/settings.json /appdata/Code/User/settings.json",
		"linux goose":            "/h/.config/goose/config.yaml",
		"windows goose":          "/appdata/Block/goose/config/config.yaml",
		"linux codex":            "/p/.codex/config.toml /h/.codex/config.toml",
		"linux zed":              "/p/.zed/settings.json /h/.config/zed/settings.json",
		"windows zed":            "/p/.zed/settings.json /appdata/Zed/settings.json",
		"linux opencode":         "/p/opencode.jsonc /p/opencode.json /h/.config/opencode/opencode.jsonc /h/.config/opencode/opencode.json",
		"linux kiro":             "/p/.kiro/settings/mcp.json /h/.kiro/settings/mcp.json",
		"linux lmstudio":         "/h/.lmstudio/mcp.json /h/.cache/lm-studio/mcp.json",
		"linux copilot-cli":      "/p/.mcp.json /p/.github/mcp.json /h/.copilot/mcp-config.json",
		"linux amp":              "/p/.amp/settings.jsonc /p/.amp/settings.json /h/.config/amp/settings.jsonc /h/.config/amp/settings.json",
		"linux antigravity":      "/p/.agents/mcp_config.json /h/.gemini/config/mcp_config.json /h/.gemini/antigravity/mcp_config.json",
		"linux factory":          "/h/.factory/mcp.json /p/.factory/mcp.json",
		"linux junie":            "/p/.junie/mcp/mcp.json /h/.junie/mcp/mcp.json",
		"linux kilo":             "/p/kilo.jsonc /p/kilo.json /p/.kilo/kilo.jsonc /p/.kilo/kilo.json /h/.config/kilo/kilo.jsonc /h/.config/kilo/kilo.json",
		"linux qwen-code":        "/p/.qwen/settings.local.json /p/.qwen/settings.json /h/.qwen/settings.json",
		"linux warp":             "/p/.warp/.mcp.json /h/.warp/.mcp.json",
		"darwin goose":           "/h/.config/goose/config.yaml",
		"darwin roo": "/p/.roo/mcp.json " + application + "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json " +
			application + "Cursor/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
		"moved codex":       "/p/.codex/config.toml /moved/codex/config.toml",
		"moved copilot-cli": "/p/.mcp.json /p/.github/mcp.json /moved/copilot/mcp-config.json",
		"moved claude-code": "/p/.mcp.json /moved/claude/.claude.json",
		"moved opencode":    "/p/opencode.jsonc /p/opencode.json /moved/mine.json /h/.config/opencode/opencode.jsonc /h/.config/opencode/opencode.json",
		"linux continue": "/p/.continue/config.yaml /p/.continue/mcpServers/*.yaml /p/.continue/mcpServers/*.yml /p/.continue/mcpServers/*.json " +
			"/h/.continue/config.yaml /h/.continue/mcpServers/*.yaml /h/.continue/mcpServers/*.yml /h/.continue/mcpServers/*.json",
		"linux crush":    "/p/.crush.json /p/crush.json /h/.config/crush/crush.json",
		"linux mcporter": "/p/config/mcporter.json /p/config/mcporter.jsonc /h/.mcporter/mcporter.json /h/.mcporter/mcporter.jsonc",
		"linux agents":   "/p/.agents/mcp.json",
		"linux indusagi": "/p/.indusagi/settings.json /h/.indusagi/settings.json",
		"linux mcphost":  "/h/.mcphost.yml /h/.mcphost.json",
		"linux nobody":   "",
	} {
		system, client, _ := strings.Cut(name, " ")
		var got []string
		for _, path := range foreign.Files(client, places[system]) {
			got = append(got, filepath.ToSlash(path))
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestFilesAreTheirClients finds the client of a file by its place alone. The rows
// are valid for any of the clients.
func TestFilesAreTheirClients(t *testing.T) {
	tops := map[string]string{
		"vscode": "servers", "zed": "context_servers", "opencode": "mcp", "crush": "mcp", "codex": "mcp_servers", "goose": "extensions", "agents": "",
		"kilo": "mcp", "amp": "amp.mcpServers",
	}
	for _, system := range []string{"linux", "darwin", "windows"} {
		p := &foreign.Place{OS: system, Dir: "/p", Home: "/h", Config: "/h/.config"}
		for _, c := range foreign.All() {
			top, ok := tops[c.Name]
			if !ok {
				top = "mcpServers"
			}
			text := `{"a": {"command": "x"}}`
			if top != "" {
				text = `{"` + top + `": ` + text + `}`
			}
			doc, fault := tree.Parse([]byte(text), tree.JSON)
			if fault != nil {
				t.Fatal(fault)
			}
			for _, path := range foreign.Files(c.Name, p) {
				p.Path = path
				if got := foreign.Detect(doc, p); got != c.Name && !(c.Name == "copilot-cli" && got == "claude-code" && path == "/p/.mcp.json") {
					t.Errorf("%s: %s is taken for %q", c.Name, path, got)
				}
			}
		}
	}
}

// TestNobodyHome checks that no file of a user without a home is listed.
func TestNobodyHome(t *testing.T) {
	for _, c := range foreign.All() {
		for _, path := range foreign.Files(c.Name, &foreign.Place{OS: "linux", Dir: "/p"}) {
			if !strings.HasPrefix(filepath.ToSlash(path), "/p/") {
				t.Errorf("%s: %s", c.Name, path)
			}
		}
	}
}
