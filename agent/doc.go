// Package agent is a model, a toolbox and a loop: a Session sends a conversation to a model, runs the tools that it
// calls, and goes on until it answers. It knows neither MCP nor any provider.
//
// A [Provider] is how a model is reached: agent/openai and agent/anthropic have one each. A [Toolbox] is what the model may
// call, such as a toolbox.Box. [New] makes a session of them, and [Session.Prompt] is one turn of the conversation:
//
//	s := agent.New(agent.Options{Provider: model, Tools: box, System: "You help with this repository."})
//	answer, err := s.Prompt(ctx, "What does the build need?")
//
// The results of calls go to the model as text and images, cut to a share of [Options].Context. When the conversation
// comes near to that, the results of old calls are taken out of what the model is sent; [Session.Messages] has them
// still. A provider that fails for the moment is asked again, after as long as it wishes. Tools may come and go; those
// that stay keep their places, because providers cache what begins alike.
//
// # Permission
//
// [Guard] wraps a source of tools: each call is shown to a function first, which lets it run or not. [Permissions] is such a
// function: calls that harm nothing run, what was allowed before runs, and all else asks a person, or is
// refused where nobody can be asked. Nothing that a model, a tool or a server says is permission:
//
//	p := &agent.Permissions{Harmless: isReadOnlyBuiltIn, Allow: []string{"github__get_*"}, Ask: ask}
//	box := toolbox.NewBox(nil, agent.Guard(local, p.Permit), agent.Guard(servers, p.Permit))
//
// # Transcript
//
// Each step is in the [Journal] before anybody hears of it: what was asked, what the model said, what each call gave.
// [OpenTranscript] opens one that is a file. A session that is made with the entries of another one goes on where that stopped,
// also after kill -9. Calls of which nobody knows whether they ran are answered so, and never repeated.
//
// # Concurrency
//
// A session has one turn at a time: a second Prompt waits. The calls of one message run at once, up to
// Options.Parallel. Options.Hear is called from one goroutine at a time. Prompt waits for what it started; only a call that
// goes on for 10 s after its context has ended is left behind, and its result says so.
//
// # Errors
//
// A tool that fails is something the model reads. Prompt's errors are the context's own, a *[ProviderError], [ErrSteps],
// [ErrFull], and those of the journal. Whatever they are, the next Prompt goes on from what was kept.
//
// # Testing
//
// A [Provider] of a few lines stands for a model: the examples have one.
package agent
