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
	replayTime        = 5 * time.Minute // how long a client may take to come back
	replaySweep       = time.Minute
	eventCost         = 128 // bytes that an event takes beside its own
)

// Replay keeps the last events that legacy clients were sent over HTTP, so that one that lost
// its connection gets what it missed (2025-11-25, basic/transports, "Resumability and
// Redelivery"): of each session the last 256, for five minutes. Several hosts may share one.
// All methods may be called from any goroutine.
type Replay struct {
	each, all int64

	mu    sync.Mutex
	bytes int64
	held  map[client]int64
	with  map[*keptSession]bool // those with events
	sweep *time.Timer           // nil: none is set
}

// NewReplay keeps so many bytes for each session, and in all; where these are taken, the client
// that holds most of them makes room. 0: 1 MiB and 32 MiB. each below 0: nothing is kept, and
// no stream can be resumed.
func NewReplay(each, all int64) *Replay {
	if each == 0 {
		each = defaultReplayEach
	}
	if all <= 0 {
		all = defaultReplayAll
	}
	return &Replay{each: min(each, all), all: all, held: map[client]int64{}, with: map[*keptSession]bool{}}
}

// streamName is one stream of a session: of a request's answer, or of news.
type streamName struct {
	kind   byte // answerStream or newsStream
	number uint64
}

const (
	answerStream = 'a'
	newsStream   = 'n'
)

// keptEvent is one that may be sent again.
type keptEvent struct {
	stream streamName
	seq    uint64
	at     time.Time
	data   []byte // the message, on one line
}

func (e *keptEvent) size() int64 { return int64(len(e.data)) + eventCost }

// keptSession is what is kept of one session. Its fields belong to in.mu.
type keptSession struct {
	in     *Replay
	client client

	seq     uint64 // of the last event
	streams uint64 // that were begun
	events  []keptEvent
	bytes   int64
	answers map[uint64]*hostReply        // the streams of answers that are not over, by number
	holders map[streamName]chan struct{} // closed when another connection goes on with the stream
	over    bool
}

// session begins to keep the events of a session; nil where nothing is kept.
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

// begun reports whether there has been such a stream, as far as one can tell.
func (k *keptSession) begun(s streamName) bool {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	return s.number > 0 && s.number <= k.streams
}

// answer is a stream that is not over; nil: there is none.
func (k *keptSession) answer(s streamName) *hostReply {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	return k.answers[s.number]
}

// finish says that a stream is over. What is kept of it stays.
func (k *keptSession) finish(s streamName) {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	delete(k.answers, s.number)
}

// hold makes the caller the one that sends a stream's events, until what it returns is closed.
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

// mark is the number of an event without a message, which is not kept.
func (k *keptSession) mark() uint64 {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	k.seq++
	return k.seq
}

// add keeps an event and returns its number; instead is kept for one that is too large, nil:
// nothing. Where holder is not nil it must still hold the stream.
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

// takeBack forgets the last event, which could not be sent; false where another connection
// holds the stream, and sends it.
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

// after is what is kept of a stream behind one of its events. known says that nothing is
// missing in between, as far as one can tell.
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

// end forgets the session.
func (k *keptSession) end() {
	k.in.mu.Lock()
	defer k.in.mu.Unlock()
	k.over = true
	k.answers = map[uint64]*hostReply{}
	k.drop(len(k.events))
}

// drop forgets the oldest events. Call it with in.mu held.
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

// gave counts what is no longer kept. Call it with in.mu held.
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

// victim is the session that makes room: of the client that holds most, the one with the
// oldest event. Call it with mu held, and only where something is kept.
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

// expire forgets what nobody has come back for.
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

// oneLine is a copy of a message without line breaks; nil where there is none.
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
