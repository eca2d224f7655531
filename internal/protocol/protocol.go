// Package protocol is what both sides of the bridge know of MCP: its names, its
// revisions, its error codes, what they read of a tool and of an option. It holds
// no state.
package protocol

// The names of the protocol that both sides of the bridge know. FormatLegacy and
// FormatModern are our own names for its bytes.
const (
	MethodInitialize     = "initialize"
	MethodDiscover       = "server/discover"
	MethodPing           = "ping"
	MethodToolsList      = "tools/list"
	MethodToolsCall      = "tools/call"
	MethodListen         = "subscriptions/listen"
	MethodSubscribe      = "resources/subscribe"
	MethodUnsubscribe    = "resources/unsubscribe"
	MethodSetLevel       = "logging/setLevel"
	NoteInitialized      = "notifications/initialized"
	NoteCancelled        = "notifications/cancelled"
	NoteProgress         = "notifications/progress"
	NoteToolsChanged     = "notifications/tools/list_changed"
	NotePromptsChanged   = "notifications/prompts/list_changed"
	NoteResourcesChanged = "notifications/resources/list_changed"
	NoteResourceUpdated  = "notifications/resources/updated"
	NoteMessage          = "notifications/message"
	NoteElicited         = "notifications/elicitation/complete"
	NoteAcknowledged     = "notifications/subscriptions/acknowledged"
	MetaPrefix           = "io.modelcontextprotocol/"
	MetaVersion          = MetaPrefix + "protocolVersion"
	MetaClientInfo       = MetaPrefix + "clientInfo"
	MetaClientCaps       = MetaPrefix + "clientCapabilities"
	MetaServerInfo       = MetaPrefix + "serverInfo"
	MetaLogLevel         = MetaPrefix + "logLevel"
	MetaSubscription     = MetaPrefix + "subscriptionId"
	MetaRelatedTask      = MetaPrefix + "related-task"
	VersionModern        = "2026-07-28"
	VersionLegacy        = "2025-11-25"
	FormatLegacy         = "mcp/legacy"
	FormatModern         = "mcp/modern"
	HeaderVersion        = "MCP-Protocol-Version"
	HeaderSession        = "Mcp-Session-Id"
	HeaderMethod         = "Mcp-Method"
	HeaderName           = "Mcp-Name"
	HeaderParam          = "Mcp-Param-"
	HeaderLastEventID    = "Last-Event-ID"
)

// LogSeverities is the levels of log messages, least severe first (2026-07-28, server/utilities/logging).
func LogSeverities() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

// methods is what is known of single methods.
var methods = map[string]struct {
	naming          string // see NamingParam
	mayRequireInput bool
	asks            string // the capability that a client declares to be asked by it
}{
	MethodToolsCall:  {naming: "name", mayRequireInput: true},
	"prompts/get":    {naming: "name", mayRequireInput: true},
	"resources/read": {naming: "uri", mayRequireInput: true},
	"tasks/get":      {naming: "taskId"},
	"tasks/update":   {naming: "taskId"},
	"tasks/cancel":   {naming: "taskId"},
	MethodElicit:     {asks: "elicitation"},
	MethodSample:     {asks: "sampling"},
	MethodRoots:      {asks: "roots"},
}

// NamingParam is the member of a request's params that says what it is about, which HTTP has in
// Mcp-Name as well: a tool's or a prompt's name, a resource's URI, a task's id; "": it has none
// (2026-07-28, basic/transports/streamable-http, "Standard Request Headers"; SEP-2663).
func NamingParam(method string) string { return methods[method].naming }

// Error codes of 2026-07-28 (basic/index, "Error codes"), and those before it for a
// resource that is not there and for a URL that a person is to open first.
const (
	CodeURLRequired        = -32042
	CodeLegacyNotFound     = -32002
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// LegacyVersions is what we take of the revisions before 2026-07-28, newest first.
func LegacyVersions() []string {
	return []string{VersionLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}
}
