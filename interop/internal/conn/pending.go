package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/watch"
)

// pending is a call that waits for its answer. What arrives for it is kept here, until the
// goroutine of the call takes it: reading a stream never waits for a slow Receiver.
type pending struct {
	ctx     context.Context
	request *Request
	signal  chan struct{} // one slot: something is there

	mu     sync.Mutex
	notes  backlog
	result json.RawMessage
	err    error
	done   bool

	delivering sync.Mutex // held while Receive runs
	returned   bool       // Receive is not called any more
}

func newPending(ctx context.Context, r *Request) *pending {
	return &pending{ctx: ctx, request: r, signal: make(chan struct{}, 1)}
}

// add keeps a notification for [pending.take]; false where the call has its answer already.
func (p *pending) add(m Message) (kept bool) {
	if p.request.Receive == nil {
		return true
	}
	m.Of = p.request.Of
	p.mu.Lock()
	if kept = !p.done; kept {
		p.notes.put(m)
	}
	p.mu.Unlock()
	signalOnce(p.signal)
	return kept
}

// finish sets the result; only the first call counts.
func (p *pending) finish(result json.RawMessage, err error) {
	p.mu.Lock()
	if !p.done {
		p.done, p.result, p.err = true, result, err
	}
	p.mu.Unlock()
	signalOnce(p.signal)
}

// outcome is the result, once it is there.
func (p *pending) outcome() (result json.RawMessage, err error, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.result, p.err, p.done
}

// take is outcome, after the notifications that have arrived before it are delivered.
func (p *pending) take() (result json.RawMessage, err error, done bool) {
	result, err, done = p.outcome()
	p.deliver()
	return result, err, done
}

// deliver hands over the notifications, one goroutine at a time.
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

// leave ends deliveries: the call returns.
func (p *pending) leave() {
	p.delivering.Lock()
	defer p.delivering.Unlock()
	p.returned = true
}

func signalOnce(signal chan<- struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// How much may wait for a slow Receiver, in messages and in bytes. Only progress and logs come in
// numbers, and the newest are the ones that matter: the oldest are dropped. Changes are dropped
// last; of resources there may be many.
const (
	maxQueued      = 1024
	maxChanges     = 8 * maxQueued
	maxQueuedBytes = 8 << 20
)

// backlog is messages that wait, in wire order and within bounds. A change waits once.
type backlog struct{ watch.Backlog[Message] }

func (b *backlog) put(m Message) {
	m.Params = bytes.Clone(m.Params) // it would keep all of its frame
	b.Put(changeOf(m), len(m.Params)+len(m.Method), m)
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

// changeOf is what a message says has changed: a list, or a resource; "": it says something else.
func changeOf(m Message) string {
	switch {
	case !ConcernsAll(m.Method):
		return ""
	case m.Method == protocol.NoteResourceUpdated:
		return m.Method + string(m.Params)
	}
	return m.Method
}

// queue hands messages that belong to no call to one goroutine, in wire order.
type queue struct {
	mu     sync.Mutex
	waits  backlog
	signal chan struct{}
}

func (q *queue) put(m Message) {
	q.mu.Lock()
	q.waits.put(m)
	q.mu.Unlock()
	signalOnce(q.signal)
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
		batch := q.waits.Take()
		q.mu.Unlock()
		for _, m := range batch {
			if ctx.Err() != nil {
				return
			}
			handle(m)
		}
	}
}
