package host

import (
	"bytes"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/wire"
)

const (
	defaultReplayEach = 1 << 20
	defaultReplayAll  = 32 << 20
	maxReplayEvents   = 256             // of one session
	replayTime        = 5 * time.Minute // how long a client may take to reconnect
	replaySweep       = time.Minute
	eventCost         = 128 // bytes of memory for an event beside its data
)

// Replay keeps the last events that were sent to legacy clients over HTTP. A client that lost its connection receives
// the events that it missed (2025-11-25, basic/transports, "Resumability and Redelivery"). It keeps the last 256 events
// of each session, for five minutes. Several hosts may share one. All methods may be called from any goroutine.
type Replay struct {
	each, all int64

	mu    sync.Mutex
	bytes int64
	held  map[client]int64
	with  map[*keptSession]bool // sessions with events
	sweep *time.Timer           // nil: not set
}

// NewReplay returns a Replay that keeps at most each bytes of a session, and at most all bytes in total. When all is
// reached, the client that holds most bytes loses events. Zero means 1 MiB for each and 32 MiB for all. If each is
// below 0, no events are kept and no stream can be resumed.
func NewReplay(each, all int64) *Replay {
	if each == 0 {
		each = defaultReplayEach
	}
	if all <= 0 {
		all = defaultReplayAll
	}
	return &Replay{each: min(each, all), all: all, held: map[client]int64{}, with: map[*keptSession]bool{}}
}

// streamName names one stream of a session: the answer to a request, or the session's own messages.
type streamName struct {
	kind   byte // answerStream or newsStream
	number uint64
}

const (
	answerStream = 'a'
	newsStream   = 'n'
)

// keptEvent is an event that may be sent again.
type keptEvent struct {
	stream streamName
	seq    uint64
	at     time.Time
	data   []byte // the message, on one line
}

func (e *keptEvent) size() int64 { return int64(len(e.data)) + eventCost }

// keptSession holds the kept events of one session. Its fields are guarded by in.mu.
type keptSession struct {
	in     *Replay
	client client

	seq     uint64 // of the last event
	streams uint64 // number of streams begun
	events  []keptEvent
	bytes   int64
	answers map[uint64]*hostReply        // unfinished answer streams, by number
	holders map[streamName]chan struct{} // closed when another connection takes over the stream
	over    bool
}

// session returns the store for the events of a session, or nil if no events are kept.
func (r *Replay) session(c client) *keptSession {
	if r.each < 0 {
		return nil
	}
	return &keptSession{in: r, client: c, answers: map[uint64]*hostReply{}, holders: map[streamName]chan struct{}{}}
}

// begin names a new stream.
func (k *keptSession) begin(kind byte, reply *hostReply) streamName {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	k.streams++
	if reply != nil && !k.over {
		k.answers[k.streams] = reply
	}
	return streamName{kind, k.streams}
}

// begun reports whether a stream with this name can have existed.
func (k *keptSession) begun(s streamName) bool {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	return s.number > 0 && s.number <= k.streams
}

// answer returns an unfinished answer stream, or nil if there is none.
func (k *keptSession) answer(s streamName) *hostReply {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	return k.answers[s.number]
}

// finish marks a stream as finished. Its events stay.
func (k *keptSession) finish(s streamName) {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	delete(k.answers, s.number)
}

// hold makes the caller the holder of a stream. Only the holder sends the stream's events. The returned channel is
// closed when another connection takes over.
func (k *keptSession) hold(s streamName) chan struct{} {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	if was := k.holders[s]; was != nil {
		close(was)
	}
	holder := make(chan struct{})
	k.holders[s] = holder
	return holder
}

func (k *keptSession) release(s streamName, holder chan struct{}) {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	if k.holders[s] == holder {
		delete(k.holders, s)
	}
}

// mark returns the number of an event without a message. It is not kept.
func (k *keptSession) mark() uint64 {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	k.seq++
	return k.seq
}

// add keeps an event and returns its number. If the frame is too large, it keeps instead, which may be nil. If holder
// is not nil and no longer holds the stream, add returns false.
func (k *keptSession) add(s streamName, holder chan struct{}, frame, instead [][]byte) (seq uint64, ok bool) {
	r := k.in
	if !r.keeps(frame) {
		frame = instead
	}
	e := keptEvent{stream: s, at: time.Now(), data: oneLine(frame)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if holder != nil && k.holders[s] != holder {
		return 0, false
	}
	k.seq++
	e.seq = k.seq
	if frame == nil || k.over {
		return e.seq, true
	}
	for len(k.events) >= maxReplayEvents || k.bytes+e.size() > r.each {
		k.drop(1)
	}
	for r.bytes+e.size() > r.all {
		victim := r.victim()
		victim.drop(len(victim.events))
	}
	k.events = append(k.events, e)
	k.bytes += e.size()
	r.bytes += e.size()
	r.held[k.client] += e.size()
	r.with[k] = true
	if r.sweep == nil {
		r.sweep = time.AfterFunc(replaySweep, r.expire)
	}
	return e.seq, true
}

// keeps reports whether a message is small enough to be kept.
func (r *Replay) keeps(frame [][]byte) bool { return int64(lengthOf(frame))+eventCost <= r.each }

// takeBack removes the last event, which could not be sent. If another connection holds the stream and so sends the
// event, takeBack returns false.
func (k *keptSession) takeBack(s streamName, holder chan struct{}, seq uint64) bool {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	if k.holders[s] != holder {
		return false
	}
	if n := len(k.events) - 1; n >= 0 && k.events[n].seq == seq {
		last := k.events[n]
		k.events[n] = keptEvent{}
		k.events = k.events[:n]
		k.gave(last.size())
	}
	return true
}

// after returns the kept events of a stream that follow the event seq. known is false if no event of the stream is
// kept, so that events may be missing.
func (k *keptSession) after(s streamName, seq uint64) (events []keptEvent, known bool) {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	for _, e := range k.events {
		if e.stream != s {
			continue
		}
		known = true
		if e.seq > seq {
			events = append(events, e)
		}
	}
	return events, known
}

// end removes all events of the session.
func (k *keptSession) end() {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	k.over = true
	k.answers = map[uint64]*hostReply{}
	k.drop(len(k.events))
}

// drop removes the n oldest events. Call it with in.mu held.
func (k *keptSession) drop(n int) {
	var size int64
	for i := range n {
		size += k.events[i].size()
		k.events[i] = keptEvent{}
	}
	if k.events = k.events[n:]; len(k.events) == 0 {
		k.events = nil
	}
	k.gave(size)
}

// gave subtracts the size of removed events. Call it with in.mu held.
func (k *keptSession) gave(size int64) {
	r := k.in
	k.bytes -= size
	r.bytes -= size
	if r.held[k.client] -= size; r.held[k.client] <= 0 {
		delete(r.held, k.client)
	}
	if len(k.events) == 0 {
		delete(r.with, k)
	}
	if len(r.with) == 0 && r.sweep != nil {
		r.sweep.Stop()
		r.sweep = nil
	}
}

// victim returns the session that loses its events. Of the client with the most bytes, it is the session with the
// oldest event. Call it with mu held, and only if events are kept.
func (r *Replay) victim() *keptSession {
	var most client
	for c, n := range r.held {
		if n > r.held[most] {
			most = c
		}
	}
	var oldest *keptSession
	for k := range r.with {
		if k.client == most && (oldest == nil || k.events[0].at.Before(oldest.events[0].at)) {
			oldest = k
		}
	}
	return oldest
}

// expire removes the events that are older than replayTime.
func (r *Replay) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep = nil
	late := time.Now().Add(-replayTime)
	for k := range r.with {
		n := 0
		for n < len(k.events) && k.events[n].at.Before(late) {
			n++
		}
		k.drop(n)
	}
	if len(r.with) > 0 {
		r.sweep = time.AfterFunc(replaySweep, r.expire)
	}
}

// oneLine returns a copy of a message without line breaks. It returns nil if there is no message.
func oneLine(frame [][]byte) []byte {
	if frame == nil {
		return nil
	}
	line := make([][]byte, len(frame))
	for i, p := range frame {
		line[i] = wire.OneLine(p)
	}
	return bytes.Join(line, nil)
}
