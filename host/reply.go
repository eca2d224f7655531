package host

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/memory"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

const (
	// writeWait bounds the write of writeChunk bytes to a client that has stopped reading.
	writeWait  = 30 * time.Second
	writeChunk = 256 << 10
	// buffered is the number of bytes that net/http holds back until the handler returns. The write of a longer answer
	// may block if the client reads no answers.
	buffered = 2 << 10
)

// hostReply is the HTTP answer to one request. It is one JSON object. If a message must be sent before the result, it
// becomes an event stream.
type hostReply struct {
	w                 http.ResponseWriter
	id                json.RawMessage
	keepAliveInterval time.Duration // the silence after which a comment is sent; 0: never
	accepts           acceptance
	memory            *interop.Memory
	failed            func()         // called once, when a write to the client fails
	events            *sessionEvents // keeps the event stream for a reconnect; nil: not kept
	sendsPrime        bool           // the stream begins with an event without data

	mu       sync.Mutex // held while writing, so that messages are sent in order
	stream   bool       // the event stream has begun
	finished bool
	timer    *time.Timer
	// The following are used for a stream that is kept, once it has begun. w is nil while there is no connection.
	name           streamName
	done           chan struct{}   // closed when the answer is sent
	replaced       chan struct{}   // of the connection w; nil: the first one
	disconnected   <-chan struct{} // closed when w's client has disconnected
	hasNotesStream func() bool     // reports whether the session has a stream for its own messages
}

var (
	errReplySent = errors.New("the answer has been sent")
	errNoStream  = errors.New("the client does not accept text/event-stream")

	errNoConnection = errors.New("the client has lost its connection, and this is too large to be kept for it")
)

// open starts the timer that keeps the connection alive.
func (r *hostReply) open() {
	wait := r.keepAliveInterval
	if r.sendsPrime && (wait <= 0 || wait > primeWait) {
		wait = primeWait
	}
	if wait > 0 && r.accepts.stream {
		r.mu.Lock()
		r.timer = time.AfterFunc(wait, r.keepAlive)
		r.mu.Unlock()
	}
}

func (r *hostReply) keepAlive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.finished, r.stream && r.keepAliveInterval <= 0:
	case !r.stream && r.sendsPrime:
		_ = r.send()
	default:
		_ = r.send([]byte(":\n\n"))
	}
}

// sendMessage sends a notification or a request on the request's own stream.
func (r *hostReply) sendMessage(id json.RawMessage, method string, params ...[]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.finished:
		return errReplySent
	case !r.accepts.stream:
		return errNoStream
	case id != nil && r.isDisconnected() && r.hasNotesStream(): // a question does not have to wait for the reconnect
		return errNoStream
	}
	frame := messageFrame(id, method, params)
	err := r.event(frame, nil)
	if err == nil && id != nil && r.w == nil && !r.events.replay.fits(frame) {
		err = errNoConnection // the client will never see it, and so cannot answer
	}
	return err
}

// isLive reports whether messages can be sent before the answer now. If a write is running, it returns false instead of
// waiting.
func (r *hostReply) isLive() bool {
	if !r.mu.TryLock() {
		return false
	}
	defer r.mu.Unlock()
	return !r.finished && r.accepts.stream && !r.isDisconnected()
}

// event sends a message. If the message is too large to be kept, instead is kept for a client that reconnects. If
// instead is nil, nothing is kept. Call it with mu held.
func (r *hostReply) event(frame, instead [][]byte) error {
	if r.events == nil {
		return r.send(eventOf("", frame)...)
	}
	r.begin()
	seq, _ := r.events.add(r.name, nil, frame, instead)
	return r.send(eventOf(eventID(r.name, seq), frame)...)
}

// send writes to the event stream, and begins it if necessary. Call it with mu held.
func (r *hostReply) send(parts ...[]byte) error {
	r.begin()
	if r.isDisconnected() {
		return nil
	}
	err := writeEvents(r.w, r.memory, parts)
	switch {
	case err != nil && r.events != nil:
		r.w, err = nil, nil
	case err != nil:
		r.finished = true
		if r.failed != nil {
			r.failed()
		}
	case r.timer != nil && r.keepAliveInterval > 0:
		r.timer.Reset(r.keepAliveInterval)
	}
	return err
}

// begin begins the event stream. Call it with mu held.
func (r *hostReply) begin() {
	if r.stream {
		return
	}
	r.stream = true
	beginStream(r.w)
	if r.events != nil {
		r.name, r.done = r.events.begin(answerStream, r), make(chan struct{})
	}
	if r.sendsPrime {
		_ = writeEvents(r.w, nil, [][]byte{r.events.prime(r.name)}) // even a client that lost its connection may have read it
	}
}

// finish sends the answer. Nothing is sent after it.
func (r *hostReply) finish(a frontAnswer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.finished {
		return
	}
	switch {
	case a.isEmpty():
		if !r.stream {
			r.events, r.sendsPrime = nil, false
			_ = r.send()
		}
	case r.stream || !r.accepts.json:
		_ = r.event(answerFrame(r.id, a), r.tooLarge())
	default:
		if a.after > 0 {
			setRetryAfter(r.w, a.after)
		}
		writeAnswer(r.w, r.memory, a.status, answerFrame(r.id, a))
	}
	r.finished = true
	if r.done != nil {
		r.events.finish(r.name)
		close(r.done)
	}
	if r.stream && r.w != nil { // the connection is used again
		_ = http.NewResponseController(r.w).SetWriteDeadline(time.Time{})
	}
}

// boundWrites bounds a write that Close waits for, until undo is called.
func (h *Host) boundWrites(w http.ResponseWriter) (undo func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(h.ctx, func() {
		defer close(done)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeGrace))
	})
	return func() {
		if !stop() {
			<-done // w may not be used after the handler
		}
	}
}

// beginStream sends the header of an event stream.
func beginStream(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-store"}
	h["X-Accel-Buffering"] = []string{"no"}
	w.WriteHeader(http.StatusOK)
}

// writeStream writes and flushes in bounded time.
func writeStream(w http.ResponseWriter, parts ...[]byte) error { return writeEvents(w, nil, parts) }

// writeEvents writes and flushes. A stalled write is interrupted when its memory is needed.
func writeEvents(w http.ResponseWriter, m *interop.Memory, parts [][]byte) error {
	c := http.NewResponseController(w)
	if err := writeParts(w, c, m, parts); err != nil {
		return err
	}
	if err := c.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// writeParts writes piece after piece. Each writeChunk bytes have their own deadline. If the server supports no write
// deadlines, only the server's own deadline applies.
func writeParts(w http.ResponseWriter, c *http.ResponseController, m *interop.Memory, parts [][]byte) error {
	var t *memory.Transfer
	if lengthOf(parts) > memory.Small {
		t = m.Transfer(func() { _ = c.SetWriteDeadline(time.Now()) })
		defer t.End()
	}
	for _, p := range parts {
		for len(p) > 0 {
			n := min(len(p), writeChunk)
			_ = c.SetWriteDeadline(time.Now().Add(writeWait))
			t.Waits()
			if _, err := w.Write(p[:n]); err != nil {
				return err
			}
			t.Moved(n)
			p = p[n:]
		}
	}
	return nil
}

func lengthOf(parts [][]byte) (n int) {
	for _, p := range parts {
		n += len(p)
	}
	return n
}

// writeAnswer writes one JSON object, in pieces, as the whole answer. A stalled write is interrupted when its memory is
// needed.
func writeAnswer(w http.ResponseWriter, m *interop.Memory, status int, parts [][]byte) {
	size := lengthOf(parts)
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(size)}
	if status == 0 {
		status = http.StatusOK
	}
	w.WriteHeader(status)
	if size <= buffered { // it is sent when the handler returns
		for _, p := range parts {
			_, _ = w.Write(p)
		}
		return
	}
	c := http.NewResponseController(w)
	_ = writeParts(w, c, m, parts)
	_ = c.SetWriteDeadline(time.Time{}) // the connection is used again
}

// answerFrame returns an answer as a message, in pieces.
func answerFrame(id json.RawMessage, a frontAnswer) [][]byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	head := append(append(make([]byte, 0, len(id)+40), `{"jsonrpc":"2.0","id":`...), id...)
	if a.err != nil {
		head = append(append(head, `,"error":`...), a.err.Object()...)
		return [][]byte{append(head, '}')}
	}
	frame := make([][]byte, 0, len(a.result)+2)
	frame = append(frame, append(head, `,"result":`...))
	frame = append(frame, a.result...)
	return append(frame, []byte("}"))
}

// messageFrame returns a notification, or a request if it has an id, as a message in pieces.
func messageFrame(id json.RawMessage, method string, params [][]byte) [][]byte {
	head := []byte(`{"jsonrpc":"2.0",`)
	if id != nil {
		head = append(append(append(head, `"id":`...), id...), ',')
	}
	head = append(append(head, `"method":`...), wire.Quote(method)...)
	if len(params) == 0 || len(params[0]) == 0 {
		return [][]byte{append(head, '}')}
	}
	frame := append([][]byte{append(head, `,"params":`...)}, params...)
	return append(frame, []byte("}"))
}

// eventOf returns a message as a Server-Sent Event. id may be "".
func eventOf(id string, frame [][]byte) [][]byte {
	head := "event: message\ndata: "
	if id != "" {
		head = "event: message\nid: " + id + "\ndata: "
	}
	event := append(make([][]byte, 0, len(frame)+2), []byte(head))
	for _, p := range frame {
		event = append(event, wire.OneLine(p))
	}
	return append(event, []byte("\n\n"))
}
