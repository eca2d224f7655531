package fields

import "sync"

// ownFiles ends the sentence of a setting that decides about clients.
const ownFiles = " It does not count in a project's file that was only discovered."

// File returns the fields of a file, which must not be changed.
var File = sync.OnceValue(fileFields)

func fileFields() []Field {
	servers := Kind{"object of rows, or a list of rows", 0, "", "servers"}
	return []Field{
		{Name: "servers", Kind: servers, About: "The servers by name, or a list of servers with a `name` each. Of two " +
			"servers with one name the last counts."},
		{Name: "mcpServers", Kind: servers, About: "The same as `servers`."},
		{Name: "views", Kind: Kind{"object of views", 0, viewsSchema, ""}, Members: View(),
			About: "Selections of servers and tools by name. A client of `indus serve` sees one at `/mcp/@NAME` " +
				"([views.md](views.md))."},
		{Name: "auth", Kind: Kind{"object", '{', anObject.Schema, "auth"}, Members: auth(),
			About: "How clients of `indus serve` authenticate ([tokens.md](tokens.md))." + ownFiles},
		{Name: "policy", Kind: aPath, About: "A file of Cedar policies, or a directory of `*.cedar` files: what callers of " +
			"`indus serve` may do ([policy.md](policy.md)). A relative path begins at this file." + ownFiles},
		{Name: "policyMode", Kind: oneWord(0, "`enforce` or `report`", "enforce", "report"),
			About: "`enforce` (default): a request that the policies do not permit is denied. `report`: it is only " +
				"logged and audited."},
		{Name: "audit", Kind: Kind{"path, or an object", 0, auditSchema, "audit"}, Members: []Field{
			{Name: "file", Kind: aPath, About: "The file. A relative path begins at this file."},
			{Name: "maxSize", Kind: aSize, About: "The size at which a new file begins, such as `100MB`. Default: 100 MiB."},
			{Name: "maxAge", Kind: anAge, About: "The age at which a new file begins, such as `24h` or `7d`. Default: no " +
				"limit."},
			{Name: "keep", Kind: wholeNumber(0, "1", "100000"),
				About: "The number of earlier files that are kept. Default: all."},
			{Name: "onFull", Kind: oneWord(0, "`stop` or `continue`", "stop", "continue"), About: "If a record cannot be " +
				"written: `stop` (default) refuses requests, `continue` serves them and counts the lost records."},
			{Name: "sync", Kind: aSwitch, About: "`true`: each record is on the disk before its request is answered. " +
				"Default: `false`, which is safe only from the end of the process."},
		}, About: "Where `indus serve` records each request ([audit.md](audit.md))." + ownFiles},
		{Name: "approvals", Kind: Kind{"object", '{', anObject.Schema, "approvals"}, Members: []Field{
			{Name: "expire", Kind: anAge,
				About: "How long a call waits, and then how long the decision is good. Default: `10m`."},
			{Name: "webhook", Kind: anObject.with(`"required": ["url", "secret"]`), Members: []Field{
				{Name: "url", Kind: aText, About: "An https URL. http is for this machine only."},
				{Name: "secret", Kind: aText, About: "`whsec_` and the base64 of 24 to 64 random bytes, in a variable."},
			}, About: "A URL that is notified of calls that wait and of decisions (Standard Webhooks)."},
		}, About: "How calls to `indus serve` that a policy holds wait for a person ([call-approval.md](call-approval.md))." +
			ownFiles},
		{Name: "cluster", Kind: Kind{"object", '{', anObject.Schema + `, "required": ["nats"]`, "cluster"}, Members: []Field{
			{Name: "nats", Kind: brokers, About: "The NATS servers, `nats://` or `tls://`."},
			{Name: "credsFile", Kind: aPath, About: "The file of credentials. A relative path begins at this file."},
			{Name: "tls", Kind: anObject, Members: []Field{
				{Name: "ca", Kind: aPath, About: "A PEM file of the authorities of the servers' certificates."},
			}, About: "Certificates of the NATS servers."},
			{Name: "name", Kind: aText, About: "The prefix of streams and subjects. Default: `indus`."},
			{Name: "replicas", Kind: wholeNumber(0, "1", "5"),
				About: "The number of replicas of each stream. Default: 3 in a cluster of NATS, else 1."},
			{Name: "monitor", Kind: monitors, About: "The monitors of the NATS servers, which show whether NATS waits for " +
				"the disk."},
			{Name: "lease", Kind: aLease, About: "How long a process that does not answer counts as present. Default: `10s`."},
		}, About: "Where several `indus serve` keep the state that they share ([scaling.md](scaling.md))." + ownFiles},
		{Name: "changes", Kind: onChange, About: changesAbout},
		{Name: "sandboxDefault", Kind: aBox, Members: box(), About: "The `sandbox` of the file's commands that have none. " +
			"In your own file it is for the servers of projects too. Default: `off`."},
		{Name: "sandboxProject", Kind: aBox, Members: box(), About: "In your own file: the widest `sandbox` that a " +
			"project's file may have. Default: `strict`, in which the project (`${workspaceFolder}`) can be read."},
		{Name: "registries", Kind: someTexts, About: "The MCP registries that `indus mcp find`, `add --from` and " +
			"`outdated` ask, in this order ([registry.md](registry.md)). Default: the official one." + ownFiles},
	}
}

const (
	viewsSchema = `"title": "Views", "type": "object", "maxProperties": 100, "patternProperties": ` +
		`{"^[$_/#]": {"description": "A comment."}, "^[A-Za-z0-9.-][A-Za-z0-9._-]{0,63}$": {"$ref": "#/$defs/view"}}, ` +
		`"additionalProperties": false`
	auditSchema = `"title": "Audit", "anyOf": [` + filledText + `, {"$members": true, "required": ["file"]}]`
)

// View returns the fields of a view.
func View() []Field {
	return []Field{
		{Name: "servers", Kind: patterns, About: "The names of the servers. Default: all."},
		{Name: "tools", Kind: patterns, About: "The tools by their whole names, such as `github__list_*`; prompts too, if " +
			"the view has no `prompts`. Without `tools`, `prompts` and `resources`, the servers are selected as a whole."},
		{Name: "prompts", Kind: patterns, About: "The prompts by their whole names, such as `github__review`."},
		{Name: "resources", Kind: patterns, About: "The resources, templates and skills by server and URI, such as " +
			"`fs__file:///docs/*`. Default: all, but if tools or prompts are named only the pages of its tools."},
		{Name: "mode", Kind: oneWord(0, "`all` or `gateway`", "all", "gateway"), About: "`all` lists each tool, `gateway` " +
			"lists four tools in place of all: search, schema, call and batch. Default: `indus serve --expose`."},
		{Name: "profile", Kind: profile(), About: "The models for which the schemas of its tools are shaped. Default: the " +
			"schemas as their servers wrote them."},
		{Name: "publish", Kind: aSwitch, About: "`true`: `indus serve` lists the view in its registry (`/v0.1/servers`) " +
			"and has a server card of it, which any caller may read." + ownFiles},
	}
}

// auth returns the fields of "auth".
func auth() []Field {
	return []Field{
		{Name: "methods", Kind: Kind{manyTexts.Words, 0, `"anyOf": [` + methodSchema + `, ` +
			`{"type": "array", "items": ` + methodSchema + `}]`, ""}, About: "The accepted methods: `keys` (`indus key " +
			"add`), `jwt` (`issuers`), `introspect` (`introspection`), or `none`. Default: the methods of the other fields."},
		{Name: "publicUrl", Kind: aText, About: "The scheme and host under which clients reach the server, such as " +
			"`https://mcp.example.com`."},
		{Name: "scopes", Kind: manyTexts, About: "The scopes that a token must have. `{view}` stands for the name of the " +
			"view, and is `*` for everything."},
		{Name: "issuers", Kind: Kind{"list of objects", '[', `"type": "array", "items": {"$members": true, ` +
			`"type": "object", "required": ["issuer"]}`, ""}, Members: AuthServer("jwksUri", "algorithms"),
			About: "The authorization servers that sign accepted tokens."},
		{Name: "introspection", Kind: anObject.with(`"required": ["issuer"]`),
			Members: AuthServer("endpoint", "clientId", "clientSecret"),
			About:   "The authorization server that checks each token (RFC 7662)."},
	}
}

const methodSchema = `{"type": "string", "anyOf": [{"enum": ["none", "keys", "jwt", "introspect"]}, ` +
	`{"pattern": "\\$\\{"}]}`

// AuthServer returns the fields of an authorization server: the fields of all, and some others.
func AuthServer(others ...string) []Field {
	list := []Field{
		{Name: "issuer", Kind: aText, About: "Its identifier, exactly as its tokens have it in `iss`."},
		{Name: "audience", Kind: manyTexts, About: "Values of `aud` that are accepted for every view. Default: `aud` must " +
			"be the URL of the view."},
		{Name: "claim", Kind: aText, About: "The claim that names the principal. It must never pass to another person. " +
			"Default: `sub`."},
		{Name: "apps", Kind: aSwitch, About: "`true`: tokens that an application has for itself, without a person " +
			"(`idtyp` is `app`), are accepted too."},
	}
	for _, name := range others {
		list = append(list, Find([]Field{
			{Name: "jwksUri", Kind: aText, About: "The URL of its keys. Default: its metadata has the URL."},
			{Name: "algorithms", Kind: manyTexts,
				About: "The accepted signature algorithms. Default: RS256, ES256 and EdDSA."},
			{Name: "endpoint", Kind: aText, About: "The URL that checks tokens."},
			{Name: "clientId", Kind: aText, About: "The id with which indus authenticates there."},
			{Name: "clientSecret", Kind: aText, About: "The secret with which indus authenticates there: write `${VAR}`."},
		}, name))
	}
	return list
}
