package foreign

import (
	"path/filepath"
)

// under are paths below a directory.
func (p *Place) under(dir string, paths ...string) []string {
	var out []string
	for _, path := range paths {
		out = append(out, filepath.Join(dir, filepath.FromSlash(path)))
	}
	return out
}

// mine are paths below the user's home.
func (p *Place) mine(paths ...string) []string {
	if p.Home == "" {
		return nil
	}
	return p.under(p.Home, paths...)
}

func (p *Place) env(name string) string {
	if p.Env == nil {
		return ""
	}
	value, _ := p.Env(name)
	return value
}

// application is where programs with a window keep their files.
func (p *Place) application(paths ...string) []string {
	switch {
	case p.OS == "darwin" && p.Home != "":
		return p.under(filepath.Join(p.Home, "Library", "Application Support"), paths...)
	case p.OS == "windows":
		return p.roaming(paths...)
	}
	return p.configured(paths...)
}

func (p *Place) roaming(paths ...string) []string {
	if dir := p.env("APPDATA"); dir != "" {
		return p.under(dir, paths...)
	}
	var out []string
	for _, path := range paths {
		out = append(out, p.mine("AppData/Roaming/"+path)...)
	}
	return out
}

// configured are paths below the user's configuration directory.
func (p *Place) configured(paths ...string) []string {
	if p.Config == "" {
		return nil
	}
	return p.under(p.Config, paths...)
}

func join(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func claudeDesktopFiles(p *Place) []string {
	files := p.application("Claude/claude_desktop_config.json")
	if p.OS != "darwin" && p.OS != "windows" {
		files = append(files, p.configured("claude/claude_desktop_config.json")...)
	}
	return files
}

// claudeCodeFiles: the user's file has the project's own servers too, and they go first.
func claudeCodeFiles(p *Place) []string {
	user := p.mine(".claude.json")
	if dir := p.env("CLAUDE_CONFIG_DIR"); dir != "" {
		user = p.under(dir, ".claude.json")
	}
	return join(p.under(p.Dir, ".mcp.json"), user)
}

func cursorFiles(p *Place) []string {
	return join(p.under(p.Dir, ".cursor/mcp.json"), p.mine(".cursor/mcp.json"))
}

func windsurfFiles(p *Place) []string {
	return p.mine(".codeium/windsurf/mcp_config.json", ".codeium/windsurf-next/mcp_config.json")
}

func geminiFiles(p *Place) []string {
	return join(p.under(p.Dir, ".gemini/settings.json"), p.mine(".gemini/settings.json"))
}

// storage is where an extension of Visual Studio Code, or of Cursor, keeps its files.
func storage(p *Place, path string) []string {
	return p.application("Code/User/globalStorage/"+path, "Cursor/User/globalStorage/"+path)
}

func clineFiles(p *Place) []string {
	return join(storage(p, "saoudrizwan.claude-dev/settings/cline_mcp_settings.json"), p.mine(".cline/data/settings/cline_mcp_settings.json"))
}

func rooFiles(p *Place) []string {
	return join(p.under(p.Dir, ".roo/mcp.json"), storage(p, "rooveterinaryinc.roo-cline/settings/mcp_settings.json"))
}

func kiroFiles(p *Place) []string {
	return join(p.under(p.Dir, ".kiro/settings/mcp.json"), p.mine(".kiro/settings/mcp.json"))
}

func lmStudioFiles(p *Place) []string {
	return p.mine(".lmstudio/mcp.json", ".cache/lm-studio/mcp.json")
}

func copilotCLIFiles(p *Place) []string {
	if dir := p.env("COPILOT_HOME"); dir != "" {
		return p.under(dir, "mcp-config.json")
	}
	return p.mine(".copilot/mcp-config.json")
}

func vscodeFiles(p *Place) []string {
	return join(p.under(p.Dir, ".vscode/mcp.json"), p.application("Code/User/mcp.json"),
		p.under(p.Dir, ".vscode/settings.json"), p.application("Code/User/settings.json"))
}

func zedFiles(p *Place) []string {
	user := p.configured("zed/settings.json")
	switch p.OS {
	case "darwin":
		user = p.mine(".config/zed/settings.json")
	case "windows":
		user = p.roaming("Zed/settings.json")
	}
	return join(p.under(p.Dir, ".zed/settings.json"), user)
}

func opencodeFiles(p *Place) []string {
	var named []string
	if file := p.env("OPENCODE_CONFIG"); file != "" {
		named = p.under(filepath.Dir(file), filepath.Base(file))
	}
	return join(p.under(p.Dir, "opencode.jsonc", "opencode.json"), named, p.configured("opencode/opencode.jsonc", "opencode/opencode.json"))
}

func crushFiles(p *Place) []string {
	return join(p.under(p.Dir, ".crush.json", "crush.json"), p.configured("crush/crush.json"))
}

func codexFiles(p *Place) []string {
	user := p.mine(".codex/config.toml")
	if dir := p.env("CODEX_HOME"); dir != "" {
		user = p.under(dir, "config.toml")
	}
	return join(p.under(p.Dir, ".codex/config.toml"), user)
}

func continueFiles(p *Place) []string {
	of := []string{".continue/config.yaml", ".continue/mcpServers/*.yaml", ".continue/mcpServers/*.yml", ".continue/mcpServers/*.json"}
	return join(p.under(p.Dir, of...), p.mine(of...))
}

func gooseFiles(p *Place) []string {
	if p.OS == "windows" {
		return p.roaming("Block/goose/config/config.yaml")
	}
	return p.configured("goose/config.yaml")
}

func mcporterFiles(p *Place) []string {
	return join(p.under(p.Dir, "config/mcporter.json", "config/mcporter.jsonc"), p.mine(".mcporter/mcporter.json", ".mcporter/mcporter.jsonc"))
}
