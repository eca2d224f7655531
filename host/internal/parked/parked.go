// Package parked handles the requests of modern clients during which a backend may ask questions (SEP-2322).
//
// A modern client receives questions in a result of type "input_required", and answers with its next request. Until
// then the call is parked: it continues to run, and the requestState names it. [New] returns the [Exchanges] of one
// host, whose Handle takes the place of the backend's. Hosts that stand beside one another share a [Pool].
//
// # Concurrency
//
// All methods may be called from any goroutine. Each call runs in a goroutine of its own, for which Close waits.
//
// # Faults
//
// A state that was altered, used before, or belongs to another request, principal or host is an [*interop.RPCError].
// A call that ends with the host, or with its connection, has the cause that the host gives.
package parked

import (
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

	"github.com/indusagi/indus/host/internal/count"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

const (
	// gatherTime is how long questions are gathered after the first one. A server that asks several at once sends them
	// together.
	gatherTime = 20 * time.Millisecond
	// maxParkedQuestions and maxQuestionBytes bound the open questions of one call. maxCallerQuestionBytes bounds the
	// bytes of open questions of one principal, and maxTotalQuestionBytes the bytes of all.
	maxParkedQuestions     = 32
	maxQuestionBytes       = 4 << 20
	maxCallerQuestionBytes = 16 << 20
	maxTotalQuestionBytes  = 64 << 20
)

const defaultWait = 5 * time.Minute // see [Options]

// The causes with which a parked call ends.
var (
	errParkedLate = errors.New("the client did not answer the question")
	errParkedFull = errors.New("too many calls wait for answers of their clients: answer them, or wait until they expire")
)

// errNotParked is returned if requestState does not belong to a waiting call.
var errNotParked = &interop.RPCError{Code: interop.CodeInvalidParams,
	Message: "requestState: no call waits for these answers any more: they were given before, " +
		"it was cancelled, or the host was started anew; " +
		"send the request again without inputResponses and requestState"}

// errStateUsed is returned if the answers for a requestState were received before.
var errStateUsed = &interop.RPCError{Code: interop.CodeInvalidParams,
	Message: "requestState: its answers were given before, and each state is good for one request; " +
		"use the state of the last answer"}

// handler is the function with which a backend handles a request.
type handler func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error)

// Exchanges handles the requests of modern clients during which a backend may ask questions.
type Exchanges struct {
	*Pool
	closed  error           // the cause with which a drain or close ends calls
	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	running count.Group
	ending  context.Context // ends when clients may no longer be asked
	end     context.CancelFunc
}

// Pool holds the parked calls of all hosts that stand beside one another, and their bounds.
type Pool struct {
	keys          *sealed.Keys
	maxTotal      int           // bound of all parked calls
	maxPerCaller  int           // bound of parked calls of one principal
	expiry        time.Duration // of a parked call
	lastID        atomic.Uint64
	questionBytes count.Tally[toolbox.Principal] // bytes of open questions
	parkedCounts  count.Tally[toolbox.Principal] // number of parked calls

	mu     sync.Mutex
	parked map[uint64]*exchange // calls answered with questions, until their result is taken
}

// Options bound the parked calls of a [Pool].
type Options struct {
	Keys         *sealed.Keys  // seal the states; required
	MaxTotal     int           // bound of all parked calls; 0: 1,000
	MaxPerCaller int           // bound of the parked calls of one principal; 0: 100
	Wait         time.Duration // how long a parked call waits for each answer; 0: 5 min
}

// NewPool returns a pool without calls.
func NewPool(o Options) *Pool {
	p := &Pool{
		keys: o.Keys, parked: map[uint64]*exchange{},
		maxTotal:     cmp.Or(max(o.MaxTotal, 0), 1000),
		maxPerCaller: cmp.Or(max(o.MaxPerCaller, 0), 100),
		expiry:       cmp.Or(max(o.Wait, 0), defaultWait),
	}
	var first [8]byte // with persistent keys, states outlive a host, and must not name a call of the next one
	_, _ = rand.Read(first[:])
	p.lastID.Store(binary.BigEndian.Uint64(first[:]))
	return p
}

// Count returns the number of calls that wait for their client.
func (p *Pool) Count() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.parked {
		x.mu.Lock()
		if x.back == nil {
			n++
		}
		x.mu.Unlock()
	}
	return n
}

// New returns the exchanges of one host. closed is the cause with which [Exchanges.Drain] and [Exchanges.Close] end
// calls.
func New(p *Pool, closed error) *Exchanges {
	es := &Exchanges{Pool: p, closed: closed}
	es.ending, es.end = context.WithCancel(context.Background())
	es.ctx, es.cancel = context.WithCancelCause(context.Background())
	return es
}

// Handle handles the request of a modern client, or resumes a parked call.
func (es *Exchanges) Handle(
	ctx context.Context, m interop.Message, back interop.Peer, next handler,
) (json.RawMessage, error) {
	var result json.RawMessage
	var err error
	if protocol.AcceptsRequests(m.Client.Capabilities) {
		result, err = es.handleAskable(ctx, m, back, next)
	} else {
		result, err = next(ctx, m, back)
	}
	if err != nil {
		return es.urlRequired(m, err)
	}
	return result, nil
}

// handleAskable handles the request of a modern client that can be asked, or resumes a parked call.
func (es *Exchanges) handleAskable(
	ctx context.Context, m interop.Message, back interop.Peer, next handler,
) (json.RawMessage, error) {
	state, _ := protocol.LookupString(m.Params, "requestState")
	text, own := strings.CutPrefix(state, Prefix)
	if !own { // a state of the backend's own is opened by the backend
		return es.begin(ctx, m, back, next)
	}
	t, err := es.keys.Open(text, sealed.Want{Kind: sealed.Parked, Principal: string(m.Caller), Digest: requestDigest(m)})
	if err != nil {
		return nil, protocol.InvalidParams("requestState", "%v", err)
	}
	if !WaitsForURL(t.Data) {
		return es.resume(ctx, m, t, back)
	}
	m.Params, err = urlsOpened(m.Params)
	if err != nil {
		return nil, err
	}
	c := *m.Client
	c.Opened = true
	m.Client = &c
	return es.begin(ctx, m, back, next)
}

// Ending returns a channel that is closed when clients may no longer be asked.
func (es *Exchanges) Ending() <-chan struct{} { return es.ending.Done() }

// Drain ends all open questions, because their answers would arrive too late. Parked calls are cancelled, because no
// request can fetch their result any more. Other calls continue.
func (es *Exchanges) Drain() {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.end()
	es.cancelParked(es.closed, func(*exchange) bool { return true })
}

// CancelSession cancels the parked calls of a connection that has ended, because its client sends no more requests.
func (es *Exchanges) CancelSession(session string, cause error) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.cancelParked(cause, func(x *exchange) bool { return x.session == session })
}

// cancelParked cancels the parked calls for which matches returns true. Call it with mu held.
func (es *Exchanges) cancelParked(cause error, matches func(*exchange) bool) {
	for _, x := range es.parked {
		if x.exchanges != es || !matches(x) {
			continue
		}
		x.mu.Lock()
		if x.back == nil {
			x.cancel(cause)
		}
		x.mu.Unlock()
	}
}

// Close cancels every call, and waits for it.
func (es *Exchanges) Close() {
	idle := es.running.Close()
	es.cancel(es.closed)
	<-idle
}

// exchange is one call, which may take several requests of the client.
type exchange struct {
	exchanges      *Exchanges
	id             uint64
	caller         toolbox.Principal
	caps           json.RawMessage // the client's capabilities
	session        string          // the client's connection; "": over HTTP it has none
	digest         [32]byte
	token          json.RawMessage // progress token of the first request; nil: none
	cancel         context.CancelCauseFunc
	ended          <-chan struct{} // of the call's context
	questionSignal chan struct{}   // one slot: a question was asked
	done           chan struct{}   // closed when result and err are set
	result         json.RawMessage
	err            error
	panicked       any // the value with which next panicked

	mu            sync.Mutex
	back          interop.Peer    // of the waiting request; nil: the call is parked
	retoken       json.RawMessage // progress token of the waiting request
	progress      *interop.Message
	open          []*question // in the order in which they were asked
	questionCount int         // number of questions so far
	bytes         int         // of the open questions
	round         uint64      // how often it was parked
	registered    bool        // it is in exchanges.parked
	expiryTimer   *time.Timer // ends the call while it is parked
}

// question is a question of a server.
type question struct {
	key    string
	method string
	params json.RawMessage
	answer chan json.RawMessage // receives one answer
}

// begin starts next on a request, and waits for its result or for questions of its server.
func (es *Exchanges) begin(
	ctx context.Context, m interop.Message, back interop.Peer, next handler,
) (json.RawMessage, error) {
	x := &exchange{
		exchanges: es, id: es.lastID.Add(1), caller: m.Caller, caps: m.Client.Capabilities,
		session: m.Client.Session, token: protocol.ProgressToken(protocol.MetaOf(m.Params)),
		questionSignal: make(chan struct{}, 1), done: make(chan struct{}),
	}
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	x.cancel, x.ended = cancel, inner.Done()
	c := *m.Client
	c.Back = x.peer
	call := m
	call.Client = &c
	x.back, x.retoken = back, x.token
	if !es.running.Run(func() {
		defer context.AfterFunc(es.ctx, func() { cancel(es.closed) })()
		x.run(inner, call, next)
		cancel(nil)
	}) {
		cancel(nil)
		return nil, es.closed
	}
	return x.wait(ctx, m)
}

// run handles the request.
func (x *exchange) run(ctx context.Context, m interop.Message, next handler) {
	defer close(x.done)
	defer func() { x.panicked = recover() }() // it is raised again in the waiting request
	x.result, x.err = next(ctx, m, x.peer)
	if x.err != nil && ctx.Err() != nil && errors.Is(x.err, ctx.Err()) {
		x.err = context.Cause(ctx)
	}
}

// wait returns the result, or the questions of the server.
func (x *exchange) wait(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	for {
		select {
		case <-x.done:
			return x.take()
		case <-x.questionSignal:
		case <-ctx.Done():
			return nil, x.abandon(ctx)
		}
		select { // more questions may follow, and an asker may withdraw its question
		case <-time.After(gatherTime):
		case <-x.done:
			return x.take()
		case <-ctx.Done():
			return nil, x.abandon(ctx)
		}
		if questions, err := x.park(m); questions != nil || err != nil {
			return questions, err
		}
	}
}

// take returns the result, and releases x.
func (x *exchange) take() (json.RawMessage, error) {
	x.exchanges.release(x)
	if x.panicked != nil {
		panic(x.panicked)
	}
	return x.result, x.err
}

// abandon cancels a call if no request waits for it any more.
func (x *exchange) abandon(ctx context.Context) error {
	x.cancel(context.Cause(ctx))
	<-x.done
	x.exchanges.release(x)
	return ctx.Err()
}

// park parks x until the next request, and returns the answer to the current one. It returns nil if all questions were
// withdrawn.
func (x *exchange) park(m interop.Message) (json.RawMessage, error) {
	if x.digest == ([32]byte{}) {
		x.digest = requestDigest(m)
	}
	if err := x.exchanges.hold(x); err != nil {
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
	case <-x.questionSignal: // of a question that is sent now
	default:
	}
	x.back, x.round = nil, x.round+1
	x.expiryTimer = time.AfterFunc(x.exchanges.expiry, func() { x.expire() })
	data := binary.BigEndian.AppendUint64(nil, x.id)
	data = binary.BigEndian.AppendUint64(data, x.round)
	state := x.exchanges.sealParked(m, x.digest, x.exchanges.expiry, data)
	questions := make([]inputRequest, len(x.open))
	for i, q := range x.open {
		questions[i] = inputRequest{q.key, q.method, q.params}
	}
	return inputRequired(questions, state), nil
}

// expire ends x if it is still parked.
func (x *exchange) expire() {
	x.mu.Lock()
	parked := x.back == nil
	x.mu.Unlock()
	if parked {
		x.cancel(fmt.Errorf("%w within %v", errParkedLate, x.exchanges.expiry))
		x.exchanges.release(x)
	}
}

// hold adds x to the parked calls if there is room.
func (es *Exchanges) hold(x *exchange) error {
	es.mu.Lock()
	defer es.mu.Unlock()
	switch {
	case es.ending.Err() != nil:
		return es.closed
	case x.registered:
		return nil
	case !es.parkedCounts.Add(x.caller, 1, es.maxPerCaller, es.maxTotal):
		return errParkedFull
	}
	x.registered = true
	es.parked[x.id] = x
	return nil
}

func (es *Exchanges) release(x *exchange) {
	es.mu.Lock()
	defer es.mu.Unlock()
	if es.parked[x.id] == x {
		delete(es.parked, x.id)
		es.parkedCounts.Remove(x.caller, 1)
	}
}

// resume delivers the answers of a request to the call that waits for them, and waits on. The call is named by the
// state t.
func (es *Exchanges) resume(
	ctx context.Context, m interop.Message, t sealed.Token, back interop.Peer,
) (json.RawMessage, error) {
	id, round := binary.BigEndian.Uint64(t.Data), binary.BigEndian.Uint64(t.Data[8:])
	es.mu.Lock()
	x := es.parked[id]
	es.mu.Unlock()
	if x == nil || x.caller != m.Caller || x.digest != t.Digest || x.exchanges != es {
		return nil, errNotParked
	}
	answers, err := x.unpark(round, m.Params, back)
	if err != nil {
		return nil, err
	}
	x.deliver(answers)
	return x.wait(ctx, m)
}

// unpark makes a request the waiting request of x, once for each round. The last progress that arrived meanwhile is
// sent on the stream of the request. unpark returns the client's answers, by key.
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
				return nil, notObjectError(q.key)
			}
		}
		if !x.expiryTimer.Stop() {
			return nil, errNotParked // it has just expired
		}
		last := x.progress
		x.back, x.retoken, x.progress = back, protocol.ProgressToken(protocol.MetaOf(params)), nil
		return last, nil
	}()
	if last != nil {
		_, _ = x.peer(context.Background(), *last)
	}
	return answers, err
}

// deliver passes the answers to the questions. Questions without an answer are asked again.
func (x *exchange) deliver(answers map[string]json.RawMessage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open = slices.DeleteFunc(x.open, func(q *question) bool {
		a, ok := answers[q.key]
		if ok {
			x.releaseBytes(q)
			q.answer <- a
		}
		return ok
	})
	if len(x.open) > 0 {
		watch.Signal(x.questionSignal)
	}
}

// releaseBytes stops counting a question. Call it with mu held.
func (x *exchange) releaseBytes(q *question) {
	x.bytes -= len(q.params)
	x.exchanges.questionBytes.Remove(x.caller, len(q.params))
}

// peer receives the server's notifications and questions.
func (x *exchange) peer(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	if !protocol.IsNote(m.Method) {
		return x.ask(ctx, m)
	}
	if m.Method == protocol.NoteElicited { // only legacy sessions know it
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
	if err := protocol.CheckClientRequest(x.caps, m.Method, m.Params); err != nil {
		return nil, err
	}
	params := wire.Without(withoutElicitationID(m), "_meta", "progressToken")
	q := &question{method: m.Method, params: params, answer: make(chan json.RawMessage, 1)}
	if err := x.add(q); err != nil {
		return nil, err
	}
	watch.Signal(x.questionSignal)
	select {
	case a := <-q.answer:
		return a, nil
	case <-ctx.Done(): // the server withdrew the question
	case <-x.ended:
	case <-x.exchanges.Ending():
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := slices.Index(x.open, q); i >= 0 {
		x.open = slices.Delete(x.open, i, i+1)
		x.releaseBytes(q)
	}
	return nil, &interop.RPCError{Code: interop.CodeInternal, Message: "the client did not answer"}
}

func (x *exchange) add(q *question) error {
	n := len(q.params)
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.open) >= maxParkedQuestions || x.bytes+n > maxQuestionBytes {
		return &interop.RPCError{Code: interop.CodeInternal, Message: "too many questions at once, or too large ones"}
	}
	if !x.exchanges.questionBytes.Add(x.caller, n, maxCallerQuestionBytes, maxTotalQuestionBytes) {
		return &interop.RPCError{Code: interop.CodeInternal, Message: "too many questions wait for an answer"}
	}
	x.questionCount++
	q.key = questionKey(q.method, x.questionCount)
	x.bytes += n
	x.open = append(x.open, q)
	return nil
}
