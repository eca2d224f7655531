// Package llm is the shared part of the clients of model servers. It sends a POST request over HTTP and reads a stream
// of events, with bounds and errors. It also handles the parts of a conversation that do not depend on a provider's
// format.
//
// [NewServer] makes a [Server], and [Server.Ask] sends one request to it. If the answer is not a stream of events, Ask
// returns an *agent.ProviderError. Redirects are not followed, because they would send the key and the conversation to
// an address of the server's choice.
//
// # Concurrency
//
// Any number of goroutines may use a [Server]. One goroutine uses an [Intake].
package llm
