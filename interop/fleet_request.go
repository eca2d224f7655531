package interop

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
)

// Request sends one request of any method to a server and waits for its result. As
// [Fleet.Do] does for a tool, it waits for a server that is being connected, and counts for
// the caller's bound at that server. If the server provably did not handle the request,
// Request sends it once more. It returns the same errors as [Endpoint.Do].
//
// [ClientOf] ctx is the client behind the request. It sets the facts that the server may
// know, and the way to reach that client.
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

// request is one attempt, after [member.connected] has begun it. It also returns the
// connection that was used, or nil if there was none.
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

// isShared reports whether a request is the same for all clients, and is sent once for all
// of them.
func isShared(method string) bool {
	return strings.HasPrefix(method, "resources/") && strings.HasSuffix(method, "subscribe") || method == protocol.MethodSetLevel || method == protocol.MethodPing
}
