package foreign

import (
	"cmp"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// What a key that is not taken over means, where several clients have it.
const (
	noOAuth   = `indus does not sign in with OAuth; put a token into "headers"`
	noApprove = "indus does not ask before a tool is called"
	noSandbox = "the server runs without the client's sandbox"
	noTrust   = "it says what that client asks its user, and indus does not ask"
	noRemote  = "indus starts the server where it runs itself"
)

// dialects are all of them, in alphabetical order. What a row leaves out is as in the
// family that Claude Desktop began: see fill.
func dialects() []*dialect {
	all := []*dialect{
		{ // and what else is a map of servers without any name around it
			name: "agents", title: "a map of servers alone (.agents/mcp.json)", files: "./.agents/mcp.json", only: true,
			where:   [][]string{{}},
			command: "command", joined: true, args: "args", env: "environment", cwd: "cwd", url: "url", headers: "headers",
			kind: "type", stdio: "local", http: "remote", enabled: "enabled",
			timeouts: []timeout{{"timeout", millis, nil}},
			also:     map[string]rule{"command": asEither, "env": asEnv, "transport": asKind, "disabled": asDisabled, "serverUrl": asText("url"), "httpUrl": asText("url"), "uri": asText("url")},
			none:     map[string]string{"oauth": noOAuth},
			vars:     []matcher{curly, envURL, envColon, braced},
		},
		{ // https://ampcode.com/manual#mcp
			name: "amp", title: "Amp", files: "./.amp/settings.jsonc ./.amp/settings.json config:amp/settings.jsonc config:amp/settings.json",
			where: [][]string{{"amp.mcpServers"}}, // one name, with a dot in it
			allow: "includeTools", disabled: "disabled",
			none: map[string]string{"oauth": noOAuth},
			vars: []matcher{plainBraced}, say: sayPlain, lax: true,
		},
		{ // https://antigravity.google/docs/mcp, which knows no variables
			name: "antigravity", title: "Google Antigravity",
			files: "./.agents/mcp_config.json ~/.gemini/config/mcp_config.json ~/.gemini/antigravity/mcp_config.json",
			url:   "serverUrl", disabled: "disabled", deny: "disabledTools", kind: "type",
			also: map[string]rule{"url": unless("serverUrl", asText("url"))},
			none: map[string]string{"oauth": noOAuth, "authProviderType": noOAuth},
		},
		{
			name: "claude-code", title: "Claude Code", files: "./.mcp.json ~/.claude.json|CLAUDE_CONFIG_DIR",
			kind: "type", http: "http", sse: "sse",
			timeouts: []timeout{{"timeout", millis, []string{"call"}}},
			none: map[string]string{
				"headersHelper": `put the header into "headers", as "${cmd:…}"`,
				"oauth":         noOAuth,
			},
			quiet: []string{"description", "alwaysLoad"},
			vars:  []matcher{braced}, say: sayBraced,
			sections: claudeProject, before: otherProjects, // the user's file has the project's own servers too, and they go first
		},
		{ // starts commands only, and replaces nothing in them
			name: "claude-desktop", title: "Claude Desktop", marks: "claude_desktop_config.json",
			files: "app:Claude/claude_desktop_config.json linux=config:claude/claude_desktop_config.json",
			kind:  "type",
		},
		{
			name: "cline", title: "Cline", marks: "cline_mcp_settings.json",
			files: storage("saoudrizwan.claude-dev/settings/cline_mcp_settings.json") + " ~/.cline/data/settings/cline_mcp_settings.json",
			kind:  "type", http: "streamableHttp", sse: "sse", disabled: "disabled",
			timeouts: []timeout{{"timeout", seconds, []string{"call"}}},
			also:     map[string]rule{"transportType": asKind},
			none:     map[string]string{"autoApprove": noApprove, "alwaysAllow": noApprove, "oauth": noOAuth},
			vars:     []matcher{envColon}, say: sayEnvColon, lax: true,
		},
		{
			name: "codex", title: "Codex", files: "./.codex/config.toml ~/.codex/config.toml|CODEX_HOME",
			syntax: tree.TOML, where: [][]string{{"mcp_servers"}},
			cwd: "cwd", headers: "http_headers",
			enabled: "enabled", allow: "enabled_tools", deny: "disabled_tools", noSSE: true,
			timeouts: []timeout{
				{"startup_timeout_sec", seconds, []string{"connect"}}, {"tool_timeout_sec", seconds, []string{"call"}},
			},
			also: map[string]rule{
				"startup_timeout_ms": asTimeout(millis, "connect"), "env_vars": codexVariables,
				"bearer_token_env_var": codexBearer, "env_http_headers": codexHeaders,
			},
			none: map[string]string{
				"required": "indus goes on without a server that does not start", "oauth": noOAuth, "scopes": noOAuth, "oauth_resource": noOAuth,
				"default_tools_approval_mode": noApprove, "tools": noApprove, "supports_parallel_tool_calls": "indus calls in parallel",
				"experimental_environment": noRemote, "environment_id": noRemote,
			},
			quiet: []string{"name", "display_name"},
			adorn: codexAdorn,
		},
		{
			name: "continue", title: "Continue", syntax: tree.YAML, list: true,
			files: blocks("./") + " " + blocks("~/"),
			begin: []field{{"name", "Local Config"}, {"version", "1.0.0"}, {"schema", "v1"}},
			// its headers are in requestOptions
			command: "command", args: "args", env: "env", cwd: "cwd", url: "url",
			kind: "type", stdio: "stdio", http: "streamable-http", sse: "sse",
			timeouts: []timeout{{"connectionTimeout", millis, []string{"connect"}}},
			also:     map[string]rule{"requestOptions": continueOptions, "transport": continueTransport, "headers": asHeaders},
			none:     map[string]string{"apiKey": `put it into "headers", as "Authorization": "Bearer ${NAME}"`, "sourceFile": "it says where that client found the server"},
			quiet:    []string{"faviconUrl"},
			vars:     []matcher{secrets}, say: saySecrets, adorn: continueAdorn,
		},
		{ // https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers: "local" and
			// "stdio" are one, and the latter is what others read too, who share .mcp.json
			name: "copilot-cli", title: "GitHub Copilot CLI", files: "./.mcp.json ./.github/mcp.json ~/.copilot/mcp-config.json|COPILOT_HOME",
			kind: "type", stdio: "stdio", http: "http", sse: "sse", cwd: "cwd", allow: "tools",
			timeouts: []timeout{{"timeout", millis, []string{"call"}}},
			also:     map[string]rule{"tools": asToolsOrAll},
			none:     map[string]string{"oauth": noOAuth, "oauthClientId": noOAuth, "oauthPublicClient": noOAuth},
			vars:     []matcher{braced}, say: sayBraced, lax: true,
			adorn: everyTool,
		},
		{
			name: "crush", title: "Crush", files: "./.crush.json ./crush.json config:crush/crush.json", where: [][]string{{"mcp"}},
			kind: "type", stdio: "stdio", http: "http", sse: "sse", disabled: "disabled",
			allow: "enabled_tools", deny: "disabled_tools", emptyIsAll: true,
			timeouts: []timeout{{"timeout", seconds, []string{"connect", "list"}}},
			none:     map[string]string{"oauth": noOAuth},
			vars:     []matcher{braced, dollar, substitution}, say: sayShell,
			after: filled, adorn: crushAdorn,
		},
		{
			name: "cursor", title: "Cursor", files: "./.cursor/mcp.json ~/.cursor/mcp.json",
			kind: "type", sse: "sse", envFile: "envFile",
			none:  map[string]string{"auth": noOAuth},
			quiet: []string{"description"},
			vars:  []matcher{envColon, places}, say: sayEnvColon, lax: true,
		},
		{ // https://docs.factory.ai/cli/configuration/mcp: the user's file goes first
			name: "factory", title: "Factory Droid", files: "~/.factory/mcp.json ./.factory/mcp.json",
			kind: "type", stdio: "stdio", http: "http", disabled: "disabled", allow: "enabledTools", deny: "disabledTools",
			timeouts: []timeout{{"timeoutMs", millis, []string{"call"}}},
			none:     map[string]string{"oauth": noOAuth},
			vars:     []matcher{braced}, say: sayBraced, lax: true,
		},
		gemini("gemini-cli", "Gemini CLI", "./.gemini/settings.json ~/.gemini/settings.json", timeout{"timeout", millis, nil}),
		{ // "timeout" is in seconds, and SSE is not supported: https://goose-docs.ai/docs/guides/config-files
			name: "goose", title: "Goose", marks: "goose/config/config.yaml",
			files:  "windows=roaming:Block/goose/config/config.yaml unix=config:goose/config.yaml",
			syntax: tree.YAML, where: [][]string{{"extensions"}},
			command: "cmd", args: "args", env: "envs", url: "uri", headers: "headers",
			kind: "type", stdio: "stdio", http: "streamable_http", noSSE: true, enabled: "enabled",
			allow: "available_tools", emptyIsAll: true,
			timeouts: []timeout{{"timeout", seconds, nil}}, whole: true,
			also:  map[string]rule{"env_keys": gooseKeys},
			quiet: []string{"name", "description", "display_name", "bundled"},
			vars:  []matcher{plainBraced}, inHeadersOnly: true, say: sayPlain, adorn: gooseAdorn,
		},
		{ // has a word of its own for streamable HTTP
			name: "indus-agents", title: "indus-agents (Python)", only: true,
			kind: "type", cwd: "cwd", enabled: "enabled", disabled: "disabled",
			timeouts: []timeout{{"timeout", millis, nil}},
			also:     map[string]rule{"transport": asKind},
			vars:     []matcher{braced},
		},
		{ // the settings file of the other editions' command
			name: "indusagi", title: "indusagi", files: "./.indusagi/settings.json ~/.indusagi/settings.json", only: true,
			kind: "kind", cwd: "cwd", enabled: "enabled",
			timeouts: []timeout{{"timeout", millis, nil}},
			also:     map[string]rule{"type": asKind, "transport": asKind, "disabled": asDisabled},
			quiet:    []string{"id", "name"},
			vars:     []matcher{braced},
		},
		{ // https://junie.jetbrains.com/docs/junie-cli-mcp-configuration.html
			name: "junie", title: "JetBrains Junie", files: "./.junie/mcp/mcp.json ~/.junie/mcp/mcp.json", kind: "type",
		},
		opencode("kilo", "Kilo Code", // https://kilo.ai/docs/automate/mcp/using-in-kilo-code
			"./kilo.jsonc ./kilo.json ./.kilo/kilo.jsonc ./.kilo/kilo.json config:kilo/kilo.jsonc config:kilo/kilo.json"),
		roo("kilo-legacy", "Kilo Code (legacy)", "./.kilocode/mcp.json "+storage("kilocode.kilo-code/settings/mcp_settings.json")+
			" ~/.kilocode/cli/global/settings/mcp_settings.json"),
		{ // milliseconds: https://github.com/aws/amazon-q-developer-cli/blob/main/docs/agent-format.md, which became it
			name: "kiro", title: "Kiro", files: "./.kiro/settings/mcp.json ~/.kiro/settings/mcp.json",
			kind: "type", disabled: "disabled", deny: "disabledTools",
			timeouts: []timeout{{"timeout", millis, nil}},
			none:     map[string]string{"autoApprove": noApprove, "oauth": noOAuth},
			vars:     []matcher{plainBraced}, say: sayPlain, lax: true,
		},
		{
			name: "lmstudio", title: "LM Studio", files: "~/.lmstudio/mcp.json ~/.cache/lm-studio/mcp.json", marks: "lm-studio/mcp.json",
			kind:     "type",
			timeouts: []timeout{{"timeout", millis, nil}},
			vars:     []matcher{envColon, places}, say: sayEnvColon, lax: true,
		},
		{ // and kit
			name: "mcphost", title: "mcphost", files: "~/.mcphost.yml ~/.mcphost.json", only: true,
			kind: "type", allow: "allowedTools", deny: "excludedTools", emptyIsAll: true,
			timeouts: []timeout{{"timeout", millis, nil}},
			also:     map[string]rule{"command": asEither, "environment": asEnv, "transport": asKind, "headers": headerLines},
			none:     map[string]string{"oauth": noOAuth, "options": "they are for a part of mcphost itself"},
			quiet:    []string{"name"},
			vars:     []matcher{envURL},
		},
		mcporter(),
		opencode("opencode", "opencode", "./opencode.jsonc ./opencode.json |OPENCODE_CONFIG config:opencode/opencode.jsonc config:opencode/opencode.json"),
		// a fork of Gemini CLI: https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp
		gemini("qwen-code", "Qwen Code", "./.qwen/settings.local.json ./.qwen/settings.json ~/.qwen/settings.json",
			timeout{"timeout", millis, []string{"call"}}, timeout{"discoveryTimeoutMs", millis, []string{"connect", "list"}}),
		roo("roo", "Roo Code", "./.roo/mcp.json "+storage("rooveterinaryinc.roo-cline/settings/mcp_settings.json")),
		{
			name: "vscode", title: "Visual Studio Code",
			files:   "./.vscode/mcp.json app:Code/User/mcp.json ./.vscode/settings.json app:Code/User/settings.json",
			where:   [][]string{{"servers"}, {"mcp", "servers"}},
			envFile: "envFile", cwd: "cwd",
			kind: "type", stdio: "stdio", http: "http", sse: "sse",
			none: map[string]string{
				"oauth": noOAuth, "sandboxEnabled": noSandbox, "sandbox": noSandbox,
				"dev": "indus neither watches nor debugs a server", "gallery": "it says where that client found the server", "version": "it says what that client installed",
			},
			vars: []matcher{inputColon, envColon, places, editor}, say: sayEditor, lax: true,
			before: readInputs, after: socketless,
		},
		{ // https://docs.warp.dev/agents/capabilities/mcp; does not start a server with a variable that is not set
			name: "warp", title: "Warp", files: "./.warp/.mcp.json ~/.warp/.mcp.json",
			cwd: "working_directory", kind: "type",
			quiet: []string{"description", "start_on_launch"},
			vars:  []matcher{plainBraced}, say: sayPlain,
		},
		{
			name: "windsurf", title: "Windsurf", marks: "windsurf/mcp_config.json windsurf-next/mcp_config.json",
			files: "~/.codeium/windsurf/mcp_config.json ~/.codeium/windsurf-next/mcp_config.json",
			url:   "serverUrl", disabled: "disabled", deny: "disabledTools", kind: "type",
			also: map[string]rule{"url": unless("serverUrl", asText("url"))},
			none: map[string]string{"alwaysAllow": noApprove, "autoApprove": noApprove},
			vars: []matcher{envColon, fileColon}, say: sayEnvColon, lax: true,
		},
		{ // "timeout" is in seconds: ContextServerCommand in crates/settings_content/src/project.rs of zed-industries/zed
			name: "zed", title: "Zed", where: [][]string{{"context_servers"}}, marks: "zed/settings.json",
			files:   "./.zed/settings.json linux=config:zed/settings.json darwin=~/.config/zed/settings.json windows=roaming:Zed/settings.json",
			enabled: "enabled", timeouts: []timeout{{"timeout", seconds, []string{"call"}}}, whole: true,
			also:  map[string]rule{"command": zedCommand, "source": zedSource, "settings": zedSettings, "timeout": zedTimeout},
			none:  map[string]string{"remote": noRemote, "oauth": noOAuth},
			adorn: zedAdorn,
		},
	}
	for _, d := range all {
		d.fill()
	}
	return all
}

// fill gives a row what the family has in common.
func (d *dialect) fill() {
	d.syntax = cmp.Or(d.syntax, tree.JSON)
	if d.where == nil {
		d.where = [][]string{{"mcpServers"}}
	}
	if d.command == "" {
		d.command, d.args, d.env = "command", "args", "env"
		d.url, d.headers = cmp.Or(d.url, "url"), cmp.Or(d.headers, "headers")
	}
}

// gemini has a url for each transport: "url" is SSE.
func gemini(name, title, files string, timeouts ...timeout) *dialect {
	return &dialect{
		name: name, title: title, files: files,
		url: "httpUrl", sseURL: "url", cwd: "cwd", kind: "type",
		allow: "includeTools", deny: "excludeTools", timeouts: timeouts,
		none: map[string]string{
			"trust": noTrust, "oauth": noOAuth, "authProviderType": noOAuth,
			"targetAudience": noOAuth, "targetServiceAccount": noOAuth,
		},
		quiet: []string{"description", "extension", "versionNegotiation"},
		vars:  []matcher{braced, dollar, percent}, say: sayBraced, lax: true,
		before: geminiLists,
	}
}

func roo(name, title, files string) *dialect {
	return &dialect{
		name: name, title: title, files: files,
		kind: "type", http: "streamable-http", sse: "sse", disabled: "disabled",
		cwd: "cwd", deny: "disabledTools",
		timeouts: []timeout{{"timeout", seconds, []string{"call"}}},
		none:     map[string]string{"autoApprove": noApprove, "alwaysAllow": noApprove, "watchPaths": "indus does not restart a server because of its files"},
		vars:     []matcher{envColon, places}, say: sayEnvColon, lax: true,
	}
}

func opencode(name, title, files string) *dialect {
	return &dialect{
		name: name, title: title, files: files, where: [][]string{{"mcp"}},
		command: "command", joined: true, env: "environment", cwd: "cwd", url: "url", headers: "headers",
		kind: "type", stdio: "local", http: "remote", enabled: "enabled",
		timeouts: []timeout{{"timeout", millis, []string{"connect", "list"}}},
		none:     map[string]string{"oauth": noOAuth},
		vars:     []matcher{curly}, say: sayCurly, lax: true,
		before: opencodeTools,
	}
}

func mcporter() *dialect {
	address := unless("baseUrl", asText("url"))
	return &dialect{
		name: "mcporter", title: "mcporter", marks: "mcporter.json mcporter.jsonc",
		files: "./config/mcporter.json ./config/mcporter.jsonc ~/.mcporter/mcporter.json ~/.mcporter/mcporter.jsonc",
		url:   "baseUrl", cwd: "cwd", allow: "allowedTools", deny: "blockedTools", cuts: true,
		also: map[string]rule{
			"cwd": mcporterDir, "command": mcporterCommand, "executable": unless("command", mcporterCommand),
			"url": address, "base_url": address, "serverUrl": address, "server_url": address,
			"allowed_tools": asAllow, "blocked_tools": asDeny,
			"bearerToken": bearer(false), "bearer_token": bearer(false), "bearerTokenEnv": bearer(true), "bearer_token_env": bearer(true),
		},
		none: map[string]string{
			"auth": noOAuth, "refresh": noOAuth, "oauthClientId": noOAuth, "oauthClientSecret": noOAuth, "oauthClientSecretEnv": noOAuth,
			"oauthTokenEndpointAuthMethod": noOAuth, "oauthRedirectUrl": noOAuth, "oauthScope": noOAuth, "oauthCommand": noOAuth,
			"tokenCacheDir": noOAuth, "clientName": "indus has a name of its own", "lifecycle": "indus keeps a server while it is used",
			"httpFetch": "indus has a transport of its own",
		},
		quiet: []string{"description", "logging"},
		vars:  []matcher{braced, dollarEnv}, say: sayBraced,
		before: mcporterImports,
	}
}
