package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/replica/cluster"
)

// Options of [Connect]. The zero value of each field but Servers is valid.
type Options struct {
	// Servers are the URLs of the servers, with commas between them.
	Servers string
	// CredsFile is a file with the credentials of a user. It is read again for each connection.
	CredsFile string
	// CA is a file with certificates of authorities. "" means those of the system.
	CA string
	// Name is the prefix of streams and subjects: 1 to 32 of a-z, 0-9 and "-". "" means "indus".
	Name string
	// Client names this process in the lists of connections of the server.
	Client string
	// Replicas is the number of replicas of each stream. Zero means 3 if the server belongs to a cluster, else 1.
	Replicas int
	// Monitor are the URLs of the monitors of the servers, with commas between them. They show whether the servers write
	// each change to the disk before they confirm it. "" means that this is not known.
	Monitor string
	// Report receives the begin and the end of each interruption, as a phrase. Nil ignores them.
	Report func(string)
}

// Engine is a connection to NATS.
type Engine struct {
	opts     Options
	conn     *client.Conn
	js       jetstream.JetStream
	kv       jetstream.KeyValue
	isNew    bool // nothing was ever stored
	warnings []string
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu          sync.Mutex
	opened      map[string]time.Time // when each stream was created, by name
	replicated  bool                 // a stream has several replicas
	removed     error                // of each step, once a stream was removed
	reported    string               // the last error, until the connection is there again
	reconnected chan struct{}        // closed when the connection is there again
	clock       time.Time            // the time of the server at measured
	measured    time.Time
}

var _ cluster.Engine = (*Engine)(nil)

const (
	connectWait = 5 * time.Second
	// stepWait bounds one step. A group of servers needs a few seconds to elect another leader.
	stepWait = 3 * time.Second
	// markerTime is how long the server keeps the mark of a deleted or expired key.
	markerTime = time.Minute
	minPayload = 1 << 20
	maxAhead   = 10 * time.Second
)

// unreachableError wraps [cluster.ErrUnavailable] for a connection that was never made. No caller asked for a step, so
// the text does not say "ask again".
type unreachableError struct {
	servers string
	err     error
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("NATS cannot be reached at %s: %v", Redacted(e.servers), e.err)
}

func (e *unreachableError) Unwrap() []error { return []error{cluster.ErrUnavailable, e.err} }

// lateError wraps [cluster.ErrUnavailable] for a step that has no answer in time, although there is a connection.
type lateError struct{ err error }

func (e *lateError) Error() string {
	return fmt.Sprintf("the state that replicas share did not answer in time: ask again (NATS: %v)", e.err)
}

func (e *lateError) Unwrap() []error { return []error{cluster.ErrUnavailable, e.err} }

// Connect connects to a server and checks that it fulfils the requirements. Until Close, a lost connection is made
// again.
func Connect(ctx context.Context, opts *Options) (*Engine, error) {
	e := &Engine{opts: *opts, reconnected: make(chan struct{}), opened: map[string]time.Time{}, stop: func() {}}
	e.opts.Name = cmp.Or(e.opts.Name, "indus")
	if e.opts.Report == nil {
		e.opts.Report = func(string) {}
	}
	if !isName(e.opts.Name) {
		return nil, fmt.Errorf("%.40q is no name of a cluster: write 1 to 32 of a-z, 0-9 and -", e.opts.Name)
	}
	var err error
	e.conn, err = client.Connect(opts.Servers, e.connection()...)
	if err != nil {
		return nil, &unreachableError{opts.Servers, err}
	}
	if e.js, err = jetstream.New(e.conn, jetstream.WithDefaultTimeout(connectWait)); err == nil {
		err = e.require(ctx)
	}
	if err != nil {
		e.Close()
		return nil, fmt.Errorf("%s: %w", Redacted(opts.Servers), err)
	}
	e.checkSync(ctx)
	if w := clockWarning(time.Since(e.Now())); w != "" {
		e.warnings = append(e.warnings, w)
	}
	follow, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop = stop
	e.running.Go(func() { e.followStreams(follow) })
	return e, nil
}

// Redacted returns URLs of servers without their passwords and tokens.
func Redacted(servers string) string {
	all := strings.Split(servers, ",")
	for i, s := range all {
		if u, err := url.Parse(strings.TrimSpace(s)); err != nil {
			all[i] = "(no URL)"
		} else if u.User != nil {
			u.User = url.User("xxxxx")
			all[i] = u.String()
		}
	}
	return strings.Join(all, ",")
}

// connection returns the options of the connection.
func (e *Engine) connection() []client.Option {
	report := e.opts.Report
	options := []client.Option{
		client.Name("indus " + e.opts.Client), client.Timeout(connectWait), client.MaxReconnects(-1),
		client.ReconnectWait(250 * time.Millisecond), client.ReconnectJitter(250*time.Millisecond, time.Second),
		client.ReconnectBufSize(-1),   // a step fails at once while there is no connection
		client.IgnoreAuthErrorAbort(), // credentials may be renewed later
		// A write holds the lock of the connection.
		client.FlusherTimeout(stepWait), client.ReconnectOnFlusherError(),
		client.PingInterval(10 * time.Second), client.MaxPingsOutstanding(2),
		client.DisconnectErrHandler(func(_ *client.Conn, err error) {
			if err != nil {
				report(fmt.Sprintf("the connection to NATS is lost (%v): nothing that replicas share can change", err))
			}
		}),
		client.ReconnectHandler(func(*client.Conn) {
			report("the connection to NATS is there again")
			e.mu.Lock()
			defer e.mu.Unlock()
			e.reported = ""
			close(e.reconnected)
			e.reconnected = make(chan struct{})
		}),
		client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) {
			if !errors.Is(err, client.ErrConsumerNotActive) { // of each watch, after the connection is lost, which is reported
				e.reportError(err)
			}
		}),
	}
	if e.opts.CredsFile != "" {
		options = append(options, client.UserCredentials(e.opts.CredsFile))
	}
	if e.opts.CA != "" {
		options = append(options, client.RootCAs(e.opts.CA))
	}
	return options
}

// reportError reports an error of the connection, but not each attempt that ends with the same one.
func (e *Engine) reportError(err error) {
	text := fmt.Sprintf("NATS reports: %v", err)
	if errors.Is(err, client.ErrAuthorization) {
		text += ": if its password has changed, restart with the new one; indus reads only a credsFile again"
	}
	e.mu.Lock()
	isNew := text != e.reported
	e.reported = text
	e.mu.Unlock()
	if isNew {
		e.opts.Report(text)
	}
}

// Close ends the connection.
func (e *Engine) Close() {
	e.stop()
	e.running.Wait()
	e.conn.Close()
}

// Check implements [cluster.Engine].
func (e *Engine) Check() error {
	e.mu.Lock()
	removed := e.removed
	e.mu.Unlock()
	if removed != nil || e.conn.IsConnected() {
		return removed
	}
	return fmt.Errorf("%w (NATS: %w)", cluster.ErrUnavailable, cmp.Or(e.conn.LastError(), client.ErrDisconnected))
}

// Describe returns the server, its version and the prefix of streams, for a person.
func (e *Engine) Describe() string {
	return fmt.Sprintf("%s at NATS %s (%s)", e.opts.Name, e.conn.ConnectedUrlRedacted(), e.conn.ConnectedServerVersion())
}

// Warnings returns the weaknesses of the servers that indus accepts.
func (e *Engine) Warnings() []string { return slices.Clone(e.warnings) }

// IsNew reports that the servers had no state of this cluster: it is new, or they have lost it.
func (e *Engine) IsNew() bool { return e.isNew }

// Now implements [cluster.Engine]: the time of the server when it was measured, and the time that has passed since.
func (e *Engine) Now() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.clock.Add(time.Since(e.measured))
}

// setClock stores the time of the server. The answer with it took from sent until now.
func (e *Engine) setClock(server, sent time.Time) {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.measured, e.clock = now, server.Add(now.Sub(sent)/2)
}

// noteTime moves the clock on to the time at which the server stored an entry, if that is later. The monotonic clock of
// this machine stops while it is suspended.
func (e *Engine) noteTime(stored time.Time) {
	if stored.After(e.Now()) {
		e.setClock(stored, time.Now())
	}
}

// clockWarning returns a warning if the clock of this machine differs from the server's by more than maxAhead.
func clockWarning(ahead time.Duration) string {
	word := "ahead of"
	if ahead < 0 {
		word = "behind"
	}
	if ahead.Abs() <= maxAhead {
		return ""
	}
	return fmt.Sprintf("the clock of this machine is %v %s the clock of NATS: API keys and tokens of callers end by the "+
		"clock of this machine, and its records have it: synchronize the clocks", ahead.Abs().Round(time.Second), word)
}

// next returns a channel that is closed when the connection is there again after the next interruption.
func (e *Engine) next() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reconnected
}

// step returns the context of a step, or an error if there is no connection.
func (e *Engine) step(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := e.Check(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	return ctx, cancel, nil
}

// asked returns the answer to one request for reading, which is a step.
func asked[T any](ctx context.Context, e *Engine, read func(context.Context) (T, error)) (v T, err error) {
	ctx, cancel, err := e.step(ctx)
	if err != nil {
		return v, err
	}
	defer cancel()
	v, err = answered(ctx, func() (T, error) { return read(ctx) })
	return v, fault(err)
}

// answered repeats a read that no server answers, until ctx ends: for a moment, servers do not know where a part is
// that was just made, or has lost its leader.
func answered[T any](ctx context.Context, read func() (T, error)) (T, error) {
	for {
		v, err := read()
		if !errors.Is(err, client.ErrNoResponders) || !watch.Sleep(ctx, publishPause) {
			return v, err
		}
	}
}

// fault returns an error of NATS as an error of package cluster.
func fault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound): // also for a deleted key
		return cluster.ErrNotFound
	case errors.Is(err, client.ErrMaxPayload):
		return err
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, client.ErrTimeout): // it may be busy
		return &lateError{err}
	}
	return fmt.Errorf("%w (NATS: %w)", cluster.ErrUnavailable, err)
}

func isName(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
