package interop

import (
	"fmt"
	"slices"
	"sync"
)

// Event is a change of a server of a [Fleet].
type Event struct {
	Kind   EventKind
	Server string
	// Status is the server's health after the event. It is zero if the server was added or
	// removed.
	Status EndpointStatus
	// Quarantined holds the tools that a listing left out. It is nil for other events.
	Quarantined []Quarantine
}

// EventKind is the kind of a change.
type EventKind string

// The kinds of events. A server is always removed before the next server with the same id is
// added. A successor that connects beside a server reports nothing before it takes its place.
// Then its events follow in one step: removed, added, connecting, and ready or faulted. A
// successor that never takes its place, because another configuration was applied, is never
// reported.
const (
	ServerAdded      EventKind = "added"      // it is in the fleet; the previous server of its id accepts no more calls
	ServerConnecting EventKind = "connecting" // an attempt begins
	ServerReady      EventKind = "ready"      // it is connected and listed; Status.Fault is the reason of a failed listing
	ServerIdle       EventKind = "idle"       // it is not connected until a request needs it; its list stays
	ServerFaulted    EventKind = "faulted"    // it could not be connected, or its connection was lost
	ServerWithdrawn  EventKind = "withdrawn"  // its tools are no longer listed
	ServerListed     EventKind = "listed"     // its tools were listed again, or that failed: see Status.Fault
	ServerRemoved    EventKind = "removed"    // it is closed, or replaced while its last calls end
)

func (e Event) String() string { return fmt.Sprintf("%s: %s", e.Server, e.Kind) }

// events delivers events to listeners.
type events struct {
	mu        sync.Mutex
	listeners []*listener // replaced, never changed in place
}

// listener receives all events in order while it is registered. One goroutine delivers them,
// and ends when the queue is empty.
type listener struct {
	notify func(Event)

	mu      sync.Mutex
	idle    *sync.Cond // signals that no goroutine delivers
	queue   []Event
	running bool
	stopped bool
}

// add registers notify. After stop has returned, notify is not called again. Do not call stop
// from within notify.
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

// report queues an event and returns at once. It may be called with locks held.
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

// flush waits until all reported events have been delivered.
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
