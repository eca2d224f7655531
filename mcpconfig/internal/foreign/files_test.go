package foreign_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// TestFiles lists where each client keeps its servers, on each system.
func TestFiles(t *testing.T) {
	env := map[string]string{"APPDATA": "/appdata"}
	places := map[string]*foreign.Place{
		"linux":   {OS: "linux", Dir: "/p", Home: "/h", Config: "/h/.config"},
		"darwin":  {OS: "darwin", Dir: "/p", Home: "/h", Config: "/h/.config"},
		"windows": {OS: "windows", Dir: "/p", Home: "/h", Config: "/h/.config", Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }},
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
		"linux copilot-cli":      "/h/.copilot/mcp-config.json",
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

// TestFilesAreTheirClients finds by the place alone whose file it is: with rows that
// any of the clients could have written, no other is meant.
func TestFilesAreTheirClients(t *testing.T) {
	tops := map[string]string{
		"vscode": "servers", "zed": "context_servers", "opencode": "mcp", "crush": "mcp", "codex": "mcp_servers", "goose": "extensions", "agents": "",
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
				if got := foreign.Detect(doc, p); got != c.Name {
					t.Errorf("%s: %s is taken for %q", c.Name, path, got)
				}
			}
		}
	}
}

// TestNobodyHome lists no file of a user who has no home.
func TestNobodyHome(t *testing.T) {
	for _, c := range foreign.All() {
		for _, path := range foreign.Files(c.Name, &foreign.Place{OS: "linux", Dir: "/p"}) {
			if !strings.HasPrefix(filepath.ToSlash(path), "/p/") {
				t.Errorf("%s: %s", c.Name, path)
			}
		}
	}
}
