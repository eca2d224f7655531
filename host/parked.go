package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// maxParkedAsks and maxQuestionBytes bound what one call leaves open, maxCallerAsked what those of one principal
	// do, and maxAskedBytes what all of them do.
	maxParkedAsks    = 32
	maxQuestionBytes = 4 << 20
	maxCallerAsked   = 16 << 20
	maxAskedBytes    = 64 << 20
)

// Defaults of [Options].
const (
	defaultMaxParked       = 1000
	defaultMaxClientParked = 100
	defaultParkedWait      = 5 * time.Minute
)

// Why a parked call ends.
var (
	errParkedLate = hostError("no answer came to what the client was asked")
	errParkedFull = hostError("too many calls wait for answers of their clients: answer those, or wait until they expire")
)

// errNotParked is the answer to a state of which no call waits any more.
var errNotParked = &interop.RPCError{Code: interop.CodeInvalidParams,
	Message: "requestState: no call waits for these answers any more: they were given before, it was cancelled, or the host was started anew; send the request again without inputResponses and requestState"}

// errStateUsed is the answer to a state whose answers were taken.
var errStateUsed = &interop.RPCError{Code: interop.CodeInvalidParams,
	Message: "requestState: its answers were given before, and each state is good for one request; take that of the last answer"}

// handling is how a backend handles a request.
type handling func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error)

// exchanges are the requests of modern clients that a backend handles: a question that it asks meanwhile is answered by
// another request of the client's (SEP-2322). Until then the call is parked.
type exchanges struct {
	*parking
	ctx     context.Context // ends with close
	cancel  context.CancelCauseFunc
	running group
	ending  chan struct{} // closed when nobody is asked any more
	ended   bool          // ending is closed; guarded by parking.mu
}

// parking is the parked calls of all hosts that stand beside one another, and their bounds.
type parking struct {
	keys    *sealed.Keys
	replica string        // that it is
	most    int           // that are parked
	each    int           // of one principal
	expiry  time.Duration // of a parked one
	lastID  atomic.Uint64
	asked   tally[toolbox.Principal] // bytes of open questions
	waiting tally[toolbox.Principal] // calls that are parked

	mu     sync.Mutex
	parked map[uint64]*exchange // that were answered with questions, until their result is taken
}

func newParking(o *Options) *parking {
	p := &parking{
		keys: o.Keys, replica: o.Replica, most: cmp.Or(max(o.MaxParked, 0), defaultMaxParked), each: cmp.Or(max(o.MaxClientParked, 0), defaultMaxClientParked),
		expiry: cmp.Or(max(o.ParkedWait, 0), defaultParkedWait), parked: map[uint64]*exchange{},
	}
	var first [8]byte // states outlive a host whose keys are kept, and name none of another's calls
	_, _ = rand.Read(first[:])
	p.lastID.Store(binary.BigEndian.Uint64(first[:]))
	return p
}

func newExchanges(p *parking) *exchanges {
	all := &exchanges{parking: p, ending: make(chan struct{})}
	all.ctx, all.cancel = context.WithCancelCause(context.Background())
	return all
}

// handle handles the request of a modern client, or goes on with it.
func (all *exchanges) handle(ctx context.Context, m interop.Message, back interop.Peer, next handling) (json.RawMessage, error) {
	handled := next
	if protocol.CanBeAsked(m.Client.Capabilities) {
		handled = func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
			return all.asking(ctx, m, back, next)
		}
	}
	result, err := handled(ctx, m, back)
	if err != nil {
		return all.urlRequired(m, err)
	}
	return result, nil
}

// asking handles the request of a modern client that can be asked, or goes on with it.
func (all *exchanges) asking(ctx context.Context, m interop.Message, back interop.Peer, next handling) (json.RawMessage, error) {
	state, _ := protocol.LookupString(m.Params, "requestState")
	text, ours := strings.CutPrefix(state, parkedPrefix)
	if !ours { // nor the backend's own, which it opens
		return all.begin(ctx, m, back, next)
	}
	t, err := all.keys.Open(text, sealed.Want{Kind: sealed.Parked, Principal: string(m.Caller), Digest: requestDigest(m)})
	if err != nil {
		return nil, badState(err)
	}
	if !bytes.Equal(t.Data, urlState) {
		if t.Replica != all.replica {
			return nil, badState(errReplica)
		}
		return all.resume(ctx, m, t, back)
	}
	if m.Params, err = urlsOpened(m.Params); err != nil {
		return nil, err
	}
	c := *m.Client
	c.Opened = true
	m.Client = &c
	return all.begin(ctx, m, back, next)
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
	all.cancelParked(errHostClosed, func(*exchange) bool { return true })
}

// leave cancels the parked calls of a connection that has ended: no request of its client's comes any more.
func (all *exchanges) leave(session string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.cancelParked(errSessionEnded, func(x *exchange) bool { return x.session == session })
}

// cancelParked cancels those of the parked calls that are meant. Call it with mu held.
func (all *exchanges) cancelParked(why error, meant func(*exchange) bool) {
	for _, x := range all.parked {
		if x.all != all || !meant(x) {
			continue
		}
		x.mu.Lock()
		if x.back == nil {
			x.cancel(why)
		}
		x.mu.Unlock()
	}
}

// close cancels every call, and waits for it.
func (all *exchanges) close() {
	idle := all.running.close()
	all.cancel(errHostClosed)
	<-idle
}

// exchange is one request, whatever number of the client's requests it takes.
type exchange struct {
	all      *exchanges
	id       uint64
	caller   toolbox.Principal
	caps     json.RawMessage // that the client declares
	session  string          // the client's connection; "": over HTTP it has none
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
		all: all, id: all.lastID.Add(1), caller: m.Caller, caps: m.Client.Capabilities, session: m.Client.Session, token: tokenOf(m.Params),
		news: make(chan struct{}, 1), done: make(chan struct{}),
	}
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	x.cancel, x.ended = cancel, inner.Done()
	c := *m.Client
	c.Back = x.peer
	call := m
	call.Client = &c
	x.back, x.retoken = back, x.token
	if !all.running.run(func() {
		defer context.AfterFunc(all.ctx, func() { cancel(errHostClosed) })()
		x.run(inner, call, next)
		cancel(nil)
	}) {
		cancel(nil)
		return nil, errHostClosed
	}
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
		return errHostClosed
	case x.held:
		return nil
	case !all.waiting.add(x.caller, 1, all.each, all.most):
		return errParkedFull
	}
	x.held = true
	all.parked[x.id] = x
	return nil
}

func (all *exchanges) release(x *exchange) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.parked[x.id] == x {
		delete(all.parked, x.id)
		all.waiting.remove(x.caller, 1)
	}
}

// resume gives the answers of a request to the call that waits for them, whose state t is, and
// waits on.
func (all *exchanges) resume(ctx context.Context, m interop.Message, t sealed.Token, back interop.Peer) (json.RawMessage, error) {
	id, round := binary.BigEndian.Uint64(t.Data), binary.BigEndian.Uint64(t.Data[8:])
	all.mu.Lock()
	x := all.parked[id]
	all.mu.Unlock()
	if x == nil || x.caller != m.Caller || x.digest != t.Digest || x.all != all {
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
		x.back, x.retoken, x.progress = back, tokenOf(params), nil
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
	x.all.asked.remove(x.caller, len(q.params))
}

// peer takes what the server says and asks.
func (x *exchange) peer(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	if !isNote(m.Method) {
		return x.ask(ctx, m)
	}
	if m.Method == protocol.NoteElicited { // of legacy sessions
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
	if err := protocol.MayAsk(x.caps, m.Method, m.Params); err != nil {
		return nil, err
	}
	q := &question{method: m.Method, params: withoutToken(withoutElicitationID(m)), answer: make(chan json.RawMessage, 1)}
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
	if len(x.open) >= maxParkedAsks || x.bytes+n > maxQuestionBytes {
		return &interop.RPCError{Code: interop.CodeInternal, Message: "too many questions at once, or too large ones"}
	}
	if !x.all.asked.add(x.caller, n, maxCallerAsked, maxAskedBytes) {
		return &interop.RPCError{Code: interop.CodeInternal, Message: "too many questions wait for an answer"}
	}
	x.asked++
	q.key = questionKey(q.method, x.asked)
	x.bytes += n
	x.open = append(x.open, q)
	return nil
}
