package interop

import (
	"context"
	"encoding/json"
)

// Request sends one request of any method to a server, and waits for its result, as
// [Fleet.Do] does for a tool: it waits for a server that is being connected, counts for the
// caller's bound there, and goes out once more where it provably was not handled. Its
// failures are those of [Endpoint.Do].
//
// What the server may know of the client behind it, and how it reaches that one, is what
// [ClientOf] finds in ctx.
func (f *Fleet) Request(ctx context.Context, server string, m Message) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	of := findMember(f.all(), server)
	if of == nil {
		return nil, NewFault(NotConnected, server, "no such server", nil)
	}
	leave, err := f.calls.enter(ctx, server, m.Caller)
	if err != nil {
		return nil, err
	}
	defer leave()
	for again := true; ; again = false {
		e, err := of.connected(ctx, "")
		if err != nil {
			return nil, err
		}
		r, err := e.Do(ctx, m)
		e.end()
		if !again || !e.refused(err) || !e.dies(ctx) {
			return r, err
		}
	}
}
