// Package agent runs conversations of a model with tools. A [Session] sends the conversation to the model, runs the
// tools that the model calls, and continues until the model answers. The package depends on neither MCP nor a provider.
//
// A [Provider] connects to a model. The packages agent/openai and agent/anthropic contain one each. A [Toolbox] holds
// the tools that the model may call, such as a toolbox.Box. [New] makes a session of both. [Session.Prompt] runs one
// turn:
//
//	s := agent.New(agent.Options{Provider: model, Tools: box, System: "You help with this repository."})
//	answer, err := s.Prompt(ctx, "What does the build need?")
//
// Results of calls are sent to the model as text and images, each cut to a share of [Options].Context. When the
// conversation comes near that limit, requests leave out the results of old calls. [Session.Messages] still contains
// them. If a provider fails temporarily, the request is retried after the delay that the provider asks for. The list of
// tools may change. Tools that stay keep their places, because providers cache a common prefix.
//
// # Permission
//
// [Guard] wraps a source of tools and passes each call to a permission function before it runs. [Permissions] is such a
// function. Harmless calls run, and calls that were allowed before run. For other calls a person is asked. If no person
// can be asked, the call is refused. Text of a model, a tool or a server never grants permission:
//
//	p := &agent.Permissions{Harmless: isReadOnlyBuiltIn, Allow: []string{"github__get_*"}, Ask: ask}
//	box := toolbox.NewBox(nil, agent.Guard(local, p.Permit), agent.Guard(servers, p.Permit))
//
// # Transcript
//
// Each step is stored in the [Journal] before an event reports it: the prompt, the model's message, and the result of
// each call. [OpenTranscript] opens a journal in a file. A session with the entries of another session continues that
// session, even after kill -9. If it is unknown whether a call ran, its result states this, and the call is never
// repeated.
//
// # Concurrency
//
// A session runs one turn at a time: a second Prompt waits. The calls of one message run in parallel, up to
// Options.Parallel. Options.Hear is called from one goroutine at a time. Prompt waits for the calls that it started. It
// abandons only a call that still runs 10 s after its context has ended, and the result of the call states this.
//
// # Errors
//
// The failure of a tool is a result that the model reads. Prompt returns the error of its context, a *[ProviderError],
// [ErrSteps], [ErrFull], or an error of the journal. After any of them, the next Prompt continues from the stored
// steps.
//
// # Testing
//
// A test can implement [Provider] in a few lines in place of a model: see the examples.
package agent
