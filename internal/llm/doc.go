// Package llm is what the providers have in common: the exchange with a model's server over HTTP, with limits and errors,
// and the parts of a conversation that no provider's grammar decides.
//
// The official SDKs write the requests, and read the events; what the server sends goes through a [Server] first. It turns
// an answer that is no stream of events into an *agent.ProviderError, bounds the stream, and follows no redirection: it
// would carry the key and the conversation to wherever the server says.
//
// # Concurrency
//
// A [Server] may be used by any number of goroutines, an [Intake] by one.
package llm
