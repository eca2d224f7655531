package foreign

import "github.com/indusagi/indus/mcpconfig/internal/tree"

// dialects are all of them, in alphabetical order. Facts about each stand in its
// own function; where two clients of one family differ, the difference is a field.
func dialects() []*dialect {
	return []*dialect{
		agents(), claudeCode(), claudeDesktop(), cline(), codex(), continueDev(), copilotCLI(), crush(),
		cursor(), geminiCLI(), goose(), indusAgents(), indusagi(), kiro(), lmStudio(), mcphost(), mcporter(), opencode(),
		roo(), vscode(), windsurf(), zed(),
	}
}

// What a key that is not taken over means, where several clients have it.
const (
	noOAuth   = `indus does not sign in with OAuth; put a token into "headers"`
	noApprove = "indus does not ask before a tool is called"
	noSandbox = "the server runs without the client's sandbox"
	noTrust   = "it says what that client asks its user, and indus does not ask"
)

// mcpServers is the family that Claude Desktop began.
func mcpServers(name, title string) *dialect {
	return &dialect{
		name: name, title: title, syntax: tree.JSON, where: [][]string{{"mcpServers"}},
		command: "command", args: "args", env: "env", url: "url", headers: "headers",
	}
}

// claudeDesktop starts commands only, and replaces nothing in them.
func claudeDesktop() *dialect {
	d := mcpServers("claude-desktop", "Claude Desktop")
	d.kind = "type"
	d.files = claudeDesktopFiles
	return d
}

func claudeCode() *dialect {
	d := mcpServers("claude-code", "Claude Code")
	d.kind, d.http, d.sse = "type", "http", "sse"
	d.timeouts = []timeout{{"timeout", millis, []string{"call"}}}
	d.none = map[string]string{
		"headersHelper": `put the header into "headers", as "${cmd:…}"`,
		"oauth":         noOAuth,
	}
	d.quiet = []string{"description", "alwaysLoad"}
	d.vars, d.say = []matcher{braced}, sayBraced
	d.sections, d.before = claudeProject, otherProjects
	d.files = claudeCodeFiles
	return d
}

func cursor() *dialect {
	d := mcpServers("cursor", "Cursor")
	d.kind, d.sse = "type", "sse"
	d.envFile = "envFile"
	d.none = map[string]string{"auth": noOAuth}
	d.quiet = []string{"description"}
	d.vars, d.say, d.lax = []matcher{envColon, places}, sayEnvColon, true
	d.files = cursorFiles
	return d
}

func windsurf() *dialect {
	d := mcpServers("windsurf", "Windsurf")
	d.url, d.disabled, d.deny = "serverUrl", "disabled", "disabledTools"
	d.kind = "type"
	d.also = map[string]rule{"url": unless("serverUrl", asText("url"))}
	d.none = map[string]string{"alwaysAllow": noApprove, "autoApprove": noApprove}
	d.vars, d.say, d.lax = []matcher{envColon, fileColon}, sayEnvColon, true
	d.files = windsurfFiles
	return d
}

func cline() *dialect {
	d := mcpServers("cline", "Cline")
	d.kind, d.http, d.sse, d.disabled = "type", "streamableHttp", "sse", "disabled"
	d.timeouts = []timeout{{"timeout", seconds, []string{"call"}}}
	d.also = map[string]rule{"transportType": asKind}
	d.none = map[string]string{"autoApprove": noApprove, "alwaysAllow": noApprove, "oauth": noOAuth}
	d.vars, d.say, d.lax = []matcher{envColon}, sayEnvColon, true
	d.files = clineFiles
	return d
}

func roo() *dialect {
	d := mcpServers("roo", "Roo Code")
	d.kind, d.http, d.sse, d.disabled = "type", "streamable-http", "sse", "disabled"
	d.cwd, d.deny = "cwd", "disabledTools"
	d.timeouts = []timeout{{"timeout", seconds, []string{"call"}}}
	d.none = map[string]string{"autoApprove": noApprove, "alwaysAllow": noApprove, "watchPaths": "indus does not restart a server because of its files"}
	d.vars, d.say, d.lax = []matcher{envColon, places}, sayEnvColon, true
	d.files = rooFiles
	return d
}

func kiro() *dialect {
	d := mcpServers("kiro", "Kiro")
	d.kind, d.disabled, d.deny = "type", "disabled", "disabledTools"
	d.timeouts = []timeout{{"timeout", millis, nil}}
	d.none = map[string]string{"autoApprove": noApprove, "oauth": noOAuth}
	d.vars, d.say, d.lax = []matcher{plainBraced}, sayPlain, true
	d.files = kiroFiles
	return d
}

func lmStudio() *dialect {
	d := mcpServers("lmstudio", "LM Studio")
	d.kind = "type"
	d.timeouts = []timeout{{"timeout", millis, nil}}
	d.vars, d.say, d.lax = []matcher{envColon, places}, sayEnvColon, true
	d.files = lmStudioFiles
	return d
}

func copilotCLI() *dialect {
	d := mcpServers("copilot-cli", "GitHub Copilot CLI")
	d.kind, d.stdio, d.http, d.sse, d.cwd, d.allow = "type", "local", "http", "sse", "cwd", "tools"
	d.timeouts = []timeout{{"timeout", millis, []string{"call"}}}
	d.also = map[string]rule{"tools": asToolsOrAll}
	d.none = map[string]string{"oauth": noOAuth, "oauthClientId": noOAuth, "oauthPublicClient": noOAuth}
	d.vars, d.say, d.lax = []matcher{braced}, sayBraced, true
	d.adorn = everyTool
	d.files = copilotCLIFiles
	return d
}

// geminiCLI has a url for each transport: "url" is SSE.
func geminiCLI() *dialect {
	d := mcpServers("gemini-cli", "Gemini CLI")
	d.url, d.sseURL, d.cwd = "httpUrl", "url", "cwd"
	d.allow, d.deny = "includeTools", "excludeTools"
	d.kind = "type"
	d.timeouts = []timeout{{"timeout", millis, nil}}
	d.none = map[string]string{
		"trust": noTrust, "oauth": noOAuth, "authProviderType": noOAuth,
		"targetAudience": noOAuth, "targetServiceAccount": noOAuth,
	}
	d.quiet = []string{"description", "extension"}
	d.vars, d.say, d.lax = []matcher{braced, dollar, percent}, sayBraced, true
	d.before = geminiLists
	d.files = geminiFiles
	return d
}

func vscode() *dialect {
	return &dialect{
		name: "vscode", title: "Visual Studio Code", syntax: tree.JSON,
		where:   [][]string{{"servers"}, {"mcp", "servers"}},
		command: "command", args: "args", env: "env", envFile: "envFile", cwd: "cwd", url: "url", headers: "headers",
		kind: "type", stdio: "stdio", http: "http", sse: "sse",
		none: map[string]string{
			"oauth": noOAuth, "sandboxEnabled": noSandbox, "sandbox": noSandbox,
			"dev": "indus neither watches nor debugs a server", "gallery": "it says where that client found the server", "version": "it says what that client installed",
		},
		vars: []matcher{inputColon, envColon, places, editor}, say: sayEditor, lax: true,
		before: readInputs, after: socketless,
		files: vscodeFiles,
	}
}

func zed() *dialect {
	return &dialect{
		name: "zed", title: "Zed", syntax: tree.JSON, where: [][]string{{"context_servers"}},
		command: "command", args: "args", env: "env", url: "url", headers: "headers", enabled: "enabled",
		also:  map[string]rule{"command": zedCommand, "source": zedSource, "settings": zedSettings, "timeout": zedTimeout},
		none:  map[string]string{"remote": "indus starts the server where it runs itself", "oauth": noOAuth},
		adorn: zedAdorn, files: zedFiles,
	}
}

func opencode() *dialect {
	return &dialect{
		name: "opencode", title: "opencode", syntax: tree.JSON, where: [][]string{{"mcp"}},
		command: "command", joined: true, env: "environment", cwd: "cwd", url: "url", headers: "headers",
		kind: "type", stdio: "local", http: "remote", enabled: "enabled",
		timeouts: []timeout{{"timeout", millis, []string{"connect", "list"}}},
		none:     map[string]string{"oauth": noOAuth},
		vars:     []matcher{curly}, say: sayCurly, lax: true,
		before: opencodeTools, files: opencodeFiles,
	}
}

// agents is .agents/mcp.json, and what else is a map of servers without any name around it.
func agents() *dialect {
	d := opencode()
	d.name, d.title, d.where = "agents", "a map of servers alone (.agents/mcp.json)", [][]string{{}}
	d.args = "args"
	d.timeouts = []timeout{{"timeout", millis, nil}}
	d.also = map[string]rule{"command": asEither, "env": asEnv, "transport": asKind, "disabled": asDisabled, "serverUrl": asText("url"), "httpUrl": asText("url"), "uri": asText("url")}
	d.vars, d.lax, d.before = []matcher{curly, envURL, envColon, braced}, false, nil
	d.only = true
	d.files = func(p *Place) []string { return p.under(p.Dir, ".agents/mcp.json") }
	return d
}

func crush() *dialect {
	return &dialect{
		name: "crush", title: "Crush", syntax: tree.JSON, where: [][]string{{"mcp"}},
		command: "command", args: "args", env: "env", url: "url", headers: "headers",
		kind: "type", stdio: "stdio", http: "http", sse: "sse", disabled: "disabled",
		allow: "enabled_tools", deny: "disabled_tools", emptyIsAll: true,
		timeouts: []timeout{{"timeout", seconds, []string{"connect", "list"}}},
		none:     map[string]string{"oauth": noOAuth},
		vars:     []matcher{braced, dollar, substitution}, say: sayShell,
		after: filled, adorn: crushAdorn, files: crushFiles,
	}
}

func codex() *dialect {
	return &dialect{
		name: "codex", title: "Codex", syntax: tree.TOML, where: [][]string{{"mcp_servers"}},
		command: "command", args: "args", env: "env", cwd: "cwd", url: "url", headers: "http_headers",
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
			"experimental_environment": "indus starts the server where it runs itself", "environment_id": "indus starts the server where it runs itself",
		},
		quiet: []string{"name", "display_name"},
		adorn: codexAdorn,
		files: codexFiles,
	}
}

func continueDev() *dialect {
	return &dialect{
		name: "continue", title: "Continue", syntax: tree.YAML, where: [][]string{{"mcpServers"}}, list: true,
		begin:   []field{{"name", "Local Config"}, {"version", "1.0.0"}, {"schema", "v1"}},
		command: "command", args: "args", env: "env", cwd: "cwd", url: "url",
		kind: "type", stdio: "stdio", http: "streamable-http", sse: "sse",
		timeouts: []timeout{{"connectionTimeout", millis, []string{"connect"}}},
		also:     map[string]rule{"requestOptions": continueOptions, "transport": continueTransport, "headers": asHeaders},
		none:     map[string]string{"apiKey": `put it into "headers", as "Authorization": "Bearer ${NAME}"`, "sourceFile": "it says where that client found the server"},
		quiet:    []string{"faviconUrl"},
		vars:     []matcher{secrets}, say: saySecrets, adorn: continueAdorn,
		files: continueFiles,
	}
}

func goose() *dialect {
	return &dialect{
		name: "goose", title: "Goose", syntax: tree.YAML, where: [][]string{{"extensions"}},
		command: "cmd", args: "args", env: "envs", url: "uri", headers: "headers",
		kind: "type", stdio: "stdio", http: "streamable_http", sse: "sse", enabled: "enabled",
		allow: "available_tools", emptyIsAll: true,
		timeouts: []timeout{{"timeout", seconds, nil}},
		also:     map[string]rule{"env_keys": gooseKeys},
		quiet:    []string{"name", "description", "display_name", "bundled"},
		vars:     []matcher{plainBraced}, inHeadersOnly: true, say: sayPlain, adorn: gooseAdorn,
		files: gooseFiles,
	}
}

func mcporter() *dialect {
	d := mcpServers("mcporter", "mcporter")
	d.url, d.cwd, d.allow, d.deny = "baseUrl", "cwd", "allowedTools", "blockedTools"
	d.cuts = true
	address := unless("baseUrl", asText("url"))
	d.also = map[string]rule{
		"cwd": mcporterDir, "command": mcporterCommand, "executable": unless("command", mcporterCommand),
		"url": address, "base_url": address, "serverUrl": address, "server_url": address,
		"allowed_tools": asAllow, "blocked_tools": asDeny,
		"bearerToken": bearer(false), "bearer_token": bearer(false), "bearerTokenEnv": bearer(true), "bearer_token_env": bearer(true),
	}
	d.none = map[string]string{
		"auth": noOAuth, "refresh": noOAuth, "oauthClientId": noOAuth, "oauthClientSecret": noOAuth, "oauthClientSecretEnv": noOAuth,
		"oauthTokenEndpointAuthMethod": noOAuth, "oauthRedirectUrl": noOAuth, "oauthScope": noOAuth, "oauthCommand": noOAuth,
		"tokenCacheDir": noOAuth, "clientName": "indus has a name of its own", "lifecycle": "indus keeps a server while it is used",
		"httpFetch": "indus has a transport of its own",
	}
	d.quiet = []string{"description", "logging"}
	d.vars, d.say = []matcher{braced, dollarEnv}, sayBraced
	d.before = mcporterImports
	d.files = mcporterFiles
	return d
}

// mcphost is mcphost and kit.
func mcphost() *dialect {
	d := mcpServers("mcphost", "mcphost")
	d.kind, d.allow, d.deny, d.emptyIsAll = "type", "allowedTools", "excludedTools", true
	d.timeouts = []timeout{{"timeout", millis, nil}}
	d.also = map[string]rule{"command": asEither, "environment": asEnv, "transport": asKind, "headers": headerLines}
	d.none = map[string]string{"oauth": noOAuth, "options": "they are for a part of mcphost itself"}
	d.quiet = []string{"name"}
	d.vars = []matcher{envURL}
	d.only = true
	d.files = func(p *Place) []string { return p.mine(".mcphost.yml", ".mcphost.json") }
	return d
}

// indusAgents is the Python edition, which has a word of its own for streamable HTTP.
func indusAgents() *dialect {
	d := mcpServers("indus-agents", "indus-agents (Python)")
	d.kind, d.cwd, d.enabled, d.disabled = "type", "cwd", "enabled", "disabled"
	d.timeouts = []timeout{{"timeout", millis, nil}}
	d.also = map[string]rule{"transport": asKind}
	d.vars = []matcher{braced}
	d.only = true
	return d
}

// indusagi is the settings file of the other editions' command.
func indusagi() *dialect {
	d := mcpServers("indusagi", "indusagi")
	d.kind, d.cwd, d.enabled = "kind", "cwd", "enabled"
	d.timeouts = []timeout{{"timeout", millis, nil}}
	d.also = map[string]rule{"type": asKind, "transport": asKind, "disabled": asDisabled}
	d.quiet = []string{"id", "name"}
	d.vars = []matcher{braced}
	d.only = true
	d.files = func(p *Place) []string {
		return join(p.under(p.Dir, ".indusagi/settings.json"), p.mine(".indusagi/settings.json"))
	}
	return d
}
