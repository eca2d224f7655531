// Package anthropic connects to a model through Anthropic's Messages API. [New] returns an [agent.Provider]:
//
//	model := anthropic.New("claude-sonnet-4-5", &anthropic.Options{Key: os.Getenv("ANTHROPIC_API_KEY")})
//	tools := toolbox.NewBox(&toolbox.BoxOptions{Profile: model.Profile()}, registry)
//	answer, err := agent.New(agent.Options{Provider: model, Tools: tools}).Prompt(ctx, "What does the build need?")
//
// The package reads no environment variables. A key is sent only to the address given with it in [Options]. The request
// marks tools, system prompt and conversation for the provider's cache.
//
// Concurrency, errors, bounds and tests with a server are as in package openai. A message has at most 32,000 tokens,
// unless the request sets another limit.
package anthropic
