// Package providers contains tests. The corpus of schema/testdata, adapted by schema.Adapt, passes through the Go SDKs
// of the model providers as an agent would send it, and must arrive unchanged.
//
// It is a separate module, so that users of indus do not resolve these SDKs. From the root of the repository:
//
//	cd internal/testkit/providers
//	go test -gcflags='github.com/anthropics/...=-l' -gcflags='github.com/openai/...=-l' ./...
//
// The flags turn inlining off in the two largest SDKs, which halves the time of the first build.
//
// # Scope
//
// Each SDK's real client sends a real request to a server on the loopback interface, which keeps the body. The received
// schema is compared with the result of Adapt: no keyword is dropped or added, no name or description is changed, and
// numbers have the same digits. Properties have the same order if the SDK's own types keep an order.
//
// The types of Google and Ollama have a field for each keyword of their API. Keywords without a field cannot pass, so
// these two tests also check the keywords of the profiles. Ollama's server decodes requests into the same types.
//
// The requests of agent/anthropic and agent/openai are decoded into the SDKs' types, and sent again by the SDKs: both
// bodies and paths are the same. From the response, the SDKs and our clients read the same text, calls, stop reason and
// usage.
//
// # Limits
//
// The tests check serialization only. The SDKs do not validate schemas, but the providers' servers do. The documented
// rules of a provider, which schema.Check has, decide whether it accepts a schema.
//
// The program abilities is in this module too. It has clients in Go that users of indus do not need: see
// docs/clients.md.
package providers
