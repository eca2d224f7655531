// Package naming names the server in each question that the client gets from it.
package naming

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// metaServer is the member of _meta that names the asking server.
const metaServer = "com.indusagi/server"

// WrapPeers returns a copy of the client with its peers wrapped.
func WrapPeers(c *interop.Client, wrap func(next interop.Peer) interop.Peer) *interop.Client {
	with := *c
	for _, p := range []*interop.Peer{&with.Back, &with.Always} {
		if *p != nil {
			*p = wrap(*p)
		}
	}
	return &with
}

// Peer wraps a peer so that the client learns which server asks.
func Peer(next interop.Peer) interop.Peer {
	return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		if m.Server == "" { // a tool of this program asks; interop names all other servers
			return next(ctx, m)
		}
		if m.Method == protocol.NoteElicited {
			m.Params = nameElicitation(m.Server, m.Params)
		}
		if !protocol.IsNote(m.Method) {
			params, err := Server(m.Server, m.Method, m.Params)
			if err != nil {
				return nil, &interop.RPCError{Code: interop.CodeInvalidParams, Message: err.Error()}
			}
			m.Params = params
		}
		return next(ctx, m)
	}
}

// Server adds the name of the asking server to the params of a question: in _meta and, in an elicitation, before
// the message, which a person reads. The messages of sampling are for a model and stay unchanged.
func Server(server, method string, params json.RawMessage) (json.RawMessage, error) {
	if len(params) == 0 {
		params = json.RawMessage(`{}`)
	}
	members, err := wire.Members(params)
	if err != nil {
		return nil, err
	}
	message := ""
	meta := json.RawMessage(`{}`)
	for _, m := range members {
		switch {
		case m.Key == "_meta" && m.Value[0] == '{':
			meta = m.Value
		case m.Key != "message" && strings.EqualFold(m.Key, "message"): // many clients would show it
			text := fmt.Sprintf("the question has a member %q, which clients may take for its message", m.Key)
			return nil, &interop.RPCError{Code: interop.CodeInternal, Message: text}
		case m.Key == "message":
			message, _ = wire.Unquote(m.Value)
		}
	}
	meta, err = wire.Rewrite(meta, wire.Edit{Key: metaServer, Value: wire.Quote(server)})
	if err != nil {
		return nil, err
	}
	edits := []wire.Edit{{Key: "_meta", Value: meta}}
	if method == protocol.MethodElicit {
		named := strings.TrimRight("["+server+"] "+strings.Map(dropControls, message), " ")
		edits = append(edits, wire.Edit{Key: "message", Value: wire.Quote(named)})
	}
	params, err = wire.Rewrite(params, edits...)
	if err != nil {
		return nil, err
	}
	return nameElicitation(server, params), nil
}

// dropControls drops characters that could overwrite or reorder the name at the beginning of a message. These are
// control characters, except tabs and line feeds, and the controls of bidirectional text.
func dropControls(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
		return -1
	}
	return r
}

// nameElicitation adds the server's name to the elicitationId in params, so that the ids of servers cannot collide.
func nameElicitation(server string, params json.RawMessage) json.RawMessage {
	id, ok := protocol.LookupString(params, "elicitationId")
	if !ok {
		return params
	}
	named, err := wire.Rewrite(params, wire.Edit{Key: "elicitationId", Value: wire.Quote(server + "/" + id)})
	if err != nil {
		return nil // it stands twice
	}
	return named
}

// URLs adds the server's name to each elicitation of an error that requires opening URLs first (2025-11-25,
// client/elicitation, "URL Elicitation Required Error"). It returns other errors unchanged.
func URLs(server string, failed error) error {
	rpc, _ := errors.AsType[*interop.RPCError](failed)
	fault, ok := errors.AsType[*interop.Fault](failed)
	if rpc == nil || rpc.Code != protocol.CodeURLRequired || !ok {
		return failed
	}
	list, _ := wire.Lookup(rpc.Data, "elicitations")
	named, err := wire.MapParts(list, func(_ string, e json.RawMessage) json.RawMessage {
		if e, err := Server(server, protocol.MethodElicit, e); err == nil {
			return e
		}
		return json.RawMessage(`{}`)
	})
	if err != nil {
		return failed // there is no list
	}
	data, err := wire.Rewrite(rpc.Data, wire.Edit{Key: "elicitations", Value: named})
	if err != nil {
		return failed
	}
	f := *fault
	f.Cause = &interop.RPCError{Code: rpc.Code, Message: rpc.Message, Data: data}
	return &f
}

// Requests adds the server's name to each question of an input_required result. requests is an object.
func Requests(server string, requests json.RawMessage) (json.RawMessage, error) {
	members, err := wire.Members(requests)
	if err == nil {
		err = wire.Unique(members)
	}
	if err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for i, m := range members {
		method, err := protocol.OneMember(m.Value, "method")
		if err != nil {
			return nil, err
		}
		name, _ := wire.Unquote(method)
		params, err := protocol.OneMember(m.Value, "params")
		if err == nil {
			params, err = Server(server, name, params)
		}
		if err != nil {
			return nil, err
		}
		request, err := wire.Rewrite(m.Value, wire.Edit{Key: "params", Value: params})
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.RawKey...), ':'), request...)
	}
	return append(out, '}'), nil
}
