// Package inflight finds the request that a message of a server belongs to. Over stdio, a message of a server does not
// name its request, and a connection may have many callers.
//
// A [Table] holds the requests in flight on one connection. All its methods may be called from any goroutine.
package inflight

import (
	"context"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/lane"
	"github.com/indusagi/indus/toolbox"
)

// Client is the client of a request. The methods of the zero value are called too: it means that there is no client.
type Client interface {
	comparable
	// SessionID returns the session of the client, or "" if it has none.
	SessionID() string
	// Receives reports whether the client can receive a message of this method that names no request: during one of its
	// own requests, or at any time.
	Receives(method string, duringRequest bool) bool
}

// Request is a request in flight, during which the server may send messages and questions.
type Request[C Client] struct {
	Ctx      context.Context // ends with the request
	Client   C
	Caller   toolbox.Principal
	Exchange uint64              // Message.Of of the request
	Limits   *conn.CallDeadlines // nil if there are none
	Subject  lane.Subject        // the kind of the request, see [lane.Habits]
}

// Table holds the requests in flight on one connection. The zero value is ready.
type Table[C Client] struct {
	mu            sync.Mutex
	last          uint64 // the number of the last request
	open          map[uint64]*Request[C]
	changed       watch.Wake  // of questions that wait for the next Add or Remove
	unreplied     []unreplied // requests that ended without a reply; the server may still work on them, and ask
	openQuestions int         // questions that wait for an answer

	used        bool // the connection was used, by firstCaller
	firstCaller toolbox.Principal
	manyCallers bool // there were callers besides firstCaller
	hadClient   bool // there was a request with a client
	soleClient  C    // the only client, as of its last request; zero if there is none, or several
}

// unreplied is a request that ended without a reply.
type unreplied struct {
	number  uint64
	ended   time.Time
	session string // of its client
}

// maxUnreplied bounds how many unreplied requests are remembered. The newest are kept.
const maxUnreplied = 64

// AddCaller records a caller that uses the connection without a request of its own. Messages of the server then may
// concern that caller, and no other receives them.
func (t *Table[C]) AddCaller(caller toolbox.Principal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addCaller(caller)
}

// addCaller is AddCaller with mu held.
func (t *Table[C]) addCaller(caller toolbox.Principal) {
	if !t.used {
		t.used, t.firstCaller = true, caller
	}
	t.manyCallers = t.manyCallers || caller != t.firstCaller
}

// Expect records the client of the connection, before the server can ask, or for requests that belong to no client.
func (t *Table[C]) Expect(caller toolbox.Principal, client C) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addClient(caller, client)
}

// addClient records a client that uses the connection, if there is one. Call it with mu held.
func (t *Table[C]) addClient(caller toolbox.Principal, client C) {
	var none C
	if client == none {
		return
	}
	t.addCaller(caller)
	session := client.SessionID()
	switch {
	case !t.hadClient, t.soleClient != none && !t.manyCallers && session != "" && session == t.soleClient.SessionID():
		t.hadClient, t.soleClient = true, client
	default:
		t.soleClient = none
	}
}

// Add records a request in flight, until Remove, and returns its number.
func (t *Table[C]) Add(r *Request[C]) (number uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[uint64]*Request[C]{}
	}
	t.last++
	t.open[t.last] = r
	t.changed.All()
	if r.Caller != "" { // otherwise it is for all
		t.addCaller(r.Caller)
	}
	t.addClient(r.Caller, r.Client)
	return t.last
}

// Remove ends a request. replied reports whether its server has sent a reply.
func (t *Table[C]) Remove(number uint64, replied bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !replied {
		cut := unreplied{number, time.Now(), t.open[number].Client.SessionID()}
		t.unreplied = append(t.unreplied[max(0, len(t.unreplied)+1-maxUnreplied):], cut)
	}
	delete(t.open, number)
	t.changed.All()
}

// Find returns the request in flight with that number, or nil if there is none.
func (t *Table[C]) Find(number uint64) *Request[C] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[number]
}

// HasUnreplied reports whether a question may arrive for a request that is over.
func (t *Table[C]) HasUnreplied() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.unreplied) > 0
}

// NotificationTarget returns the newest request in flight, if a notification without a request can belong only to its
// client. It returns 0 if there is none. On a connection of several callers it returns 0, because the notification may
// concern another caller.
func (t *Table[C]) NotificationTarget(method string) (newest uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.manyCallers {
		return 0
	}
	var none C
	for number, r := range t.open {
		switch {
		case !r.Client.Receives(method, true):
		case newest != 0 && t.soleClient == none:
			return 0
		default:
			newest = max(newest, number)
		}
	}
	return newest
}

// SessionClient returns the receiver of a message that belongs to no request, or arrived too late for it: the only
// client of the connection. It returns the zero value if there is none.
func (t *Table[C]) SessionClient(method string) (client C) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.manyCallers && t.soleClient.Receives(method, false) {
		client = t.soleClient
	}
	return client
}

// PauseDeadlines pauses the silence deadline of all requests in flight while the server waits for an answer.
func (t *Table[C]) PauseDeadlines() (release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.openQuestions++
	var releases []func()
	for _, r := range t.open {
		releases = append(releases, r.Limits.Pause())
	}
	return func() {
		t.mu.Lock()
		t.openQuestions--
		t.mu.Unlock()
		for _, release := range releases {
			release()
		}
	}
}

// AwaitsAnswer reports whether the server waits for an answer.
func (t *Table[C]) AwaitsAnswer() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.openQuestions > 0
}
