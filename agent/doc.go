// Package agent is a model, a toolbox and a loop: a Session sends a conversation to a model, runs the tools that it
// calls, and goes on until it answers. It knows neither MCP nor any provider.
//
// A [Provider] is how a model is reached, and a [Toolbox] is what it may call, which a toolbox.Box is. [New] makes a
// session of them, and [Session.Prompt] is one turn of the conversation:
//
//	s := agent.New(agent.Options{Provider: model, Tools: box, System: "You help with this repository."})
//	answer, err := s.Prompt(ctx, "What does the build need?")
//
// # Permission
//
// [Guard] wraps a source of tools: each call is shown to a function first, which lets it run or not. [Permissions] is such a
// function: calls that harm nothing run, what was allowed before runs, and all else asks a person, or is
// refused where nobody can be asked. Nothing that a model, a tool or a server says is permission.
//
// # Transcript
//
// Each step is in the [Journal] before anybody hears of it: what was asked, what the model said, what each call gave.
// A session that is made with the entries of another one goes on where that stopped. Calls of which nobody knows whether
// they ran are answered so, and never repeated.
//
// # Concurrency
//
// A session has one turn at a time: a second Prompt waits. The calls of one message run at once, up to
// Options.Parallel. Options.Hear is called from one goroutine at a time.
//
// # Errors
//
// A tool that fails is something the model reads. Prompt's errors are the context's own, a *[ProviderError], [ErrSteps],
// [ErrFull], and those of the journal.
package agent
