// Package openai reaches a model through chat completions, the API of OpenAI that Ollama, vLLM, llama.cpp, OpenRouter and
// many others have too. [New] makes an [agent.Provider]:
//
//	model := openai.New("gpt-5", &openai.Options{Key: os.Getenv("OPENAI_API_KEY")})
//	tools := toolbox.NewBox(&toolbox.BoxOptions{Profile: model.Profile()}, registry)
//	answer, err := agent.New(agent.Options{Provider: model, Tools: tools}).Prompt(ctx, "What does the build need?")
//
// A model on this machine needs no key:
//
//	model := openai.New("qwen3:8b", &openai.Options{BaseURL: "http://127.0.0.1:11434/v1"})
//
// Nothing is read from the environment. In particular, a key is sent only to the address that stands beside it in [Options].
//
// # Concurrency
//
// Any number of goroutines may use a [Model]. Generate blocks until the whole message has arrived. It passes the pieces on
// as they arrive.
//
// # Bounds
//
// A message has up to 16 MiB and 256 calls, and an answer up to 128 MiB. A server that sends nothing for 15 minutes is given
// up. Use the context for a shorter limit.
//
// # Errors
//
// An error is the context's own or an *[agent.ProviderError], which has the HTTP status, the provider's message, and how
// long the provider asks to wait. It contains no key. Generate sends a request once: [agent.Session] repeats it if the error
// is temporary. Only a model that refuses images is asked once more without them.
//
// # Testing
//
// BaseURL may be that of an httptest.Server that writes a stream of events: see the example.
package openai
