package interop

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
)

// What may wait for a slow listener, in messages and in bytes. Progress and
// logs are all that comes in numbers, and the newest say it all: the oldest go.
const (
	maxQueued      = 1024
	maxQueuedBytes = 8 << 20
)

// backlog is messages that wait, in wire order and within bounds. Not even a
// flood loses the word that a list changed.
type backlog struct {
	messages []Message
	size     int
}

func (b *backlog) put(m Message) {
	m.Params = bytes.Clone(m.Params) // it would keep all of its frame
	b.messages = append(b.messages, m)
	b.size += len(m.Params) + len(m.Method)
	for len(b.messages) > 1 && (len(b.messages) > maxQueued || b.size > maxQueuedBytes) {
		b.drop()
	}
}

// drop loses the oldest message that is no list_changed.
func (b *backlog) drop() {
	i := max(0, slices.IndexFunc(b.messages, func(m Message) bool { return m.Method != protocol.NoteToolsChanged }))
	b.size -= len(b.messages[i].Params) + len(b.messages[i].Method)
	if i == 0 {
		b.messages = b.messages[1:]
		return
	}
	b.messages = slices.Delete(b.messages, i, i+1)
}

func (b *backlog) take() []Message {
	all := b.messages
	*b = backlog{}
	return all
}

// mailbox collects what a server sends for one exchange, in wire order, for the
// one goroutine that waits for the exchange's result.
type mailbox struct {
	mu     sync.Mutex
	notes  backlog
	result json.RawMessage
	err    error
	done   bool
	signal chan struct{} // one slot: something is there
}

func newMailbox() *mailbox { return &mailbox{signal: make(chan struct{}, 1)} }

func (b *mailbox) note(m Message) {
	b.mu.Lock()
	if !b.done {
		b.notes.put(m)
	}
	b.mu.Unlock()
	wake(b.signal)
}

// finish sets the result; only the first call counts.
func (b *mailbox) finish(result json.RawMessage, err error) {
	b.mu.Lock()
	if !b.done {
		b.done, b.result, b.err = true, result, err
	}
	b.mu.Unlock()
	wake(b.signal)
}

// take empties the box.
func (b *mailbox) take() (notes []Message, result json.RawMessage, err error, done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes.take(), b.result, b.err, b.done
}

func wake(signal chan<- struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// inbox hands a connection's unsolicited messages to one goroutine, in wire
// order, so that whoever handles them never stalls the reading.
type inbox struct {
	mu     sync.Mutex
	queue  backlog
	signal chan struct{}
	stop   chan struct{}
	once   sync.Once
}

func newInbox() *inbox {
	return &inbox{signal: make(chan struct{}, 1), stop: make(chan struct{})}
}

func (q *inbox) put(m Message) {
	q.mu.Lock()
	q.queue.put(m)
	q.mu.Unlock()
	wake(q.signal)
}

// run calls handle for each message until close.
func (q *inbox) run(handle func(Message)) {
	for {
		select {
		case <-q.signal:
		case <-q.stop:
			return
		}
		q.mu.Lock()
		batch := q.queue.take()
		q.mu.Unlock()
		for _, m := range batch {
			select {
			case <-q.stop:
				return
			default:
			}
			handle(m)
		}
	}
}

func (q *inbox) close() { q.once.Do(func() { close(q.stop) }) }
