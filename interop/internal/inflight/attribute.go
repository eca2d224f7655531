package inflight

import (
	"context"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/lane"
)

const (
	// attributionWait bounds the wait of a question until it can belong to only one request.
	attributionWait = 10 * time.Second
	// unrepliedMemory is how long a question may belong to a request that ended without a reply.
	unrepliedMemory = time.Minute
	// firstRequestWait is how long a question that arrives before any request waits for the first request, for which
	// the connection was made.
	firstRequestWait = 5 * time.Second
)

// errAmbiguousQuestion refuses a question that names no request if more than one client may have caused it.
var errAmbiguousQuestion = &protocol.RPCError{Code: protocol.CodeInternal,
	Message: "several requests are under way, and it is not known which of them this belongs to; " +
		"the next such call has a connection of its own: call again"}

// Attribute returns the request, or the client of the session, that a question without a request belongs to. It is the
// only client that uses the connection, or the only request in flight. If there are several, Attribute waits until the
// others have ended, because the request that asks cannot end without an answer. If more than one is left after a
// while, the question is refused. h records which requests ask, and may be nil. guessed reports that other requests of
// the same client may have asked instead. If nothing is in flight, all results are zero.
func (t *Table[C]) Attribute(
	ctx context.Context, method string, h *lane.Habits,
) (request *Request[C], session C, guessed bool, err error) {
	t.awaitFirst(ctx)
	t.mu.Lock()
	last, client := t.last, t.soleClient
	if client.Receives(method, false) && len(t.open) != 1 {
		defer t.mu.Unlock()
		return nil, client, false, nil
	}
	t.mu.Unlock()
	c := t.candidates(last)
	if h != nil {
		settle := h.RecordQuestion(c.subjects)
		defer func() { settle(c.subjects) }()
	}
	for late := time.After(attributionWait); c.clients > 1; c = t.candidates(last) {
		select {
		case <-c.changed:
		case <-late:
			return nil, session, false, errAmbiguousQuestion
		case <-ctx.Done():
			return nil, session, false, ctx.Err()
		}
	}
	if c.inFlight > 1 && c.newest.Client.Receives(method, false) {
		return nil, c.newest.Client, false, nil
	}
	return c.newest, session, c.inFlight > 1, nil
}

// awaitFirst waits until there is or was a request.
func (t *Table[C]) awaitFirst(ctx context.Context) {
	t.mu.Lock()
	if t.last > 0 {
		t.mu.Unlock()
		return
	}
	started := t.changed.Next()
	t.mu.Unlock()
	select {
	case <-started:
	case <-time.After(firstRequestWait):
	case <-ctx.Done():
	}
}

// candidates holds the requests that a question without a request can belong to.
type candidates[C Client] struct {
	newest   *Request[C]
	inFlight int            // how many are in flight
	clients  int            // their clients; each request without a session counts as one
	subjects []lane.Subject // their kinds
	changed  <-chan struct{}
}

// candidates returns the candidates among the requests up to last, which was the newest when the question arrived. A
// request that ended without a reply counts for a while.
func (t *Table[C]) candidates(last uint64) (c candidates[C]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sessions := map[string]bool{}
	count := func(session string) {
		if session == "" || !sessions[session] {
			c.clients++
		}
		sessions[session] = true
	}
	var newest uint64
	for number, r := range t.open {
		if number > last {
			continue
		}
		c.inFlight++
		count(r.Client.SessionID())
		if r.Subject != (lane.Subject{}) {
			c.subjects = append(c.subjects, r.Subject)
		}
		if number > newest {
			c.newest, newest = r, number
		}
	}
	for _, cut := range t.unreplied {
		if c.inFlight > 0 && cut.number <= last && time.Since(cut.ended) < unrepliedMemory {
			count(cut.session)
		}
	}
	c.changed = t.changed.Next()
	return c
}
