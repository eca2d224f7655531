package interop

import (
	"fmt"
	"slices"
	"sync"
)

// Event is something that happened to a server of a [Fleet].
type Event struct {
	Kind   EventKind
	Server string
	// Status is the server's health after the event; zero when it was added or removed.
	Status EndpointStatus
	// Quarantined is what a listing left out; nil after other events.
	Quarantined []Quarantine
}

// EventKind says what happened.
type EventKind string

// What happens to a server. Of one id a server is always removed before the
// next one is added. Of a successor that is connected beside a server nothing is
// told before it takes its place; then, in one go, removed, added, connecting, and
// ready or faulted. One that never does, because yet another was applied, is never told of.
const (
	ServerAdded      EventKind = "added"      // it has a slot, and the one that had its id before has none, and takes no calls
	ServerConnecting EventKind = "connecting" // an attempt begins
	ServerReady      EventKind = "ready"      // it is connected, and listed; or Status.Fault says why its listing failed
	ServerFaulted    EventKind = "faulted"    // it could not be connected, or its connection died
	ServerWithdrawn  EventKind = "withdrawn"  // its tools are no longer listed
	ServerListed     EventKind = "listed"     // its tools were listed anew, or that failed: see Status.Fault
	ServerRemoved    EventKind = "removed"    // it has no slot any more, and is closed; or the next one of its id is there, and its last calls end beside it
)

func (e Event) String() string { return fmt.Sprintf("%s: %s", e.Server, e.Kind) }

// events tells listeners of what happens: each of all that happens while it
// listens, in order, from one goroutine and with no lock held.
type events struct {
	mu        sync.Mutex
	calm      *sync.Cond  // a call of notify, or all of them, are over
	listeners []*listener // never changed in place: what is queued refers to it
	queue     []told
	running   bool // a goroutine delivers
}

type told struct {
	event Event
	to    []*listener
}

type listener struct {
	notify        func(Event)
	running, gone bool // guarded by events.mu
}

func newEvents() *events {
	q := &events{}
	q.calm = sync.NewCond(&q.mu)
	return q
}

// add registers notify. After stop has returned it is not called again; stop
// must not be called from within notify.
func (q *events) add(notify func(Event)) (stop func()) {
	one := &listener{notify: notify}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.listeners = append(slices.Clone(q.listeners), one)
	return func() { q.drop(one) }
}

func (q *events) drop(one *listener) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.listeners = slices.DeleteFunc(slices.Clone(q.listeners), func(l *listener) bool { return l == one })
	one.gone = true
	for one.running {
		q.calm.Wait()
	}
}

// tell queues an event and returns at once: it may be called with locks held. A
// goroutine delivers what is queued, and ends when all is told.
func (q *events) tell(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.listeners) == 0 {
		return
	}
	q.queue = append(q.queue, told{e, q.listeners})
	if !q.running {
		q.running = true
		go q.deliver()
	}
}

func (q *events) deliver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.queue) > 0 {
		next := q.queue[0]
		q.queue = q.queue[1:]
		for _, l := range next.to {
			q.call(l, next.event)
		}
	}
	q.queue, q.running = nil, false
	q.calm.Broadcast()
}

// call runs one notify. It is called with mu held, and lets go of it meanwhile.
func (q *events) call(l *listener, e Event) {
	if l.gone {
		return
	}
	l.running = true
	q.mu.Unlock()
	l.notify(e)
	q.mu.Lock()
	l.running = false
	q.calm.Broadcast()
}

// flush returns once all that was told has been delivered.
func (q *events) flush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.running {
		q.calm.Wait()
	}
}
