// Package activity has the requests of a gateway in memory, for people who look at it. Make a [Tracker] with [New], and
// give it to the guard of the gateway as control.Options.Activity. The guard calls Begin, Record, Changed and
// Request.End.
//
// All methods of a Tracker may be called from any goroutine. None waits for anything, and none fails. Begin, Record and
// Changed do nothing if the Tracker is nil.
package activity

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/watch"
)

// These are the bounds of a [Tracker].
const (
	keptRequests  = 500
	keptMinutes   = 24 * 60
	keptDurations = 60   // of each server
	maxUsageKeys  = 1000 // of each kind
	maxKeptText   = 256  // of each text of a record, in bytes
	maxKeptRules  = 4    // of a denied request
)

// Tracker has the requests of a gateway: those in flight, the last ones, their latencies, and sums since it was made.
// They are the requests that an audit records, and their records have no arguments and results. The ID of one of the
// last requests is the ID of its record in the audit, or "" if it has none. URIs and reasons are masked, and all texts
// are cut at 256 bytes. Clients and servers wrote them: they may contain any character. The memory is bounded, and
// nothing runs in the background.
type Tracker struct {
	mu       sync.Mutex
	watchers watch.List
	began    time.Time
	last     uint64 // the id of the last request
	inFlight map[uint64]*Request
	recent   ring[audit.Record]
	sums     map[Kind]map[usageKey]*Usage
	minutes  map[int64]minute // by the minute since 1970 modulo keptMinutes
	servers  map[string]*ring[time.Duration]

	latencies map[Kind]map[usageKey]*measured
	forgot    map[Kind]int64 // the minute in which unused keys were removed last
}

// Kind selects the sums of [Tracker.Usage].
type Kind string

const (
	OfTools   Kind = "tool"
	OfServers Kind = "server"
	OfCallers Kind = "caller"
)

type usageKey struct {
	server, name string
	other        bool // of all keys beyond maxUsageKeys, and of unlisted tools
}

// Usage is a sum of requests.
type Usage struct {
	// Server and Name are the key: a tool of a server, a server, or the principal of a caller. Other reports that the sum
	// is that of all further keys, and of tools that are in no list of their server.
	Server string `json:"server,omitempty"`
	Name   string `json:"name"`
	Other  bool   `json:"other,omitempty"`

	Requests int64 `json:"requests"`
	Errors   int64 `json:"errors"` // failed and denied requests, and results with isError
	BytesIn  int64 `json:"bytesIn"`
	BytesOut int64 `json:"bytesOut"`
	Tokens   int64 `json:"tokens"` // an estimate for the results of tools
}

func (u *Usage) add(r *audit.Record) {
	u.Requests++
	if r.Outcome == audit.Error || r.Outcome == audit.Denied {
		u.Errors++
	}
	u.BytesIn += r.BytesIn
	u.BytesOut += r.BytesOut
	u.Tokens += Tokens(r)
}

// Tokens estimates the tokens of the result of a tool. Results of other methods have none.
func Tokens(r *audit.Record) int64 {
	if r.Method != protocol.MethodToolsCall {
		return 0
	}
	return r.BytesOut / text.BytesPerToken
}

// minute is the usage of one minute.
type minute struct {
	at int64 // minutes since 1970
	Usage
}

// ring keeps the last values. The zero value is empty.
type ring[T any] struct {
	kept []T
	n    int // of all values
}

// add adds a value. If most values are kept, it replaces the oldest.
func (r *ring[T]) add(most int, one T) {
	if len(r.kept) < most {
		r.kept = append(r.kept, one)
	} else {
		r.kept[r.n%most] = one
	}
	r.n++
}

// all returns the values, the oldest first.
func (r *ring[T]) all() []T {
	at := r.n % max(1, len(r.kept))
	return slices.Concat(r.kept[at:], r.kept[:at])
}

// New returns an empty tracker.
func New() *Tracker {
	return &Tracker{
		began: time.Now(), inFlight: map[uint64]*Request{}, minutes: map[int64]minute{},
		sums:      map[Kind]map[usageKey]*Usage{OfTools: {}, OfServers: {}, OfCallers: {}},
		servers:   map[string]*ring[time.Duration]{},
		latencies: map[Kind]map[usageKey]*measured{OfTools: {}, OfServers: {}}, forgot: map[Kind]int64{},
	}
}

// ErrCancelled is the cause of the end of a context whose request [Tracker.Cancel] ended.
var ErrCancelled = errors.New("an operator has cancelled this request")

// Source returns the records of a request that is being handled. They change until it ends.
type Source interface{ Records() []audit.Record }

// Request is a request in flight. The zero value is one that no tracker has.
type Request struct {
	tracker *Tracker
	source  Source
	id      uint64
	running context.Context
	cancel  context.CancelCauseFunc
}

// Begin adds a request in flight, and returns its context.
func (t *Tracker) Begin(ctx context.Context, r *Request, s Source) context.Context {
	if t == nil {
		return ctx
	}
	r.tracker, r.source = t, s
	r.running, r.cancel = context.WithCancelCause(ctx)
	t.mu.Lock()
	t.last++
	r.id = t.last
	t.inFlight[r.id] = r
	t.mu.Unlock()
	t.watchers.Notify()
	return r.running
}

// End removes a request in flight, and ends its context. It reports whether an operator has cancelled the request. Then
// the answer is an error, also if there is a result: it may only state that the request was cancelled.
func (r *Request) End() (cancelled bool) {
	if r.tracker == nil {
		return false
	}
	r.tracker.mu.Lock()
	delete(r.tracker.inFlight, r.id)
	r.tracker.mu.Unlock()
	cancelled = r.Cancelled()
	r.cancel(nil)
	return cancelled
}

// Cancelled reports whether an operator has cancelled the request.
func (r *Request) Cancelled() bool {
	return r.tracker != nil && context.Cause(r.running) == ErrCancelled
}

// bounded returns a record without contents, whose texts are cut. Of the rules that decided, only a denied request has
// the first ones.
func bounded(r *audit.Record) audit.Record {
	out := *r
	out.Arguments, out.Result, out.Policies, out.Previous, out.Hash = nil, nil, nil, "", ""
	if r.Outcome == audit.Denied {
		for _, rule := range r.Policies[:min(len(r.Policies), maxKeptRules)] {
			out.Policies = append(out.Policies, text.Clip(rule, maxKeptText))
		}
	}
	for _, s := range [...]*string{
		&out.Principal, &out.Type, &out.Tool, &out.Target, &out.View, &out.Client, &out.ClientVersion, &out.Method,
		&out.Session, &out.Address, &out.Approver, &out.Trace, &out.Reason,
	} {
		if len(*s) > maxKeptText {
			*s = text.Clip(*s, maxKeptText)
		}
	}
	return out
}

// Record adds a request that has ended. If the tool is unlisted, the caller may have invented its name.
func (t *Tracker) Record(r *audit.Record, unlisted bool) {
	if t == nil {
		return
	}
	kept := bounded(r)
	end := kept.At.Add(kept.Duration) // a request may last longer than a day
	t.mu.Lock()
	t.recent.add(keptRequests, kept)
	t.sum(OfCallers, usageKey{name: kept.Principal}, &kept)
	if kept.Server != "" {
		t.sum(OfServers, usageKey{name: kept.Server}, &kept)
		t.measure(OfServers, usageKey{name: kept.Server}, end, &kept)
		if kept.Tool != "" {
			key := usageKey{server: kept.Server, name: kept.Tool}
			if unlisted {
				key = usageKey{other: true}
			}
			t.sum(OfTools, key, &kept)
			t.measure(OfTools, key, end, &kept)
		}
		if kept.Outcome == audit.Allowed && kept.Method == protocol.MethodToolsCall {
			t.durationsOf(kept.Server).add(keptDurations, kept.Duration)
		}
	}
	at := end.Unix() / 60
	m := t.minutes[at%keptMinutes]
	if m.at != at {
		m = minute{at: at}
	}
	m.add(&kept)
	t.minutes[at%keptMinutes] = m
	t.mu.Unlock()
	t.watchers.Notify()
}

// sum adds a request to the sum of a key, or of the other keys of its kind. Call it with mu held.
func (t *Tracker) sum(kind Kind, key usageKey, r *audit.Record) {
	sums := t.sums[kind]
	if sums[key] == nil && len(sums) >= maxUsageKeys {
		key = usageKey{other: true}
	}
	u := sums[key]
	if u == nil {
		u = &Usage{Server: key.server, Name: key.name, Other: key.other}
		sums[key] = u
	}
	u.add(r)
}

// durationsOf returns the durations of a server. Call it with mu held.
func (t *Tracker) durationsOf(server string) *ring[time.Duration] {
	d := t.servers[server]
	if d == nil {
		if len(t.servers) >= maxUsageKeys {
			clear(t.servers)
		}
		d = &ring[time.Duration]{}
		t.servers[server] = d
	}
	return d
}

// Changed notifies watchers that a request in flight is in another state.
func (t *Tracker) Changed() {
	if t != nil {
		t.watchers.Notify()
	}
}

// Watch calls changed when requests begin, end and reach another state, until stop has returned. changed must not
// block.
func (t *Tracker) Watch(changed func()) (stop func()) { return t.watchers.Watch(changed) }

// InFlight returns the requests in flight, the oldest first. Seq is the id for [Tracker.Cancel]. A request that has
// reached no part of a server yet has no Server. A request that runs several calls of tools, such as a batch, has a
// record with the same Seq for each of them. While a call waits for an approval, Approval has its id, and the outcome
// is Deferred. Otherwise there is no outcome.
func (t *Tracker) InFlight() []audit.Record {
	t.mu.Lock()
	running := slices.Collect(maps.Values(t.inFlight))
	t.mu.Unlock()
	slices.SortFunc(running, func(x, y *Request) int { return cmp.Compare(x.id, y.id) })
	all := make([]audit.Record, 0, len(running))
	for _, r := range running {
		for _, one := range r.source.Records() {
			one.Seq = r.id
			all = append(all, bounded(&one))
		}
	}
	return all
}

// Recent returns the last requests, the newest first.
func (t *Tracker) Recent() []audit.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.recent.all()
	slices.Reverse(all)
	return all
}

// Cancel ends a request in flight, as if its client had cancelled it. The client gets an error. It reports whether the
// request was in flight.
func (t *Tracker) Cancel(id uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.inFlight[id]
	if r != nil {
		r.cancel(ErrCancelled) // with mu held, so that the request does not end with another answer
	}
	return r != nil
}

// Usage returns the sums since the time that it returns, those with the most requests first. The first 1,000 keys of a
// kind have their own sums.
func (t *Tracker) Usage(kind Kind) (all []Usage, since time.Time) {
	t.mu.Lock()
	for _, u := range t.sums[kind] {
		all = append(all, *u)
	}
	t.mu.Unlock()
	slices.SortFunc(all, func(x, y Usage) int {
		return cmp.Or(cmp.Compare(y.Requests, x.Requests), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Name, y.Name))
	})
	return all, t.began
}

// Minutes returns the usage of each of the last n minutes, the oldest first: at most those of a day.
func (t *Tracker) Minutes(n int) []Usage {
	now := time.Now().Unix() / 60
	n = min(n, keptMinutes)
	all := make([]Usage, n)
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range all {
		at := now - int64(n-1-i)
		if m := t.minutes[at%keptMinutes]; m.at == at {
			all[i] = m.Usage
		}
	}
	return all
}

// Durations returns how long the last calls of a server took, the oldest first: at most 60.
func (t *Tracker) Durations(server string) []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.servers[server]; d != nil {
		return d.all()
	}
	return nil
}
