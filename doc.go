// Package indus is the root of the module and holds no code. The command is cmd/indus; the packages are:
//
//   - interop: mounts MCP servers as one toolbox (Mount is what to call first).
//     interop/interoptest has servers in memory for tests.
//   - host: publishes a toolbox to MCP clients, over HTTP, stdio and in memory.
//   - gateway: many servers behind one: tools, prompts, resources, and what servers ask.
//   - identity: who sends an HTTP request: API keys, tokens of authorization servers.
//   - toolbox: tools and how they are called, without MCP. toolbox/catalog puts many
//     tools behind four, toolbox/standard has built-in ones.
//   - schema: JSON Schema as each model provider accepts it. schema/validate checks
//     arguments, schema/infer derives schemas from Go types.
//   - oauth: signs in towards servers: tokens for HTTP requests, without MCP.
//   - mcpconfig: finds, reads, imports and edits configuration files.
//   - ledger: the log of which servers and tools were enrolled.
//   - agent: a model, a toolbox and a loop, with permission before a tool runs.
//     agent/openai and agent/anthropic reach models over HTTP.
//   - operation: named, typed operations, without MCP. operation/bridge turns tools
//     into operations and back.
//
// ARCHITECTURE.md has the layers, and follows one call through them.
package indus
