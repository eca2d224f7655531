// Package anthropic reaches a model through Anthropic's Messages API. [New] makes an [agent.Provider]:
//
//	model := anthropic.New("claude-sonnet-4-5", &anthropic.Options{Key: os.Getenv("ANTHROPIC_API_KEY")})
//	tools := toolbox.NewBox(&toolbox.BoxOptions{Profile: model.Profile()}, registry)
//	answer, err := agent.New(agent.Options{Provider: model, Tools: tools}).Prompt(ctx, "What does the build need?")
//
// Nothing is read from the environment. In particular, a key is sent only to the address that stands beside it in [Options].
// Tools, system prompt and conversation are marked for the provider's cache.
//
// Concurrency, errors, and how a test reaches a server of its own are as in package openai, and so are the bounds. If the
// request does not say how long the message may become, it is 32,000 tokens.
package anthropic
