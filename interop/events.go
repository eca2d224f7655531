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

// What happens to a server. Of one id a server is always removed before the next one is
// added. Of a successor that is connected beside a server nothing is reported before it takes
// its place; then, in one go, removed, added, connecting, and ready or faulted. One that never
// does, because yet another configuration was applied, is never reported.
const (
	ServerAdded      EventKind = "added"      // it is in the fleet; the one that had its id before takes no more calls
	ServerConnecting EventKind = "connecting" // an attempt begins
	ServerReady      EventKind = "ready"      // it is connected, and listed; or Status.Fault says why its listing failed
	ServerIdle       EventKind = "idle"       // it is not connected until somebody needs it; what it lists stays
	ServerFaulted    EventKind = "faulted"    // it could not be connected, or its connection died
	ServerWithdrawn  EventKind = "withdrawn"  // its tools are no longer listed
	ServerListed     EventKind = "listed"     // its tools were listed anew, or that failed: see Status.Fault
	ServerRemoved    EventKind = "removed"    // it is closed; or the next one of its id is there, and its last calls end beside it
)

func (e Event) String() string { return fmt.Sprintf("%s: %s", e.Server, e.Kind) }

// events delivers what happens to listeners.
type events struct {
	mu        sync.Mutex
	listeners []*listener // replaced, never changed in place
}

// listener gets all that happens while it listens, in order, from one goroutine, which
// ends when there is nothing to deliver.
type listener struct {
	notify func(Event)

	mu      sync.Mutex
	idle    *sync.Cond // no goroutine delivers
	queue   []Event
	running bool
	stopped bool
}

// add registers notify. After stop has returned it is not called again; stop
// must not be called from within notify.
func (es *events) add(notify func(Event)) (stop func()) {
	l := &listener{notify: notify}
	l.idle = sync.NewCond(&l.mu)
	es.mu.Lock()
	defer es.mu.Unlock()
	es.listeners = append(slices.Clone(es.listeners), l)
	return func() {
		es.mu.Lock()
		es.listeners = slices.DeleteFunc(slices.Clone(es.listeners), func(o *listener) bool { return o == l })
		es.mu.Unlock()
		l.mu.Lock()
		l.stopped = true
		l.mu.Unlock()
		l.wait()
	}
}

// report queues an event and returns at once: it may be called with locks held.
func (es *events) report(e Event) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, l := range es.listeners {
		l.mu.Lock()
		l.queue = append(l.queue, e)
		if !l.running && !l.stopped {
			l.running = true
			go l.deliver()
		}
		l.mu.Unlock()
	}
}

// flush returns once all that was reported has been delivered.
func (es *events) flush() {
	es.mu.Lock()
	listeners := es.listeners
	es.mu.Unlock()
	for _, l := range listeners {
		l.wait()
	}
}

func (l *listener) deliver() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 && !l.stopped {
		next := l.queue[0]
		l.queue = l.queue[1:]
		l.mu.Unlock()
		l.notify(next)
		l.mu.Lock()
	}
	l.queue, l.running = nil, false
	l.idle.Broadcast()
}

func (l *listener) wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.running {
		l.idle.Wait()
	}
}
