// Package openai connects to a model through chat completions, the API of OpenAI. Ollama, vLLM, llama.cpp, OpenRouter
// and many other servers offer it too. [New] returns an [agent.Provider]:
//
//	model := openai.New("gpt-5", &openai.Options{Key: os.Getenv("OPENAI_API_KEY")})
//	tools := toolbox.NewBox(&toolbox.BoxOptions{Profile: model.Profile()}, registry)
//	answer, err := agent.New(agent.Options{Provider: model, Tools: tools}).Prompt(ctx, "What does the build need?")
//
// A model on this machine needs no key:
//
//	model := openai.New("qwen3:8b", &openai.Options{BaseURL: "http://127.0.0.1:11434/v1"})
//
// The package reads no environment variables. A key is sent only to the address given with it in [Options].
//
// # Concurrency
//
// Any number of goroutines may use a [Model]. Generate blocks until the whole message has arrived. It passes pieces to
// the caller as they arrive.
//
// # Bounds
//
// A message has up to 16 MiB and 256 calls, and an answer up to 128 MiB. If a server sends nothing for 15 minutes, the
// request fails. Use the context for a shorter limit.
//
// # Errors
//
// Generate returns the context's error or an *[agent.ProviderError]. The latter has the HTTP status, the provider's
// message, and the delay that the provider asks for. It contains no key. Generate does not retry: [agent.Session]
// retries temporary errors. Only a model that refuses images gets a second request, without them.
//
// # Testing
//
// BaseURL may be the URL of an httptest.Server that writes a stream of events: see the example.
package openai
