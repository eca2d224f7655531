// Package telemetry traces and measures the requests of a gateway, through the API of OpenTelemetry.
//
// Start with [New]. It takes the providers of spans and of instruments, which the command makes. Each request of a
// client is one operation: [Telemetry.Start] begins its span, [Telemetry.Upstream] begins the span of a request to a
// server within it, and [Active.End] ends either and records the metrics. [Telemetry.Observe] gives the state of the
// gateway: queues, sessions, servers.
//
//	ctx, served := t.Start(ctx, &telemetry.Operation{Method: "tools/call", Tool: tool, Known: true, Server: server})
//	ctx, sent := t.Upstream(ctx, &telemetry.Operation{Method: "tools/call", Tool: tool, Known: true, Server: server})
//	meta, err := wire.Rewrite(meta, sent.MetaEdits()...)
//	…
//	sent.End(telemetry.Outcome{})
//	served.End(telemetry.Outcome{BytesIn: in, BytesOut: out})
//
// A nil Telemetry is off: all its methods do nothing and allocate nothing.
//
// # Names
//
// Names and rules of errors are the conventions of OpenTelemetry for MCP. They are in names.go, with the commit that
// they are from, because no Go package has them. Names that begin with "indus." are our own.
//
// # Cardinality
//
// A metric has no label that a client can choose freely: no principal, no session, no URI, no address, and no name of
// an unknown tool, prompt or method. If there are more sets of labels than [Options.MaxSeries], the names in further
// sets are [Other].
//
// # Concurrency
//
// Methods of Telemetry may be called from any goroutine. One goroutine ends an Active, once. Requests to servers within
// one operation may overlap.
package telemetry
