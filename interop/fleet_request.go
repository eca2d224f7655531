package interop

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
)

// Request sends one request of any method to a server, and waits for its result, as
// [Fleet.Do] does for a tool: it waits for a server that is being connected, counts for the
// caller's bound there, and goes out once more where it provably was not handled. Its
// failures are those of [Endpoint.Do].
//
// What the server may know of the client behind it, and how it reaches that one, is what
// [ClientOf] finds in ctx.
func (f *Fleet) Request(ctx context.Context, server string, m Message) (json.RawMessage, error) {
	r, err := f.ask(ctx, server, m)
	return r, f.asCaller(err, m.Caller)
}

func (f *Fleet) ask(ctx context.Context, server string, m Message) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	of := findMember(f.all(), server)
	if of == nil {
		return nil, NewFault(NotConnected, server, "no such server", nil)
	}
	leave, err := of.enter(ctx, m.Caller)
	if err != nil {
		return nil, err
	}
	defer leave()
	for again := true; ; again = false {
		e, err := of.connected(ctx, "")
		if err != nil {
			return nil, err
		}
		r, used, err := of.request(ctx, e, m)
		if !again || used == nil || !used.refused(err) || !used.dies(ctx) {
			return r, err
		}
	}
}

// request is one attempt, which [member.connected] has begun, and the connection that it
// went out on; nil: there was none.
func (m *member) request(ctx context.Context, e *Endpoint, r Message) (result json.RawMessage, used *Endpoint, err error) {
	defer e.end()
	r.subject = subjectOf(r.Method, paramName(r))
	used, leave, err := m.laneFor(ctx, e, r)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	result, err = used.Do(ctx, r)
	return result, used, err
}

// isShared reports a request that is the same for all clients, and made for all of them.
func isShared(method string) bool {
	return strings.HasPrefix(method, "resources/") && strings.HasSuffix(method, "subscribe") || method == protocol.MethodSetLevel || method == protocol.MethodPing
}
