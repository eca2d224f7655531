// Package indus is the root of the module and holds no code. The command is cmd/indus; the packages are:
//
//   - interop: mounts MCP servers as one toolbox. Call Mount first. interop/config describes servers,
//     interop/interoptest has servers in memory for tests.
//   - host: publishes a toolbox to MCP clients, over HTTP, stdio and in memory.
//   - gateway: puts many servers behind one: tools, prompts, resources and the questions of servers.
//   - auth/identity: authenticates the caller of an HTTP request: API keys, tokens of authorization servers.
//   - auth/oauth: signs in at servers: tokens for HTTP requests, without MCP.
//   - control: guards a gateway for operators: policy, approvals, limits, audit, telemetry. control/activity has the
//     requests in memory.
//   - control/policy: decides what a caller may do, by Cedar policies.
//   - control/approval: calls that wait for the approval of a person, and the grants.
//   - control/audit: one record for each request of a caller, in a file that shows changes.
//   - replica: forwards requests to the process that holds their state, if several serve the same clients.
//     replica/cluster is the state that these processes share, replica/cluster/nats keeps it in NATS JetStream.
//   - toolbox: tools and their calls, without MCP. toolbox/catalog puts many tools behind four.
//   - schema: JSON Schema as each model provider accepts it. schema/rule has the types of
//     rules and findings, schema/validate checks arguments, schema/infer derives schemas from Go types.
//   - mcpconfig: finds, reads, imports and edits configuration files.
//   - ledger: the log of enrolled servers and tools.
//   - agent: a model, a toolbox and a loop. It asks for permission before a tool runs. agent/openai and
//     agent/anthropic call models over HTTP, agent/standard has built-in tools.
//   - operation: named, typed operations, without MCP. operation/bridge turns tools
//     into operations and back.
//
// ARCHITECTURE.md shows the layers and follows one call through them.
package indus
