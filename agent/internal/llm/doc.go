// Package llm is the part that the clients of model servers share: a POST over HTTP whose answer is a stream of events, with
// bounds and errors, and the parts of a conversation that do not depend on a provider's grammar.
//
// [NewServer] makes a [Server], and [Server.Ask] sends one request to it. An answer that is no stream of events becomes an
// *agent.ProviderError. A redirection is not followed, because it would carry the key and the conversation to wherever the
// server says.
//
// # Concurrency
//
// Any number of goroutines may use a [Server]. One goroutine uses an [Intake].
package llm
