// Package modelserver is a scripted model: a server that speaks the wire of Anthropic's Messages and of OpenAI's chat
// completions, streaming, and says what it is told to say. [New] starts one for a test:
//
//	s := modelserver.New(t, modelserver.Turn{Calls: []modelserver.Call{{Name: "read", Input: `{"path":"go.mod"}`}}}, modelserver.Turn{Text: "It is a module."})
//	model := anthropic.New("m", &anthropic.Options{Key: "k", BaseURL: s.URL})
//
// Each request takes the next turn, whichever of the two wires it came by. Text and arguments arrive in pieces, cut at odd
// places; calls of OpenAI's wire are interleaved. The server is as strict as the real ones: what they refuse of a
// conversation (a call without its result, a result without its call, reasoning that was changed) it answers with their
// status 400 and words, and that takes no turn.
//
// A test reads what was sent from [Server.Requests], and waits for events with [Server.Wait] and [Server.Left].
// The command in cmd/modelserver serves a script from a file.
package modelserver
