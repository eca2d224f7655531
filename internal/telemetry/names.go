package telemetry

import "go.opentelemetry.io/otel/attribute"

// The names of the MCP conventions of OpenTelemetry: docs/gen-ai/mcp.md of open-telemetry/semantic-conventions-genai at
// commit 0393513c908bf895e7b3ec480a2c1eb073c584af. Their state is Development: they have no release, and may change.
const (
	keyMethod          = attribute.Key("mcp.method.name")
	keyProtocol        = attribute.Key("mcp.protocol.version")
	keySession         = attribute.Key("mcp.session.id")
	keyURI             = attribute.Key("mcp.resource.uri")
	keyTool            = attribute.Key("gen_ai.tool.name")
	keyPrompt          = attribute.Key("gen_ai.prompt.name")
	keyOperation       = attribute.Key("gen_ai.operation.name")
	keyRequestID       = attribute.Key("jsonrpc.request.id")
	keyStatusCode      = attribute.Key("rpc.response.status_code")
	keyErrorType       = attribute.Key("error.type")
	keyTransport       = attribute.Key("network.transport")
	keyNetworkProtocol = attribute.Key("network.protocol.name")
	keyServerAddress   = attribute.Key("server.address")
	keyServerPort      = attribute.Key("server.port")
	keyClientAddress   = attribute.Key("client.address")
	keyClientPort      = attribute.Key("client.port")

	executeTool = "execute_tool"

	metricServed        = "mcp.server.operation.duration"
	metricSent          = "mcp.client.operation.duration"
	metricServedSession = "mcp.server.session.duration"
	metricSentSession   = "mcp.client.session.duration"
)

// Other replaces a value that is not well known, or that one label set too many would have.
const Other = "_OTHER"

// ToolError is the type of the error of a tool result with isError.
const ToolError = "tool_error"

// Our own names. Those of our metrics are in instruments.go.
const (
	keyServer    = attribute.Key("indus.server")
	keyView      = attribute.Key("indus.view")
	keyEra       = attribute.Key("indus.era")
	keyPhase     = attribute.Key("indus.phase")
	keyDirection = attribute.Key("network.io.direction")
)

// operationBounds are the boundaries of the convention, in seconds.
var operationBounds = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// overheadBounds begin at 10 µs, because the gateway itself takes less than the first boundary of the convention.
var overheadBounds = []float64{
	10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 100e-3, 1,
}

// methods are the names that a metric and the name of a span may have. Clients may send any other method.
var methods = setOf(
	"completion/complete", "elicitation/create", "initialize", "logging/setLevel", "ping", "prompts/get", "prompts/list",
	"resources/list", "resources/read", "resources/subscribe", "resources/templates/list", "resources/unsubscribe",
	"roots/list", "sampling/createMessage", "server/discover", "subscriptions/listen", "tasks/cancel", "tasks/get",
	"tasks/list", "tasks/result", "tasks/update", "tools/call", "tools/list",
	"notifications/cancelled", "notifications/initialized", "notifications/message", "notifications/progress",
	"notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/resources/updated",
	"notifications/roots/list_changed", "notifications/subscriptions/acknowledged", "notifications/tasks/status",
	"notifications/tools/list_changed", "notifications/elicitation/complete",
)

func setOf(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// callerFaults are the JSON-RPC codes that report a fault of the caller. They are no error of the receiver: on a span
// of kind SERVER they set neither error.type nor the status. On a span of kind CLIENT every code is an error.
var callerFaults = map[int64]bool{-32700: true, -32600: true, -32601: true, -32602: true, -32002: true}
