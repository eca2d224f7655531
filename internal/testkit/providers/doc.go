// Package providers holds tests: the corpus of schema/testdata, shaped by schema.Adapt, goes through the
// Go SDKs of the model providers as an agent would send it, and must arrive whole.
//
// It is a module of its own, so that nobody who uses indus resolves those SDKs. From the root of the repository:
//
//	cd internal/testkit/providers && go test -gcflags='github.com/anthropics/...=-l' -gcflags='github.com/openai/...=-l' ./...
//
// The flags turn inlining off in the two largest SDKs, which halves the time of the first build.
//
// # What it shows
//
// Each SDK's real client sends a real request to a server on the loopback interface, which keeps the body. What the server
// received is compared with what Adapt returned: no keyword dropped, none added, no name or description changed, numbers
// with the same digits, properties in the same order, wherever the SDK's own types have an order. Google's and Ollama's
// types have a field for each keyword that their API knows, so what they have no field for cannot pass: these two also
// check the keywords of the profiles. Ollama's types are those that its server decodes requests into.
//
// The requests of agent/anthropic and agent/openai are decoded into the SDKs' types, and sent once more by the SDKs: both bodies
// and paths are the same. From the answer, the SDKs and our clients read the same text, calls, reason to stop and usage.
//
// # What it does not show
//
// It shows serialisation. None of the SDKs validates a schema, and the providers' servers do: that a provider accepts the
// schema follows from its documented rules, which schema.Check has, and not from these tests.
//
// Beside them is the program abilities, with clients in Go that nobody who uses indus resolves either: see docs/clients.md.
package providers
