package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

const (
	// gatherTime is for how long questions are gathered after the first: a server that asks
	// several at once asks them together.
	gatherTime = 20 * time.Millisecond
	// maxQuestions and maxQuestionBytes bound what one call leaves open, maxCallerAsked what those of one principal
	// do, and maxAskedBytes what all of them do.
	maxQuestions     = 32
	maxQuestionBytes = 4 << 20
	maxCallerAsked   = 16 << 20
	maxAskedBytes    = 64 << 20
)

// Why a parked call ends.
var (
	errParkedLate = errors.New("no answer came to what the server asked")
	errParkedFull = errors.New("too many calls wait for answers to what their servers asked: answer those, or wait until they expire")
	errClosing    = errors.New("the gateway is closing")
)

// errNotParked is the answer to a state of which no call waits any more.
var errNotParked = &interop.RPCError{Code: interop.CodeInvalidParams,
	Message: "requestState: no call waits for these answers any more: they were given before, it was cancelled, or the gateway was started anew; send the request again without inputResponses and requestState"}

// errStateUsed is the answer to a state whose answers were taken.
var errStateUsed = &interop.RPCError{Code: interop.CodeInvalidParams,
	Message: "requestState: its answers were given before, and each state is good for one request; take that of the last answer"}

// handling is how a view handles a request.
type handling func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error)

// exchanges are the requests of modern clients that legacy servers handle: what such a server
// asks meanwhile is answered by another request of the client's (SEP-2322).
type exchanges struct {
	keys    *sealed.Keys
	replica string        // that it is
	most    int           // that are parked
	each    int           // of one principal
	expiry  time.Duration // of a parked one

	ctx     context.Context // ends with close
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	lastID  atomic.Uint64
	asked   askedBytes
	ending  chan struct{} // closed when nobody is asked any more

	mu     sync.Mutex
	parked map[uint64]*exchange // that were answered with questions, until their result is taken
	of     map[toolbox.Principal]int
	ended  bool // ending is closed
	closed bool
}

// askedBytes are those of open questions. The zero value is ready.
type askedBytes struct {
	mu  sync.Mutex
	all int
	of  map[toolbox.Principal]int
}

// add counts n more, or less, of a principal's; false where there is no room for them.
func (b *askedBytes) add(of toolbox.Principal, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 && (b.all+n > maxAskedBytes || b.of[of]+n > maxCallerAsked) {
		return false
	}
	if b.of == nil {
		b.of = map[toolbox.Principal]int{}
	}
	b.all += n
	if b.of[of] += n; b.of[of] == 0 {
		delete(b.of, of)
	}
	return true
}

func newExchanges(keys *sealed.Keys, o *Options) *exchanges {
	all := &exchanges{
		keys: keys, replica: o.Host.Replica, most: cmp.Or(o.MaxParked, defaultMaxParked), each: cmp.Or(o.MaxClientParked, defaultMaxClientParked),
		expiry: cmp.Or(max(o.ParkedWait, 0), defaultParkedWait), ending: make(chan struct{}),
		parked: map[uint64]*exchange{}, of: map[toolbox.Principal]int{},
	}
	var first [8]byte // states outlive a gateway whose keys are kept, and name none of another's calls
	_, _ = rand.Read(first[:])
	all.lastID.Store(binary.BigEndian.Uint64(first[:]))
	all.ctx, all.cancel = context.WithCancelCause(context.Background())
	return all
}

// drain ends what clients are asked: their answers would come too late. What is parked has nobody any more who could
// take its result, and is cancelled; the other calls go on.
func (all *exchanges) drain() {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.ended {
		return
	}
	all.ended = true
	close(all.ending)
	for _, x := range all.parked {
		x.mu.Lock()
		if x.back == nil {
			x.cancel(errClosing)
		}
		x.mu.Unlock()
	}
}

// close cancels every call, and waits for it.
func (all *exchanges) close() {
	all.mu.Lock()
	all.closed = true
	all.mu.Unlock()
	all.cancel(errClosing)
	all.running.Wait()
}

// exchange is one request, whatever number of the client's requests it takes.
type exchange struct {
	all      *exchanges
	id       uint64
	caller   toolbox.Principal
	view     any // that it was sent to: who may use another one may not go on with it there
	digest   [32]byte
	token    json.RawMessage // of progress, in the first request; nil: none is wanted
	cancel   context.CancelCauseFunc
	ended    <-chan struct{} // of the call's context
	news     chan struct{}   // has something in it after a question was asked
	done     chan struct{}   // closed when result and err are set
	result   json.RawMessage
	err      error
	panicked any // what next panicked with

	mu       sync.Mutex
	back     interop.Peer    // of the request that waits for it; nil: it is parked
	retoken  json.RawMessage // of progress, in that request
	progress *interop.Message
	open     []*question // in the order in which they were asked
	asked    int         // so far
	bytes    int         // of open
	round    uint64      // how often it was parked
	held     bool        // it is among all.parked
	late     *time.Timer // ends it while it is parked
}

// question is what a server asks.
type question struct {
	key    string
	method string
	params json.RawMessage
	answer chan json.RawMessage // takes one
}

// begin has next handle a request, and waits until it is answered or its server asks.
func (all *exchanges) begin(ctx context.Context, m interop.Message, back interop.Peer, next handling) (json.RawMessage, error) {
	x := &exchange{
		all: all, id: all.lastID.Add(1), caller: m.Caller, view: ctx.Value(viewKey{}), token: progressToken(m.Params),
		news: make(chan struct{}, 1), done: make(chan struct{}),
	}
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	x.cancel, x.ended = cancel, inner.Done()
	c := *m.Client
	c.Back = x.peer
	if ctx.Value(severalKey{}) != nil {
		c.Back = namingPeer(x.peer)
	}
	call := m
	call.Client = &c
	all.mu.Lock()
	if all.closed {
		all.mu.Unlock()
		cancel(nil)
		return nil, errClosing
	}
	all.running.Add(1)
	all.mu.Unlock()
	stop := context.AfterFunc(all.ctx, func() { cancel(errClosing) })
	x.back, x.retoken = back, x.token
	go func() {
		defer all.running.Done()
		defer stop()
		x.run(inner, call, next)
		cancel(nil)
	}()
	return x.wait(ctx, m)
}

// run handles the request.
func (x *exchange) run(ctx context.Context, m interop.Message, next handling) {
	defer close(x.done)
	defer func() { x.panicked = recover() }() // it is the waiting request's
	x.result, x.err = next(ctx, m, x.peer)
	if x.err != nil && ctx.Err() != nil && errors.Is(x.err, ctx.Err()) {
		x.err = context.Cause(ctx)
	}
}

// wait is the result, or what the server asks.
func (x *exchange) wait(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	for {
		select {
		case <-x.done:
			return x.take()
		case <-x.news:
		case <-ctx.Done():
			return nil, x.abandon(ctx)
		}
		select { // more may be asked, and one who asks may do without an answer
		case <-time.After(gatherTime):
		case <-x.done:
			return x.take()
		case <-ctx.Done():
			return nil, x.abandon(ctx)
		}
		if asks, err := x.park(m); asks != nil || err != nil {
			return asks, err
		}
	}
}

// take is the result, after which x is no more.
func (x *exchange) take() (json.RawMessage, error) {
	x.all.release(x)
	if x.panicked != nil {
		panic(x.panicked)
	}
	return x.result, x.err
}

// abandon ends what nobody waits for any more.
func (x *exchange) abandon(ctx context.Context) error {
	x.cancel(context.Cause(ctx))
	<-x.done
	x.all.release(x)
	return ctx.Err()
}

// park leaves x to wait for another request, and is the answer to this one. nil: all
// questions were withdrawn.
func (x *exchange) park(m interop.Message) (json.RawMessage, error) {
	if x.digest == ([32]byte{}) {
		x.digest = requestDigest(m)
	}
	if err := x.all.hold(x); err != nil {
		x.cancel(err)
		<-x.done
		return nil, &interop.RPCError{Code: interop.CodeInternal, Message: m.Method + ": " + err.Error()}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.open) == 0 {
		return nil, nil
	}
	select {
	case <-x.news: // of a question that is among them
	default:
	}
	x.back, x.round = nil, x.round+1
	x.late = time.AfterFunc(x.all.expiry, func() { x.expire() })
	state := x.all.sealParked(m, x.digest, x.all.expiry, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, x.id), x.round))
	asks := make([]inputRequest, len(x.open))
	for i, q := range x.open {
		asks[i] = inputRequest{q.key, q.method, q.params}
	}
	return inputRequired(asks, state), nil
}

// expire ends x where it is still parked.
func (x *exchange) expire() {
	x.mu.Lock()
	parked := x.back == nil
	x.mu.Unlock()
	if parked {
		x.cancel(fmt.Errorf("%w within %v", errParkedLate, x.all.expiry))
		x.all.release(x)
	}
}

// hold makes room for x among those that are parked.
func (all *exchanges) hold(x *exchange) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	switch {
	case all.ended:
		return errClosing
	case x.held:
		return nil
	case len(all.parked) >= all.most, all.of[x.caller] >= all.each:
		return errParkedFull
	}
	x.held = true
	all.parked[x.id] = x
	all.of[x.caller]++
	return nil
}

func (all *exchanges) release(x *exchange) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.parked[x.id] != x {
		return
	}
	delete(all.parked, x.id)
	if all.of[x.caller]--; all.of[x.caller] == 0 {
		delete(all.of, x.caller)
	}
}

// resume gives the answers of a request to the call that waits for them, whose state t is, and
// waits on.
func (all *exchanges) resume(ctx context.Context, m interop.Message, t sealed.Token, back interop.Peer) (json.RawMessage, error) {
	id, round := binary.BigEndian.Uint64(t.Data), binary.BigEndian.Uint64(t.Data[8:])
	all.mu.Lock()
	x := all.parked[id]
	all.mu.Unlock()
	if x == nil || x.caller != m.Caller || x.digest != t.Digest || x.view != ctx.Value(viewKey{}) {
		return nil, errNotParked
	}
	answers, err := x.unpark(round, m.Params, back)
	if err != nil {
		return nil, err
	}
	x.deliver(answers)
	return x.wait(ctx, m)
}

// unpark makes a request the one that waits for x, once for each round, and sends what happened
// last meanwhile on its stream. It returns the client's answers, by key.
func (x *exchange) unpark(round uint64, params json.RawMessage, back interop.Peer) (map[string]json.RawMessage, error) {
	answers, err := inputResponses(params)
	if err != nil {
		return nil, err
	}
	last, err := func() (*interop.Message, error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.round != round || x.back != nil {
			return nil, errStateUsed
		}
		for _, q := range x.open {
			if a, ok := answers[q.key]; ok && a[0] != '{' {
				return nil, notAnObject(q.key)
			}
		}
		if !x.late.Stop() {
			return nil, errNotParked // it has just expired
		}
		last := x.progress
		x.back, x.retoken, x.progress = back, progressToken(params), nil
		return last, nil
	}()
	if last != nil {
		_, _ = x.peer(context.Background(), *last)
	}
	return answers, err
}

// deliver gives the server's questions their answers. What has none is asked again.
func (x *exchange) deliver(answers map[string]json.RawMessage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open = slices.DeleteFunc(x.open, func(q *question) bool {
		a, ok := answers[q.key]
		if ok {
			x.forget(q)
			q.answer <- a
		}
		return ok
	})
	if len(x.open) > 0 {
		x.tell()
	}
}

// tell reports that there is something to ask.
func (x *exchange) tell() {
	select {
	case x.news <- struct{}{}:
	default:
	}
}

// forget counts a question out. Call it with mu held.
func (x *exchange) forget(q *question) {
	x.bytes -= len(q.params)
	x.all.asked.add(x.caller, -len(q.params))
}

// peer takes what the server says and asks.
func (x *exchange) peer(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	if !isNote(m.Method) {
		return x.ask(ctx, m)
	}
	if m.Method == noteElicited { // of legacy sessions
		return nil, nil
	}
	x.mu.Lock()
	back, token := x.back, x.retoken
	if back == nil && m.Method == protocol.NoteProgress {
		x.progress = &m
	}
	x.mu.Unlock()
	if back == nil {
		return nil, nil
	}
	if m.Method == protocol.NoteProgress && string(token) != string(x.token) {
		params, err := wire.Rewrite(m.Params, wire.Edit{Key: "progressToken", Value: token})
		if token == nil || err != nil {
			return nil, nil
		}
		m.Params = params
	}
	return back(ctx, m)
}

// ask waits for the client's answer.
func (x *exchange) ask(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	q := &question{method: m.Method, params: withoutElicitationID(m), answer: make(chan json.RawMessage, 1)}
	if err := x.add(q); err != nil {
		return nil, err
	}
	x.tell()
	select {
	case a := <-q.answer:
		return a, nil
	case <-ctx.Done(): // the server no longer asks
	case <-x.ended:
	case <-x.all.ending:
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := slices.Index(x.open, q); i >= 0 {
		x.open = slices.Delete(x.open, i, i+1)
		x.forget(q)
	}
	return nil, &interop.RPCError{Code: interop.CodeInternal, Message: "the client did not answer"}
}

func (x *exchange) add(q *question) error {
	n := len(q.params)
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.open) >= maxQuestions || x.bytes+n > maxQuestionBytes {
		return &interop.RPCError{Code: interop.CodeInternal, Message: "too many questions at once, or too large ones"}
	}
	if !x.all.asked.add(x.caller, n) {
		return &interop.RPCError{Code: interop.CodeInternal, Message: "too many questions wait for an answer"}
	}
	x.asked++
	q.key = keyOf(q.method, x.asked)
	x.bytes += n
	x.open = append(x.open, q)
	return nil
}
