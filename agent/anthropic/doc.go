// Package anthropic reaches a model through Anthropic's Messages API. [New] makes an [agent.Provider]:
//
//	model := anthropic.New("claude-sonnet-4-5", &anthropic.Options{Key: os.Getenv("ANTHROPIC_API_KEY")})
//	tools := toolbox.NewBox(&toolbox.BoxOptions{Profile: model.Profile()}, registry)
//	answer, err := agent.New(agent.Options{Provider: model, Tools: tools}).Prompt(ctx, "What does the build need?")
//
// Nothing is read from the environment. In particular, a key is sent only to the address that stands beside it in [Options].
// Tools, system prompt and conversation are marked for the provider's cache.
//
// # Concurrency
//
// Any number of goroutines may use a [Model]. Generate blocks until the whole message has arrived. It passes the pieces on
// as they arrive.
//
// # Bounds
//
// A message has up to 16 MiB and 256 calls, and an answer up to 128 MiB. A server that sends nothing for 15 minutes is given
// up. Use the context for a shorter limit. If the request does not say how long the message may become, it is 32,000 tokens.
//
// # Errors
//
// An error is the context's own or an *[agent.ProviderError], which has the HTTP status, the provider's message, and how
// long the provider asks to wait. It contains no key. Generate sends a request once: [agent.Session] repeats it if the error
// is temporary.
//
// # Testing
//
// BaseURL may be that of an httptest.Server that writes a stream of events: see the example.
package anthropic
