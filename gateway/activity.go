package gateway

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/audit"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
)

// These are the bounds of an [Activity].
const (
	keptRequests  = 500
	keptMinutes   = 24 * 60
	keptDurations = 60   // of each server
	maxUsageKeys  = 1000 // of each kind
	maxKeptText   = 256  // of each text of a record, in bytes
)

// Activity has the requests of a gateway in memory: those in flight, the last ones, and sums since it was made. They
// are the requests that an audit records, and their records have no arguments and results. URIs and reasons are masked,
// and all texts are cut at 256 bytes. Clients and servers wrote them: they may contain any character. The memory is
// bounded, and nothing runs in the background. All methods may be called from any goroutine.
type Activity struct {
	mu       sync.Mutex
	watchers watch.List
	began    time.Time
	last     uint64 // the id of the last request
	inFlight map[uint64]*exchange
	recent   []audit.Record // after keptRequests a ring, with the oldest at position oldest
	oldest   int
	sums     map[usageKey]*Usage
	keys     map[UsageKind]int // the number of keys of each kind
	minutes  map[int64]minute  // by the minute since 1970 modulo keptMinutes
	servers  map[string]*durations
}

// UsageKind selects the sums of [Activity.Usage].
type UsageKind string

const (
	UsageOfTools   UsageKind = "tool"
	UsageOfServers UsageKind = "server"
	UsageOfCallers UsageKind = "caller"
)

type usageKey struct {
	kind         UsageKind
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

// durations is a ring of the last durations of calls.
type durations struct {
	all [keptDurations]time.Duration
	n   int // of all calls
}

// NewActivity returns an empty activity.
func NewActivity() *Activity {
	return &Activity{
		began: time.Now(), inFlight: map[uint64]*exchange{}, minutes: map[int64]minute{},
		sums: map[usageKey]*Usage{}, keys: map[UsageKind]int{}, servers: map[string]*durations{},
	}
}

// errByOperator is the cause of a request that [Activity.Cancel] ended.
var errByOperator = errors.New("an operator has cancelled this request")

// begin adds a request in flight.
func (a *Activity) begin(ctx context.Context, x *exchange) context.Context {
	if a == nil {
		return ctx
	}
	x.running, x.cancel = context.WithCancelCause(ctx)
	a.mu.Lock()
	a.last++
	x.id = a.last
	a.inFlight[x.id] = x
	a.mu.Unlock()
	a.watchers.Notify()
	return x.running
}

// end removes a request in flight, and ends its context. The answer to a request that an operator has cancelled is an
// error, also if there is a result: it may only state that the request was cancelled, in words of its own.
func (a *Activity) end(x *exchange, err error) error {
	if a == nil {
		return err
	}
	a.mu.Lock()
	delete(a.inFlight, x.id)
	a.mu.Unlock()
	if context.Cause(x.running) == errByOperator {
		err = byOperator(x.running, errByOperator)
	}
	x.cancel(nil)
	return err
}

// bounded returns a record without contents, whose texts are cut.
func bounded(r *audit.Record) audit.Record {
	out := *r
	out.Arguments, out.Result, out.Policies = nil, nil, nil
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

// byOperator returns the error of a request that an operator has cancelled, or else err. It does not replace nil.
func byOperator(ctx context.Context, err error) error {
	if err != nil && context.Cause(ctx) == errByOperator {
		return &interop.RPCError{Code: codeRefused, Message: errByOperator.Error()}
	}
	return err
}

// record adds a request that has ended. If the tool is unlisted, the caller may have invented its name.
func (a *Activity) record(r *audit.Record, unlisted bool) {
	if a == nil {
		return
	}
	kept := bounded(r)
	a.mu.Lock()
	if len(a.recent) < keptRequests {
		a.recent = append(a.recent, kept)
	} else {
		a.recent[a.oldest] = kept
		a.oldest = (a.oldest + 1) % keptRequests
	}
	a.sum(usageKey{kind: UsageOfCallers, name: kept.Principal}, &kept)
	if kept.Server != "" {
		a.sum(usageKey{kind: UsageOfServers, name: kept.Server}, &kept)
		if kept.Tool != "" {
			key := usageKey{kind: UsageOfTools, server: kept.Server, name: kept.Tool}
			if unlisted {
				key = usageKey{kind: UsageOfTools, other: true}
			}
			a.sum(key, &kept)
		}
		if kept.Outcome == audit.Allowed && kept.Method == protocol.MethodToolsCall {
			a.durationsOf(kept.Server).add(kept.Duration)
		}
	}
	at := kept.At.Add(kept.Duration).Unix() / 60 // of the end: a request may last longer than a day
	m := a.minutes[at%keptMinutes]
	if m.at != at {
		m = minute{at: at}
	}
	m.add(&kept)
	a.minutes[at%keptMinutes] = m
	a.mu.Unlock()
	a.watchers.Notify()
}

// sum adds a request to the sum of a key, or of the other keys of its kind. Call it with mu held.
func (a *Activity) sum(key usageKey, r *audit.Record) {
	u := a.sums[key]
	if u == nil && a.keys[key.kind] >= maxUsageKeys {
		key = usageKey{kind: key.kind, other: true}
		u = a.sums[key]
	}
	if u == nil {
		u = &Usage{Server: key.server, Name: key.name, Other: key.other}
		a.sums[key] = u
		a.keys[key.kind]++
	}
	u.add(r)
}

// durationsOf returns the durations of a server. Call it with mu held.
func (a *Activity) durationsOf(server string) *durations {
	d := a.servers[server]
	if d == nil {
		if len(a.servers) >= maxUsageKeys {
			clear(a.servers)
		}
		d = &durations{}
		a.servers[server] = d
	}
	return d
}

func (d *durations) add(one time.Duration) {
	d.all[d.n%keptDurations] = one
	d.n++
}

// changed notifies watchers that a request in flight is in another state.
func (a *Activity) changed() {
	if a != nil {
		a.watchers.Notify()
	}
}

// Watch calls changed when requests begin, end and reach another state, until stop has returned. changed must not
// block.
func (a *Activity) Watch(changed func()) (stop func()) { return a.watchers.Watch(changed) }

// InFlight returns the requests in flight, the oldest first. Seq is the id for [Activity.Cancel]. A request that has
// reached no part of a server yet has no Server. A request that runs several calls of tools, such as a batch, has a
// record with the same Seq for each of them. While a call waits for an approval, Approval has its id, and the outcome
// is Deferred. Otherwise there is no outcome.
func (a *Activity) InFlight() []audit.Record {
	a.mu.Lock()
	running := slices.Collect(maps.Values(a.inFlight))
	a.mu.Unlock()
	slices.SortFunc(running, func(x, y *exchange) int { return cmp.Compare(x.id, y.id) })
	all := make([]audit.Record, 0, len(running))
	for _, x := range running {
		all = append(all, x.now()...)
	}
	return all
}

// now returns the records of a request that is being handled: of each item that has not ended, or else of the request.
func (x *exchange) now() (all []audit.Record) {
	x.mu.Lock()
	for _, e := range x.more {
		if !e.ended.Load() {
			all = append(all, e.now(x.id))
		}
	}
	if len(all) == 0 || !x.main.ended.Load() {
		all = slices.Insert(all, 0, x.main.now(x.id))
	}
	x.mu.Unlock()
	for i := range all {
		all[i].Target = x.view.gateway.maskText(all[i].Target)
		all[i] = bounded(&all[i])
	}
	return all
}

// now returns the record of an item that has not ended. Call it with the mu of its exchange held.
func (e *entry) now(id uint64) audit.Record {
	out := audit.Record{ // the other fields are set without a lock
		Seq: id, At: e.At, Principal: e.Principal, Client: e.Client, ClientVersion: e.ClientVersion, Address: e.Address,
		View: e.View, Era: e.Era, Method: e.Method, Server: e.Server, Tool: e.Tool, Target: e.Target, BytesIn: e.BytesIn,
		Session: e.Session, Approval: e.waiting,
	}
	if out.Approval != "" {
		out.Outcome = audit.Deferred
	}
	return out
}

// Recent returns the last requests, the newest first.
func (a *Activity) Recent() []audit.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Concat(a.recent[a.oldest:], a.recent[:a.oldest])
	slices.Reverse(all)
	return all
}

// Cancel ends a request in flight, as if its client had cancelled it. The client gets an error. It reports whether the
// request was in flight.
func (a *Activity) Cancel(id uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.inFlight[id]
	if x != nil {
		x.cancel(errByOperator) // with mu held, so that the request does not end with another answer
	}
	return x != nil
}

// Usage returns the sums since the time that it returns, those with the most requests first. The first 1,000 keys of a
// kind have their own sums.
func (a *Activity) Usage(kind UsageKind) (all []Usage, since time.Time) {
	a.mu.Lock()
	for key, u := range a.sums {
		if key.kind == kind {
			all = append(all, *u)
		}
	}
	a.mu.Unlock()
	slices.SortFunc(all, func(x, y Usage) int {
		return cmp.Or(cmp.Compare(y.Requests, x.Requests), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Name, y.Name))
	})
	return all, a.began
}

// Minutes returns the usage of each of the last n minutes, the oldest first: at most those of a day.
func (a *Activity) Minutes(n int) []Usage {
	now := time.Now().Unix() / 60
	n = min(n, keptMinutes)
	all := make([]Usage, n)
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range all {
		at := now - int64(n-1-i)
		if m := a.minutes[at%keptMinutes]; m.at == at {
			all[i] = m.Usage
		}
	}
	return all
}

// Durations returns how long the last calls of a server took, the oldest first: at most 60.
func (a *Activity) Durations(server string) []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.servers[server]
	switch {
	case d == nil:
		return nil
	case d.n <= keptDurations:
		return slices.Clone(d.all[:d.n])
	}
	at := d.n % keptDurations
	return slices.Concat(d.all[at:], d.all[:at])
}
