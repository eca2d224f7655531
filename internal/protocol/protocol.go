// Package protocol contains the parts of MCP that both sides of the bridge need: names, revisions, error
// codes, and the reading of tools and options. It holds no state.
package protocol

import (
	"encoding/json"
	"slices"
	"time"
)

// The names of the protocol that both sides of the bridge use. FormatLegacy and FormatModern are our own
// names for its bytes.
const (
	MethodInitialize     = "initialize"
	MethodDiscover       = "server/discover"
	MethodPing           = "ping"
	MethodToolsList      = "tools/list"
	MethodToolsCall      = "tools/call"
	MethodPromptsGet     = "prompts/get"
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

// ReachesSeverity reports whether the severity of a log message is at or above a level.
func ReachesSeverity(severity, level string) bool {
	all := LogSeverities()
	least := slices.Index(all, level)
	return least >= 0 && slices.Index(all, severity) >= least
}

// methods holds the properties of single methods.
var methods = map[string]struct {
	naming          string // see NamingParam
	mayRequireInput bool
	capability      string // the capability that a client declares to accept this request
}{
	MethodToolsCall:  {naming: "name", mayRequireInput: true},
	MethodPromptsGet: {naming: "name", mayRequireInput: true},
	"resources/read": {naming: "uri", mayRequireInput: true},
	"tasks/get":      {naming: "taskId"},
	"tasks/update":   {naming: "taskId"},
	"tasks/cancel":   {naming: "taskId"},
	MethodElicit:     {capability: "elicitation"},
	MethodSample:     {capability: "sampling"},
	MethodRoots:      {capability: "roots"},
}

// NamingParam returns the member of a request's params that names its object, which HTTP also has in
// Mcp-Name: the name of a tool or a prompt, the URI of a resource, or the id of a task. It is "" if the
// method has none (2026-07-28, basic/transports/streamable-http, "Standard Request Headers"; SEP-2663).
func NamingParam(method string) string { return methods[method].naming }

// Error codes of 2026-07-28 (basic/index, "Error codes"), and the earlier codes for a missing resource
// and for a URL that a person has to open first.
const (
	CodeURLRequired        = -32042
	CodeLegacyNotFound     = -32002
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// CodeRefused is the code for requests that a guard does not admit. It is in the range for implementations.
const CodeRefused = -32010

// LegacyVersions returns the supported revisions before 2026-07-28, newest first.
func LegacyVersions() []string {
	return []string{VersionLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}
}

// Era is the family of revisions of a message, a server or a client.
type Era string

const (
	// Legacy is MCP up to 2025-11-25: a handshake, then a session.
	Legacy Era = "legacy"
	// Modern is MCP from 2026-07-28 on: stateless requests.
	Modern Era = "modern"
)

// Info is the name under which a client or a host presents itself.
type Info struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// EncodeInfo returns info as JSON.
func EncodeInfo(info Info) json.RawMessage {
	b, _ := json.Marshal(info) // cannot fail, because it has only strings
	return b
}

// The time limits for connecting to a server and for listing, if config.Timeouts does not set them.
const (
	DefaultConnect  = 30 * time.Second
	DownloadConnect = 2 * time.Minute // of a program that may download what it starts
	DefaultList     = 30 * time.Second
)

// Duration applies the meaning of durations in options on both sides of the bridge: 0 means the default,
// and a negative value means 0.
func Duration(d, byDefault time.Duration) time.Duration {
	switch {
	case d < 0:
		return 0
	case d == 0:
		return byDefault
	}
	return d
}
