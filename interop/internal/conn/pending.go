package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/watch"
)

// pending is a call that waits for its answer. It keeps the messages of the call until the goroutine of the call takes
// them. So the reading of a stream never waits for a slow Receiver.
type pending struct {
	id      int64
	ctx     context.Context
	request *Request
	signal  chan struct{} // one slot: a message or the result waits
	begun   atomic.Bool   // a message of the call arrived, so it runs

	mu     sync.Mutex
	notes  backlog
	result json.RawMessage
	err    error
	done   bool

	delivering sync.Mutex // held while Receive runs
	returned   bool       // Receive is not called any more
}

func newPending(ctx context.Context, id int64, r *Request) *pending {
	return &pending{id: id, ctx: ctx, request: r, signal: make(chan struct{}, 1)}
}

// add keeps a notification for [pending.take]. It returns false if the call has its answer already.
func (p *pending) add(m Message) (added bool) {
	p.begun.Store(true)
	if p.request.Receive == nil {
		return true
	}
	m.Of = p.request.Of
	p.mu.Lock()
	added = !p.done
	if added {
		p.notes.put(m)
	}
	p.mu.Unlock()
	watch.Signal(p.signal)
	return added
}

// finish sets the result; only the first call counts.
func (p *pending) finish(result json.RawMessage, err error) {
	p.mu.Lock()
	if !p.done {
		p.done, p.result, p.err = true, result, err
	}
	p.mu.Unlock()
	watch.Signal(p.signal)
}

// outcome returns the result, once it is set.
func (p *pending) outcome() (result json.RawMessage, err error, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.result, p.err, p.done
}

// take delivers the notifications that arrived before the result, and returns the result.
func (p *pending) take() (result json.RawMessage, err error, done bool) {
	result, err, done = p.outcome()
	p.deliver()
	return result, err, done
}

// deliver passes the notifications to Receive, one goroutine at a time.
func (p *pending) deliver() {
	p.delivering.Lock()
	defer p.delivering.Unlock()
	p.mu.Lock()
	notes := p.notes.Take()
	p.mu.Unlock()
	for _, m := range notes {
		if !p.returned {
			_, _ = p.request.Receive(p.ctx, m)
		}
	}
}

// endDelivery ends deliveries, because the call returns.
func (p *pending) endDelivery() {
	p.delivering.Lock()
	defer p.delivering.Unlock()
	p.returned = true
}

// These are the bounds of the messages that wait for a slow Receiver, in messages and bytes. Only progress and logs are
// numerous, and the newest matter most, so the oldest are dropped. Changes are dropped last; there may be many of
// resources.
const (
	maxQueued      = 1024
	maxChanges     = 8 * maxQueued
	maxQueuedBytes = 8 << 20
)

// backlog holds waiting messages, in wire order and within bounds. A change waits once.
type backlog struct{ watch.Backlog[Message] }

func (b *backlog) put(m Message) {
	m.Params = bytes.Clone(m.Params) // the params must not keep the whole frame in memory
	b.Put(changeKey(m), len(m.Params)+len(m.Method), m)
	for {
		switch changes, others, size := b.Size(); {
		case others > maxQueued, size > maxQueuedBytes && others > 0 && others+changes > 1:
			b.DropFirst(false)
		case changes > maxChanges, size > maxQueuedBytes && changes > 1:
			b.DropFirst(true)
		default:
			return
		}
	}
}

// changeKey returns a key for the list or resource that a message reports as changed. It returns "" for other messages.
func changeKey(m Message) string {
	switch {
	case !ConcernsAll(m.Method):
		return ""
	case m.Method == protocol.NoteResourceUpdated:
		return m.Method + string(m.Params)
	}
	return m.Method
}

// queue passes messages that belong to no call to one goroutine, in wire order.
type queue struct {
	mu      sync.Mutex
	waiting backlog
	signal  chan struct{}
}

func (q *queue) put(m Message) {
	q.mu.Lock()
	q.waiting.put(m)
	q.mu.Unlock()
	watch.Signal(q.signal)
}

// run calls handle for each message until ctx ends.
func (q *queue) run(ctx context.Context, handle func(Message)) {
	for {
		select {
		case <-q.signal:
		case <-ctx.Done():
			return
		}
		q.mu.Lock()
		batch := q.waiting.Take()
		q.mu.Unlock()
		for _, m := range batch {
			if ctx.Err() != nil {
				return
			}
			handle(m)
		}
	}
}
