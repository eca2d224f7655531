// Package modelserver is a scripted model: a streaming server with the APIs of Anthropic's Messages and OpenAI's chat
// completions that replays a script. [New] starts one for a test:
//
//	read := modelserver.Call{Name: "read", Input: `{"path":"go.mod"}`}
//	s := modelserver.New(t,
//		modelserver.Turn{Calls: []modelserver.Call{read}},
//		modelserver.Turn{Text: "It is a module."})
//	model := anthropic.New("m", &anthropic.Options{Key: "k", BaseURL: s.URL})
//
// Each request takes the next turn, over either API. Text and arguments arrive in pieces, cut at unusual places. Calls
// of OpenAI's API are interleaved. The server is as strict as the real servers. If they would refuse a conversation (a
// call without its result, a result without its call, changed reasoning), it responds with their status 400 and text,
// and takes no turn.
//
// [Server.Requests] returns the requests that were sent. [Server.Wait] and [Server.Left] wait for events. The command
// in cmd/modelserver serves a script from a file.
package modelserver
