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
	maxSession, maxTotal int64

	mu          sync.Mutex
	bytes       int64
	clientBytes map[client]int64
	sessions    map[*sessionEvents]bool // sessions with events
	sweeps      bool                    // expire is called within replaySweep
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
	return &Replay{
		maxSession: min(each, all), maxTotal: all,
		clientBytes: map[client]int64{}, sessions: map[*sessionEvents]bool{},
	}
}

// streamName names one stream of a session: the answer to a request, or the session's own messages.
type streamName struct {
	kind   byte // answerStream or notesStream
	number uint64
}

const (
	answerStream = 'a'
	notesStream  = 'n'
)

// storedEvent is an event that may be sent again.
type storedEvent struct {
	stream streamName
	seq    uint64
	at     time.Time
	data   []byte // the message, on one line
}

func (e *storedEvent) size() int64 { return int64(len(e.data)) + eventCost }

// sessionEvents holds the kept events of one session. Its fields are guarded by replay.mu.
type sessionEvents struct {
	replay *Replay
	client client

	seq     uint64 // of the last event
	streams uint64 // number of streams begun
	events  []storedEvent
	bytes   int64
	answers map[uint64]*hostReply        // unfinished answer streams, by number
	holders map[streamName]chan struct{} // closed when another connection takes over the stream
	ended   bool
}

// newSessionEvents returns the store for the events of a session, or nil if no events are kept.
func (r *Replay) newSessionEvents(c client) *sessionEvents {
	if r.maxSession < 0 {
		return nil
	}
	return &sessionEvents{replay: r, client: c, answers: map[uint64]*hostReply{}, holders: map[streamName]chan struct{}{}}
}

// begin names a new stream.
func (k *sessionEvents) begin(kind byte, reply *hostReply) streamName {
	k.replay.mu.Lock()
	defer k.replay.mu.Unlock()
	k.streams++
	if reply != nil && !k.ended {
		k.answers[k.streams] = reply
	}
	return streamName{kind, k.streams}
}

// hasStream reports whether a stream with this name can have existed.
func (k *sessionEvents) hasStream(s streamName) bool {
	k.replay.mu.Lock()
	defer k.replay.mu.Unlock()
	return s.number > 0 && s.number <= k.streams
}

// answer returns an unfinished answer stream, or nil if there is none.
func (k *sessionEvents) answer(s streamName) *hostReply {
	k.replay.mu.Lock()
	defer k.replay.mu.Unlock()
	return k.answers[s.number]
}

// finish marks a stream as finished. Its events stay.
func (k *sessionEvents) finish(s streamName) {
	k.replay.mu.Lock()
	defer k.replay.mu.Unlock()
	delete(k.answers, s.number)
}

// hold makes the caller the holder of a stream. Only the holder sends the stream's events. The returned channel is
// closed when another connection takes over.
func (k *sessionEvents) hold(s streamName) chan struct{} {
	k.replay.mu.Lock()
	defer k.replay.mu.Unlock()
	if previous := k.holders[s]; previous != nil {
		close(previous)
	}
	holder := make(chan struct{})
	k.holders[s] = holder
	return holder
}

func (k *sessionEvents) release(s streamName, holder chan struct{}) {
	k.replay.mu.Lock()
	defer k.replay.mu.Unlock()
	if k.holders[s] == holder {
		delete(k.holders, s)
	}
}

// nextSeq returns the number of an event without a message. It is not kept.
func (k *sessionEvents) nextSeq() uint64 {
	k.replay.mu.Lock()
	defer k.replay.mu.Unlock()
	k.seq++
	return k.seq
}

// add keeps an event and returns its number. If the frame is too large, it keeps instead, which may be nil. If holder
// is not nil and no longer holds the stream, add returns false.
func (k *sessionEvents) add(s streamName, holder chan struct{}, frame, instead [][]byte) (seq uint64, ok bool) {
	r := k.replay
	if !r.fits(frame) {
		frame = instead
	}
	e := storedEvent{stream: s, at: time.Now(), data: oneLine(frame)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if holder != nil && k.holders[s] != holder {
		return 0, false
	}
	k.seq++
	e.seq = k.seq
	if frame == nil || k.ended {
		return e.seq, true
	}
	for len(k.events) >= maxReplayEvents || k.bytes+e.size() > r.maxSession {
		k.drop(1)
	}
	for r.bytes+e.size() > r.maxTotal {
		victim := r.victim()
		victim.drop(len(victim.events))
	}
	k.events = append(k.events, e)
	k.bytes += e.size()
	r.bytes += e.size()
	r.clientBytes[k.client] += e.size()
	r.sessions[k] = true
	r.scheduleSweep()
	return e.seq, true
}

// fits reports whether a message is small enough to be kept.
func (r *Replay) fits(frame [][]byte) bool { return int64(lengthOf(frame))+eventCost <= r.maxSession }

// removeLast removes the last event, which could not be sent. If another connection holds the stream and so sends the
// event, removeLast returns false.
func (k *sessionEvents) removeLast(s streamName, holder chan struct{}, seq uint64) bool {
	k.replay.mu.Lock()
	defer k.replay.mu.Unlock()
	if k.holders[s] != holder {
		return false
	}
	if n := len(k.events) - 1; n >= 0 && k.events[n].seq == seq {
		last := k.events[n]
		k.events[n] = storedEvent{}
		k.events = k.events[:n]
		k.subtract(last.size())
	}
	return true
}

// after returns the kept events of a stream that follow the event seq. known is false if no event of the stream is
// kept, so that events may be missing.
func (k *sessionEvents) after(s streamName, seq uint64) (events []storedEvent, known bool) {
	k.replay.mu.Lock()
	defer k.replay.mu.Unlock()
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
func (k *sessionEvents) end() {
	k.replay.mu.Lock()
	defer k.replay.mu.Unlock()
	k.ended = true
	k.answers = map[uint64]*hostReply{}
	k.drop(len(k.events))
}

// drop removes the n oldest events. Call it with replay.mu held.
func (k *sessionEvents) drop(n int) {
	var size int64
	for i := range n {
		size += k.events[i].size()
		k.events[i] = storedEvent{}
	}
	k.events = k.events[n:]
	if len(k.events) == 0 {
		k.events = nil
	}
	k.subtract(size)
}

// subtract subtracts the size of removed events. Call it with replay.mu held.
func (k *sessionEvents) subtract(size int64) {
	r := k.replay
	k.bytes -= size
	r.bytes -= size
	r.clientBytes[k.client] -= size
	if r.clientBytes[k.client] <= 0 {
		delete(r.clientBytes, k.client)
	}
	if len(k.events) == 0 {
		delete(r.sessions, k)
	}
}

// victim returns the session that loses its events. Of the client with the most bytes, it is the session with the
// oldest event. Call it with mu held, and only if events are kept.
func (r *Replay) victim() *sessionEvents {
	var largest client
	for c, n := range r.clientBytes {
		if n > r.clientBytes[largest] {
			largest = c
		}
	}
	var oldest *sessionEvents
	for k := range r.sessions {
		if k.client == largest && (oldest == nil || k.events[0].at.Before(oldest.events[0].at)) {
			oldest = k
		}
	}
	return oldest
}

// expire removes the events that are older than replayTime.
func (r *Replay) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweeps = false
	cutoff := time.Now().Add(-replayTime)
	for k := range r.sessions {
		n := 0
		for n < len(k.events) && k.events[n].at.Before(cutoff) {
			n++
		}
		k.drop(n)
	}
	r.scheduleSweep()
}

// scheduleSweep schedules the next call of expire if events are kept. Call it with mu held.
func (r *Replay) scheduleSweep() {
	if !r.sweeps && len(r.sessions) > 0 {
		r.sweeps = true
		time.AfterFunc(replaySweep, r.expire)
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
