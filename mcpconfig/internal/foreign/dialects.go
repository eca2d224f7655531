package foreign

import (
	"cmp"
	"strings"
	"sync"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// These texts explain a key that is not taken over, if several clients have it.
const (
	noOAuth     = "indus signs in only with OAuth, if the server requires it (indus mcp login)"
	noResource  = "indus uses the value from the server"
	noSecret    = "indus proves itself where it has a secret"
	noOwnTokens = "indus keeps and renews its tokens itself"
	noApprove   = "indus does not ask before a tool is called"
	noTrust     = "it lists questions of that client, and indus does not ask them"
	noRemote    = "indus starts the server where it runs itself"
)

// dialects returns all dialects in alphabetical order, followed by indus itself. For a field that a row leaves out, the
// value of Claude Desktop's format is used: see fill.
var dialects = sync.OnceValue(allDialects)

func allDialects() []*dialect {
	all := []*dialect{
		{ // and any other map of servers without a name around it
			name: "agents", title: "a map of servers alone (.agents/mcp.json)", files: "./.agents/mcp.json",
			paths:   [][]string{{}},
			command: "command", args: "args", env: "environment env", cwd: "cwd", url: "url", headers: "headers",
			kind: "type transport", enabled: "enabled", disabled: "disabled",
			timeouts: []timeout{{"timeout", inMillis, nil}},
			extraRules: map[string]rule{"command": asEither, "serverUrl": asText("url"), "httpUrl": asText("url"),
				"uri": asText("url")},
			vars: []string{"{env:VAR}", "{file:PATH}", "${env://VAR:-default}", "${env:VAR}", "${VAR:-default}"},
		},
		{ // https://ampcode.com/manual#mcp
			name: "amp", title: "Amp",
			files: "./.amp/settings.jsonc ./.amp/settings.json config:amp/settings.jsonc config:amp/settings.json",
			paths: [][]string{{"amp.mcpServers"}}, // one name, with a dot in it
			allow: "includeTools", disabled: "disabled",
			vars: []string{"${VAR}"}, optional: true,
		},
		{ // https://antigravity.google/docs/mcp, without variables
			name: "antigravity", title: "Google Antigravity",
			files: "./.agents/mcp_config.json ~/.gemini/config/mcp_config.json ~/.gemini/antigravity/mcp_config.json",
			url:   "serverUrl url", disabled: "disabled", deny: "disabledTools", kind: "type",
			withoutMeaning: map[string]string{noOAuth: "authProviderType"},
		},
		{
			name: "claude-code", title: "Claude Code", files: "./.mcp.json ~/.claude.json|CLAUDE_CONFIG_DIR",
			kind: "type", http: "http",
			timeouts:       []timeout{{"timeout", inMillis, []string{"call"}}},
			withoutMeaning: map[string]string{`write the header into "headers", as "${cmd:…}"`: "headersHelper"},
			ignored:        "description alwaysLoad",
			vars:           []string{"${VAR:-default}"},
			sections:       claudeProject, before: remarkOtherProjects, // with the project's own servers, which go first
		},
		{ // starts commands only, and has no variables
			name: "claude-desktop", title: "Claude Desktop", pathEnd: "claude_desktop_config.json", commandsOnly: true,
			files: "app:Claude/claude_desktop_config.json linux=config:claude/claude_desktop_config.json",
			kind:  "type",
		},
		clineDialect("cline", "Cline", storage("saoudrizwan.claude-dev/settings/cline_mcp_settings.json")),
		clineDialect("cline-cli", "Cline CLI", "~/.cline/data/settings/cline_mcp_settings.json"),
		{
			name: "codex", title: "Codex", files: "./.codex/config.toml ~/.codex/config.toml|CODEX_HOME",
			syntax: tree.TOML, paths: [][]string{{"mcp_servers"}},
			cwd: "cwd", headers: "http_headers",
			enabled: "enabled", allow: "enabled_tools", deny: "disabled_tools",
			timeouts: []timeout{
				{"startup_timeout_sec", inSeconds, []string{"connect"}}, {"tool_timeout_sec", inSeconds, []string{"call"}},
			},
			forwardedVars: "env_vars", headerVars: "env_http_headers", bearerVar: "bearer_token_env_var",
			extraRules: map[string]rule{"startup_timeout_ms": asTimeout(inMillis, "connect"), "scopes": asScopes},
			withoutMeaning: map[string]string{
				"indus goes on without a server that does not start": "required",
				noResource:                "oauth_resource",
				noApprove:                 "default_tools_approval_mode tools",
				"indus calls in parallel": "supports_parallel_tool_calls",
				noRemote:                  "experimental_environment environment_id",
			},
			ignored: "name display_name",
		},
		{
			name: "continue", title: "Continue", syntax: tree.YAML, idKey: "name",
			files:   blocks("./") + " " + blocks("~/"),
			begin:   []field{{"name", "Local Config"}, {"version", "1.0.0"}, {"schema", "v1"}},
			command: "command", args: "args", env: "env", cwd: "cwd", url: "url",
			headers: "headers", headersIn: "requestOptions",
			kind: "type", stdio: "stdio", http: "streamable-http",
			timeouts:   []timeout{{"connectionTimeout", inMillis, []string{"connect"}}},
			extraRules: map[string]rule{"requestOptions": continueOptions, "transport": continueTransport},
			withoutMeaning: map[string]string{
				`write it into "headers", as "Authorization": "Bearer ${NAME}"`: "apiKey",
				"it records where that client found the server":                 "sourceFile",
			},
			ignored: "faviconUrl",
			vars:    []string{"${{ secrets.VAR }}"},
		},
		{ // https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers: "local" and
			// "stdio" mean the same, and "stdio" is also read by other clients that share .mcp.json
			name: "copilot-cli", title: "GitHub Copilot CLI",
			files: "./.mcp.json ./.github/mcp.json ~/.copilot/mcp-config.json|COPILOT_HOME",
			kind:  "type", stdio: "stdio", http: "http", cwd: "cwd", allow: "tools",
			timeouts:  []timeout{{"timeout", inMillis, []string{"call"}}},
			starIsAll: true, withoutMeaning: map[string]string{noSecret: "oauthPublicClient"},
			extraRules: map[string]rule{"oauthClientId": asOAuthText("clientId")},
			vars:       []string{"${VAR:-default}"}, optional: true,
		},
		{
			name: "crush", title: "Crush",
			files: "./.crush.json ./crush.json config:crush/crush.json", paths: [][]string{{"mcp"}},
			kind: "type", stdio: "stdio", http: "http", disabled: "disabled",
			allow: "enabled_tools", deny: "disabled_tools", emptyIsAll: true,
			timeouts:       []timeout{{"timeout", inSeconds, []string{"connect", "list"}}},
			vars:           []string{"${VAR:-default}", "$VAR", "$(COMMAND)"},
			noEmptyHeaders: true,
		},
		{
			name: "cursor", title: "Cursor", files: "./.cursor/mcp.json ~/.cursor/mcp.json",
			kind: "type", envFile: "envFile",
			extraRules: map[string]rule{"auth": asOAuth},
			ignored:    "description",
			vars:       []string{"${env:VAR}", "${userHome}"}, optional: true,
		},
		{ // https://docs.factory.ai/cli/configuration/mcp: the user's file goes first
			name: "factory", title: "Factory Droid", files: "~/.factory/mcp.json ./.factory/mcp.json",
			kind: "type", stdio: "stdio", http: "http", disabled: "disabled", allow: "enabledTools", deny: "disabledTools",
			timeouts: []timeout{{"timeoutMs", inMillis, []string{"call"}}},
			vars:     []string{"${VAR:-default}"}, optional: true,
		},
		geminiDialect("gemini-cli", "Gemini CLI", "./.gemini/settings.json ~/.gemini/settings.json",
			timeout{"timeout", inMillis, nil}),
		{ // "timeout" is in seconds, and SSE is not supported: https://goose-docs.ai/docs/guides/config-files
			name: "goose", title: "Goose", pathEnd: "goose/config/config.yaml",
			files:  "windows=roaming:Block/goose/config/config.yaml unix=config:goose/config.yaml",
			syntax: tree.YAML, paths: [][]string{{"extensions"}},
			command: "cmd", args: "args", env: "envs", url: "uri", headers: "headers",
			kind: "type", stdio: "stdio", http: "streamable_http", enabled: "enabled",
			allow: "available_tools", emptyIsAll: true,
			timeouts:      []timeout{{"timeout", inSeconds, nil}},
			forwardedVars: "env_keys", keepsSecrets: true,
			ignored: "name description display_name bundled",
			vars:    []string{"${VAR}"}, inHeadersOnly: true, extra: gooseFields,
		},
		{ // has its own word for streamable HTTP
			name: "indus-agents", title: "indus-agents (Python)",
			kind: "type transport", http: "streamable-http", cwd: "cwd", enabled: "enabled", disabled: "disabled",
			timeouts: []timeout{{"timeout", inMillis, nil}},
			vars:     []string{"${VAR:-default}"},
		},
		{ // the settings file of the command of the other editions; its URLs are of SSE
			name: "indusagi", title: "indusagi", files: "./.indusagi/settings.json ~/.indusagi/settings.json",
			idKey: "id", commandsOnly: true,
			kind: "kind type transport", stdio: "stdio", cwd: "cwd", enabled: "enabled", disabled: "disabled",
			timeouts:   []timeout{{"timeout", inMillis, nil}},
			extraRules: map[string]rule{"oauth": asOAuth},
			ignored:    "name",
			vars:       []string{"${VAR:-default}"},
		},
		{ // https://junie.jetbrains.com/docs/junie-cli-mcp-configuration.html
			name: "junie", title: "JetBrains Junie", files: "./.junie/mcp/mcp.json ~/.junie/mcp/mcp.json", kind: "type",
		},
		opencodeDialect("kilo", "Kilo Code", // https://kilo.ai/docs/automate/mcp/using-in-kilo-code
			"./kilo.jsonc ./kilo.json ./.kilo/kilo.jsonc ./.kilo/kilo.json config:kilo/kilo.jsonc config:kilo/kilo.json"),
		rooDialect("kilo-legacy", "Kilo Code (legacy)",
			"./.kilocode/mcp.json "+storage("kilocode.kilo-code/settings/mcp_settings.json")+
				" ~/.kilocode/cli/global/settings/mcp_settings.json"),
		{ // milliseconds, like its predecessor: https://github.com/aws/amazon-q-developer-cli/blob/main/docs/agent-format.md
			name: "kiro", title: "Kiro", files: "./.kiro/settings/mcp.json ~/.kiro/settings/mcp.json",
			kind: "type", disabled: "disabled", deny: "disabledTools",
			timeouts:       []timeout{{"timeout", inMillis, nil}},
			withoutMeaning: map[string]string{noApprove: "autoApprove"},
			vars:           []string{"${VAR}"}, optional: true,
		},
		{
			name: "lmstudio", title: "LM Studio",
			files: "~/.lmstudio/mcp.json ~/.cache/lm-studio/mcp.json", pathEnd: "lm-studio/mcp.json",
			kind:     "type",
			timeouts: []timeout{{"timeout", inMillis, nil}},
			vars:     []string{"${env:VAR}", "${userHome}"}, optional: true,
		},
		{ // and kit
			name: "mcphost", title: "mcphost", files: "~/.mcphost.yml ~/.mcphost.json", syntax: tree.YAML,
			headerLines: true,
			command:     "command", args: "args", env: "env environment", url: "url", headers: "headers",
			kind: "type transport", allow: "allowedTools", deny: "excludedTools", emptyIsAll: true,
			timeouts:       []timeout{{"timeout", inMillis, nil}},
			extraRules:     map[string]rule{"command": asEither, "headers": asHeaderLines},
			withoutMeaning: map[string]string{"they are for a part of mcphost itself": "options"},
			ignored:        "name",
			vars:           []string{"${env://VAR:-default}"},
		},
		mcporterDialect(),
		opencodeDialect("opencode", "opencode",
			"./opencode.jsonc ./opencode.json |OPENCODE_CONFIG config:opencode/opencode.jsonc config:opencode/opencode.json"),
		// a fork of Gemini CLI: https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp
		geminiDialect("qwen-code", "Qwen Code", "./.qwen/settings.local.json ./.qwen/settings.json ~/.qwen/settings.json",
			timeout{"timeout", inMillis, []string{"call"}},
			timeout{"discoveryTimeoutMs", inMillis, []string{"connect", "list"}}),
		rooDialect("roo", "Roo Code", "./.roo/mcp.json "+storage("rooveterinaryinc.roo-cline/settings/mcp_settings.json")),
		{
			name: "vscode", title: "Visual Studio Code",
			files:   "./.vscode/mcp.json app:Code/User/mcp.json ./.vscode/settings.json app:Code/User/settings.json",
			paths:   [][]string{{"servers"}, {"mcp", "servers"}},
			envFile: "envFile", cwd: "cwd",
			kind: "type", stdio: "stdio", http: "http",
			withoutMeaning: map[string]string{
				"indus neither watches nor debugs a server":     "dev",
				"it records where that client found the server": "gallery",
				"it records what that client installed":         "version",
			},
			extraRules: map[string]rule{"sandboxEnabled": vscodeSandbox, "sandbox": vscodeSandboxRules},
			vars:       []string{"${input:ID}", "${env:VAR}", "${userHome}", "${config:…}"}, optional: true,
			before: readInputs, after: refuseSockets,
		},
		{ // https://docs.warp.dev/agents/capabilities/mcp; starts no server that has an unset variable
			name: "warp", title: "Warp", files: "./.warp/.mcp.json ~/.warp/.mcp.json",
			cwd: "working_directory", kind: "type",
			ignored: "description start_on_launch",
			vars:    []string{"${VAR}"},
		},
		{
			name: "windsurf", title: "Windsurf", pathEnd: "windsurf/mcp_config.json windsurf-next/mcp_config.json",
			files: "~/.codeium/windsurf/mcp_config.json ~/.codeium/windsurf-next/mcp_config.json",
			url:   "serverUrl url", disabled: "disabled", deny: "disabledTools", kind: "type",
			withoutMeaning: map[string]string{noApprove: "alwaysAllow autoApprove"},
			vars:           []string{"${env:VAR}", "${file:PATH}"}, optional: true,
		},
		{ // "timeout" is in seconds: ContextServerCommand in crates/settings_content/src/project.rs of zed-industries/zed
			name: "zed", title: "Zed", paths: [][]string{{"context_servers"}}, pathEnd: "zed/settings.json",
			files: "./.zed/settings.json linux=config:zed/settings.json darwin=~/.config/zed/settings.json " +
				"windows=roaming:Zed/settings.json",
			enabled: "enabled", timeouts: []timeout{{"timeout", inSeconds, []string{"call"}}},
			extraRules: map[string]rule{"command": zedCommand, "source": zedSource, "settings": zedSettings,
				"timeout": zedTimeout},
			withoutMeaning: map[string]string{noRemote: "remote"},
			extra:          zedFields,
		},
		nativeDialect(),
	}
	for _, d := range all {
		d.setDefaults()
	}
	return all
}

// setDefaults sets the fields that a dialect has in common with Claude Desktop's format.
func (d *dialect) setDefaults() {
	d.syntax = cmp.Or(d.syntax, tree.JSON)
	if d.paths == nil {
		d.paths = [][]string{{"mcpServers"}}
	}
	if d.command == "" {
		d.command, d.args, d.env = "command", "args", "env"
		d.url, d.headers = cmp.Or(d.url, "url"), cmp.Or(d.headers, "headers")
	}
	d.otherKeys = map[string]string{}
	for _, key := range []*string{&d.env, &d.url, &d.kind, &d.allow, &d.deny} {
		words := strings.Fields(*key)
		for i, word := range words {
			if *key = words[0]; i > 0 {
				d.otherKeys[word] = words[0]
			}
		}
	}
}

// geminiDialect returns a dialect with a key for the url of each transport: "url" is SSE.
func geminiDialect(name, title, files string, timeouts ...timeout) *dialect {
	return &dialect{
		name: name, title: title, files: files,
		url: "httpUrl", sseURL: "url", cwd: "cwd", kind: "type",
		allow: "includeTools", deny: "excludeTools", timeouts: timeouts,
		withoutMeaning: map[string]string{noTrust: "trust", noOAuth: "authProviderType targetAudience targetServiceAccount"},
		ignored:        "description extension versionNegotiation",
		vars:           []string{"${VAR:-default}", "$VAR", "%VAR%"}, optional: true,
		before: geminiLists,
	}
}

// clineDialect returns the dialect of Cline, whose extension and command line have a file each.
func clineDialect(name, title, files string) *dialect {
	return &dialect{
		name: name, title: title, pathEnd: "cline_mcp_settings.json", files: files,
		kind: "type transportType", http: "streamableHttp", disabled: "disabled",
		timeouts:       []timeout{{"timeout", inSeconds, []string{"call"}}},
		withoutMeaning: map[string]string{noApprove: "autoApprove alwaysAllow"},
		vars:           []string{"${env:VAR}"}, optional: true,
	}
}

func rooDialect(name, title, files string) *dialect {
	return &dialect{
		name: name, title: title, files: files,
		kind: "type", http: "streamable-http", disabled: "disabled",
		cwd: "cwd", deny: "disabledTools",
		timeouts: []timeout{{"timeout", inSeconds, []string{"call"}}},
		withoutMeaning: map[string]string{
			noApprove: "autoApprove alwaysAllow",
			"indus does not restart a server because of its files": "watchPaths",
		},
		vars: []string{"${env:VAR}", "${userHome}"}, optional: true,
	}
}

func opencodeDialect(name, title, files string) *dialect {
	return &dialect{
		name: name, title: title, files: files, paths: [][]string{{"mcp", "servers"}, {"mcp"}},
		command: "command", joined: true, env: "environment", cwd: "cwd", url: "url", headers: "headers",
		kind: "type", stdio: "local", http: "remote", enabled: "enabled", disabled: "disabled",
		timeouts:   []timeout{{"timeout", inMillis, []string{"connect", "list"}}},
		extraRules: map[string]rule{"timeout": opencodeTimeout, "protocol": opencodeProtocol},
		ignored:    "codemode",
		vars:       []string{"{env:VAR}", "{file:PATH}"}, optional: true,
		before: opencodeForm, writtenAt: opencodePlace,
	}
}

func mcporterDialect() *dialect {
	return &dialect{
		name: "mcporter", title: "mcporter", pathEnd: "mcporter.json mcporter.jsonc",
		files: "./config/mcporter.json ./config/mcporter.jsonc ~/.mcporter/mcporter.json ~/.mcporter/mcporter.jsonc",
		url:   "baseUrl url base_url serverUrl server_url", cwd: "cwd",
		allow: "allowedTools allowed_tools", deny: "blockedTools blocked_tools", cutsLine: true,
		extraRules: map[string]rule{
			"auth": mcporterAuth, "oauthClientId": asOAuthText("clientId"),
			"oauthClientSecret": asOAuthText("clientSecret"), "oauthClientSecretEnv": mcporterSecret,
			"oauthScope": asScopes, "oauthRedirectUrl": asRedirect,
			"cwd": mcporterDir, "command": mcporterCommand, "executable": unlessPresent("command", mcporterCommand),
			"bearerToken": asBearer(false), "bearer_token": asBearer(false),
			"bearerTokenEnv": asBearer(true), "bearer_token_env": asBearer(true),
		},
		withoutMeaning: map[string]string{
			noOwnTokens:                             "refresh oauthTokenEndpointAuthMethod oauthCommand tokenCacheDir",
			"indus has a name of its own":           "clientName",
			"indus keeps a server while it is used": "lifecycle",
			"indus has a transport of its own":      "httpFetch",
		},
		ignored: "description logging",
		vars:    []string{"${VAR:-default}", "$env:VAR"},
		before:  mcporterImports,
	}
}
