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
	r, err := f.request(ctx, server, m)
	return r, f.withCallerSignIn(err, m.Caller)
}

func (f *Fleet) request(ctx context.Context, server string, m Message) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	target := findMember(f.currentMembers(), server)
	if target == nil {
		return nil, NewFault(NotConnected, server, "no such server", nil)
	}
	leave, err := target.admitCaller(ctx, m.Caller)
	if err != nil {
		return nil, err
	}
	defer leave()
	for retry := true; ; retry = false {
		e, err := target.awaitEndpoint(ctx, "")
		if err != nil {
			return nil, err
		}
		r, used, err := target.request(ctx, e, m)
		if !retry || used == nil || !used.wasUnsent(err) || !used.awaitEnd(ctx) {
			return r, err
		}
	}
}

// request is one attempt, after [member.awaitEndpoint] has begun it. It also returns the
// connection that was used, or nil if there was none.
func (m *member) request(
	ctx context.Context, e *Endpoint, r Message,
) (result json.RawMessage, used *Endpoint, err error) {
	defer e.endCall()
	r.subject = subjectOf(r.Method, paramName(r))
	used, leave, err := m.laneFor(ctx, e, r)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	result, err = used.Do(ctx, r)
	return result, used, err
}

// isForAllClients reports whether a request is the same for all clients, and is sent once for all
// of them.
func isForAllClients(method string) bool {
	return strings.HasPrefix(method, "resources/") && strings.HasSuffix(method, "subscribe") ||
		method == protocol.MethodSetLevel || method == protocol.MethodPing
}
