package fields

import "sync"

// Row returns the fields of a row, which must not be changed. The order is the order in which rows are written.
var Row = sync.OnceValue(rowFields)

func rowFields() []Field {
	return []Field{
		{Name: "id", Kind: aName, Cover: Effective, Alias: true, About: "The name of the server, in a list of rows."},
		{Name: "name", Kind: aName, Cover: Effective, Alias: true, About: "The same as `id`."},
		{Name: "command", Kind: anyText, Cover: Replaced,
			About: "The program, looked up in `PATH`. `~/` in front is the home directory. Arguments belong into `args`."},
		{Name: "args", Kind: arguments, Cover: Replaced, Side: Process, About: "The arguments of the program."},
		{Name: "env", Kind: variables, Side: Process, About: "Variables that the program gets beside `PATH`, `HOME` and " +
			"the like. Write secrets as `${VAR}`, `${file:…}` or `${cmd:…}`."},
		{Name: "envFile", Kind: anyText, Side: Process,
			About: "A file of `NAME=VALUE` lines, which the program gets too. `env` has precedence."},
		{Name: "cwd", Kind: anyText, Cover: Replaced, Side: Process, About: "The directory in which the program starts. " +
			"Without it, a project's server starts in the project, and any other in an empty directory of its own. " +
			"`${workspaceFolder}` is the project: with it as `cwd`, a server of your own file waits for approval in each " +
			"project; as an argument it does not."},
		{Name: "lock", Kind: aSwitch.with(`"default": false`), Side: Process, About: "`true`: the package that `npx` or " +
			"another launcher would run is started in the version of the lock file beside this file, from the store of " +
			"indus. `indus mcp lock` writes both ([locking.md](locking.md))."},
		{Name: "inheritEnv", Kind: aSwitch.with(`"default": false`), Side: Process,
			About: "`true`: the program gets the whole environment of indus, except the keys of indus."},
		{Name: "sandbox", Kind: aBox, Cover: Confining, Side: Process, Members: box(), About: "The reach of the " +
			"program ([sandbox.md](sandbox.md)). `strict`: its own files, the system's and a home of its own, and no host. " +
			"`package`: the registries of npx, uvx and the like too. `off`: everything that you may. An object adds to " +
			"`strict` or `package`. Default: `sandboxDefault`. A project's server cannot be `off` here, nor have more than " +
			"`sandboxProject` of your own file."},
		{Name: "url", Kind: anyText, Cover: Replaced, About: "The address of a server that is called over HTTP."},
		{Name: "headers", Kind: headers, Side: Remote,
			About: "Headers of every request. Write secrets as `${VAR}`, `${file:…}` or `${cmd:…}`."},
		{Name: "oauth", Kind: Kind{"`false`, or an object", 0, signInSchema, ""}, Side: Remote, Members: signIn(),
			About: "How to sign in ([signing-in.md](signing-in.md)). Without it, indus finds out everything. `false`: no " +
				"sign-in."},
		{Name: "tls", Kind: anObject.with(`"dependentRequired": {"cert": ["key"], "key": ["cert"]}`), Side: Remote,
			About: "Certificates of a server at an `https://` URL. Relative paths begin at the file's directory, or at the " +
				"directory around its `.indusvx`.",
			Members: []Field{
				{Name: "ca", Kind: aPath, Cover: Decisive,
					About: "A PEM file of the authorities of the server's certificate, in place of the system's."},
				{Name: "cert", Kind: aPath, Cover: Decisive,
					About: "A PEM file of the certificate, with its chain, that is sent to the server on request."},
				{Name: "key", Kind: aPath, Cover: Decisive, About: "A PEM file of the private key."},
			}},
		{Name: "forwardHeaders", Kind: forwarded, Side: Remote, About: "Headers of a client's request that the server gets " +
			"with that request. Credentials and headers of the connection or the protocol are refused."},
		{Name: "authorization", Kind: Kind{"`forward`", '"', `"const": "forward"`, ""}, Side: Remote,
			About: "`forward`: the server gets the client's own `Authorization` header with its request. Use it only for a " +
				"server that accepts the same tokens as `indus serve`."},
		{Name: "transport", Kind: aKind, Cover: Effective, Alias: true, About: "How the server is reached. Default: a " +
			"`command` is `stdio`; a `url` is streamable HTTP, which falls back to SSE."},
		{Name: "type", Kind: aKind, Cover: Effective, About: "The same as `transport`."},
		{Name: "era", Kind: oneWord(0, "`auto`, `legacy` or `modern`", "auto", "legacy", "modern").with(`"default": "auto"`),
			Cover: Uncovered, About: "The protocol of the server. `legacy` is MCP before 2026-07-28, which begins with a " +
				"handshake. Without it, indus asks the server, which a few servers do not survive."},
		{Name: "timeout", Cover: Uncovered, Kind: Kind{"duration, or an object", 0, timeoutSchema, ""}, Members: []Field{
			{Name: "connect", Kind: aDuration, About: "From start to ready. Default: 30 s, for `npx` and the like 2 min."},
			{Name: "list", Kind: aDuration, About: "A whole listing. Default: 30 s."},
			{Name: "call", Kind: aDuration, About: "A call since its last progress. Default: 60 s."},
			{Name: "total", Kind: aDuration, About: "A whole call. Default: 10 min."},
			{Name: "queue", Kind: aDuration, About: "The wait of a request for its turn. Default: 10 s."},
		}, About: "The longest time for connecting, for listing, and for a call since its last progress. An object has a " +
			"time for each."},
		{Name: "lazy", Kind: aSwitch.with(`"default": false`), Cover: Uncovered,
			About: "`true`: `indus serve` starts the server at its first use. Until then it lists what it knows of it."},
		{Name: "idle", Kind: aDuration, Cover: Uncovered, About: "How long `indus serve` keeps the server started without " +
			"a request, a subscription, a task or an open question. The next use starts it again. Default: for good."},
		{Name: "per", Kind: Kind{"`principal`", '"', `"const": "principal"`, ""}, About: "Each principal has a connection " +
			"of its own: a process, or a session with its own credentials ([processes.md](processes.md))."},
		{Name: "instances", Kind: wholeNumber('0', "1", "64").with(`"default": 1`), Side: Process,
			About: "The highest number of processes of the server that take calls. The server must keep nothing between two " +
				"requests."},
		{Name: "single", Kind: aSwitch.with(`"default": false`), Cover: Uncovered, Side: Process,
			About: "`true`: the server has one process in a cluster of `indus serve` ([scaling.md](scaling.md)). It does not " +
				"count in a project's file that was only discovered."},
		{Name: "maxPrincipals", Kind: wholeNumber('0', "1", "100000").with(`"default": 64`), Cover: Uncovered,
			About: "With `per`: how many principals have a connection at a time. The next one takes the place of the one " +
				"that is idle for the longest time, or waits."},
		{Name: "maxConcurrent", Kind: wholeNumber('0', "1", "100000"), Cover: Uncovered,
			About: "How many calls are in flight at a time. The " +
				"others wait for their turn, principals by turns. Default: no bound."},
		{Name: "maxQueue", Kind: wholeNumber('0', "0", "100000").with(`"default": 100`), Cover: Uncovered,
			About: "With `maxConcurrent`: how many wait; the next one fails at once."},
		{Name: "tools", Kind: anObject, Members: []Field{
			{Name: "allow", Kind: admitted, About: "The tools that are mounted. Default: all."},
			{Name: "deny", Kind: patterns, About: "The tools that are not mounted. It overrides `allow`."},
			{Name: "rename", Kind: byTool, About: "By the server's name of a tool, the name that it gets here. No two tools " +
				"may get the same name."},
			{Name: "describe", Kind: byTool, About: "By the server's name of a tool, a description in place of its own."},
		}, About: "The tools of the server that are mounted, and their names. Patterns take the server's own names."},
		{Name: "changes", Kind: onChange, Cover: Effective, About: changesAbout},
		{Name: "profile", Kind: profile(), Cover: Uncovered, About: "The models for which the schemas of the server's " +
			"tools are shaped ([schemas.md](schemas.md)). Default: as the program that mounts the server decides."},
		{Name: "enabled", Kind: aSwitch.with(`"default": true`), Cover: Effective,
			About: "`false` switches the server off, and the servers of this name in other files."},
		{Name: "disabled", Kind: aSwitch.with(`"default": false`), Cover: Effective, Alias: true,
			About: "The opposite of `enabled`."},
	}
}

const changesAbout = "What to do with a tool that changed after it was approved " +
	"([changed-tools.md](changed-tools.md)): `accept` (default), `hold` it until `indus mcp accept`, or `deny` it. " +
	"At the top of a file it is for all servers of the file without a value of their own. A project's file cannot " +
	"lower the value of your own files."

// box returns the fields of "sandbox".
func box() []Field {
	return []Field{
		{Name: "base", Kind: oneWord(0, "`strict` or `package`", "strict", "package"), Cover: Confining,
			About: "The sandbox to which the other fields add. Default: `strict`."},
		{Name: "read", Kind: paths, Cover: Confining, About: "Files and directories that can be read and executed. " +
			"`~/` in front is the home directory. Other paths begin at the file's directory, or at the directory around its " +
			"`.indusvx`."},
		{Name: "write", Kind: paths, Cover: Confining, About: "Files and directories that can be changed, and read."},
		{Name: "hosts", Kind: hosts, Cover: Confining, About: "Hosts with their TCP port: `api.github.com:443`, " +
			"`*.example.com:443`, `10.1.2.3:5432`, `[::1]:80`, `localhost:5432` (each loopback address), `*:443` (each " +
			"public address)."},
		{Name: "listen", Kind: ports, Cover: Confining, About: "TCP ports that can be opened. 0 is any free port."},
		{Name: "sockets", Kind: paths, Cover: Confining, About: "Unix stream sockets to which it can connect, by path."},
		{Name: "limits", Kind: anObject, Cover: Confining, Members: []Field{
			{Name: "files", Kind: wholeNumber('0', "16", "1048576"), Cover: Confining, About: "Open files of a process."},
			{Name: "memory", Kind: aMemory, Cover: Confining, About: "Memory of all its processes, such as `1GiB`."},
			{Name: "processes", Kind: wholeNumber('0', "1", "100000"), Cover: Confining,
				About: "Processes and threads together."},
		}, About: "Bounds. Default: none."},
		{Name: "home", Kind: oneWord(0, "`private` or `real`", "private", "real"), Cover: Confining,
			About: "`private` (default): `HOME` and `TMPDIR` are directories of its own, which stay. `real`: `HOME` is " +
				"yours, and the server can use the paths of `read` and `write` in it."},
		{Name: "user", Kind: aText, Cover: Confining, About: "If indus runs as root, the user that the server runs as. " +
			"Without it, root starts no server in a sandbox."},
		{Name: "proc", Kind: aSwitch, Cover: Confining,
			About: "`false`: it cannot read `/proc`. Some runtimes do not start then. Default: `true`."},
		{Name: "required", Kind: aSwitch, Cover: Confining, About: "`false`: it starts even if this system cannot enforce " +
			"all of its sandbox. Default: `true`."},
	}
}

// timeoutSchema and signInSchema stand around the schema of their members.
const (
	timeoutSchema = `"anyOf": [{"$ref": "#/$defs/duration"}, {"$members": true}]`
	signInSchema  = `"anyOf": [{"const": false}, {"$members": true, ` +
		`"dependentRequired": {"clientSecret": ["clientId"], "privateKey": ["clientId"], "privateKeyId": ["privateKey"]}, ` +
		`"allOf": [{"not": {"required": ["clientSecret", "privateKey"]}}, ` +
		`{"not": {"required": ["redirectPort", "redirectUri"]}}, ` +
		`{"if": {"required": ["grant"], "properties": {"grant": {"const": "client_credentials"}}}, ` +
		`"then": {"required": ["clientId"], "anyOf": [{"required": ["privateKey"]}, ` +
		`{"required": ["clientSecret", "issuer"]}]}}, ` +
		`{"if": {"required": ["grant"], "properties": {"grant": {"const": "token_exchange"}}}, ` +
		`"then": {"required": ["clientId", "subjectToken", "issuer"]}, ` +
		`"else": {"properties": {"subjectToken": false, "subjectTokenType": false, "identityProvider": false}}}]}]`
)

// signIn returns the fields of "oauth".
func signIn() []Field {
	return []Field{
		{Name: "clientId", Kind: aText, About: "The id of a client that was registered by hand. Without it, indus " +
			"registers itself."},
		{Name: "clientSecret", Kind: aText, About: "The secret of that client. Write it as `${VAR}`, `${file:…}` or " +
			"`${cmd:…}`."},
		{Name: "clientMetadataUrl", Kind: anAddress, Cover: Decisive,
			About: "The address of your client ID metadata document, which is then the client id."},
		{Name: "scopes", Kind: manyWords, About: "The scopes to request, in place of the server's: a list, or words in " +
			"one text."},
		{Name: "redirectPort", Kind: Kind{"port", 0, `"type": "integer", "minimum": 1, "maximum": 65535`, ""},
			About: "The browser returns to this port of `127.0.0.1` (`/callback`). Default: any port. Callers of `indus " +
				"serve --auth` return to [another address](signing-in.md#callers-of-indus-serve)."},
		{Name: "redirectUri", Kind: loopback, About: "The whole redirect address, in place of `redirectPort`, such as " +
			"`http://localhost:8085/callback`. Without a port it is any port."},
		{Name: "account", Kind: aText, About: "Rows with the same URL and account share a sign-in. Default: each row has " +
			"its own."},
		{Name: "issuer", Kind: anAddress, Cover: Decisive, About: "The only authorization server to sign in at. Default: " +
			"any that the server names. A `clientSecret` goes to the first that got it, and to no other."},
		{Name: "grant", Kind: oneWord(0, "`authorization_code`, `client_credentials` or `token_exchange`",
			"authorization_code", "client_credentials", "token_exchange"),
			About: "`authorization_code` (default): a person signs in. `client_credentials`: the client signs in with its " +
				"secret or key. `token_exchange`: with `subjectToken`."},
		{Name: "privateKey", Kind: aText, About: "A private key in PEM (RSA, EC, Ed25519) in place of `clientSecret` " +
			"(`private_key_jwt`). Write it as `${file:…}` or `${cmd:…}`."},
		{Name: "privateKeyId", Kind: aText, About: "The `kid` of that key, if it has one."},
		{Name: "subjectToken", Kind: aText, About: "The token to exchange (RFC 8693). Write it as `${file:…}`, which is " +
			"read again when it changes."},
		{Name: "subjectTokenType", Kind: aText, About: "The type of that token: `id_token` (default), `access_token`, " +
			"`jwt`, or a URN."},
		{Name: "identityProvider", Kind: anObject.with(`"required": ["issuer"], ` +
			`"dependentRequired": {"clientSecret": ["clientId"]}`),
			Members: []Field{
				{Name: "issuer", Kind: anAddress, Cover: Decisive, About: "The address of the identity provider."},
				{Name: "clientId", Kind: aText, About: "The id of the client there, if it differs."},
				{Name: "clientSecret", Kind: aText, About: "The secret of that client."},
			}, About: "The server that makes an assertion of `subjectToken` for `issuer` (enterprise-managed authorization)."},
	}
}
