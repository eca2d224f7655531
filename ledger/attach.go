package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// Options tune an attachment. nil and the zero value are good.
type Options struct {
	// Mount says how the servers are connected and their tools shown; its Filter and
	// Admit are the attachment's own. nil: the zero options.
	Mount *interop.MountOptions
	// Log keeps what happens; it stays its owner's to close. nil: nothing is kept,
	// and approvals last as long as the attachment.
	Log Log
	// Open opens the log in place of Log, while the attachment is in use already: Attach
	// returns at once, its servers are pending, and calls of their tools wait. It gives nil
	// where nothing is to be kept; its context ends with Close. nil: Log counts.
	Open func(context.Context) Log
	// Policy is what becomes at least of tools that are not as they were approved;
	// Server.Changes may be stricter. "":
	// [interop.AcceptChanges].
	Policy interop.ChangePolicy
	// Warm lists what the log knows of a server until it answers itself, unless Mount
	// says what is known. false: only what servers list is listed.
	Warm bool
	// By is who runs this, for who reads the log.
	By string
	// Poll is how often the log is asked for approvals while a tool is held. 0: 2 s.
	Poll time.Duration
}

const defaultPoll = 2 * time.Second

// Attachment is servers whose live tools are a [Ledger]: what they list, lose and
// change is enrolled and retired, as it happens, and written to the log.
//
// It is a [toolbox.Source]: the live tools, and those that are listed because they are known.
type Attachment struct {
	// Box is the attachment's tools for models. It is live.
	Box *toolbox.Box
	// Fleet has each server's health. [Attachment.Apply] brings and takes servers.
	Fleet *interop.Fleet
	// Run is the ULID of this run, by which the log knows it.
	Run string
	// Enrolled is how many tools Attach has enrolled before it returned.
	Enrolled int

	opts       Options
	logger     *slog.Logger
	watchers   toolbox.Watchers
	stop       func() // looking at the fleet
	background sync.WaitGroup
	release    func() // ends the run's lease; set in the background
	closing    sync.Once
	done       chan struct{}
	polling    sync.Once
	known      func(server string) []toolbox.Wire // set before the servers are in the fleet
	cancel     context.CancelFunc                 // of the opening of the log
	started    chan struct{}                      // closed when the servers are in the fleet
	stale      atomic.Bool                        // something has happened since the last look
	wake       chan struct{}                      // gets a value when the follower has to look

	mu       sync.Mutex
	guard    guard
	journal  journal
	seen     *toolbox.Snapshot // of the fleet, as it was last looked at
	shown    *toolbox.Snapshot // what of it is let through
	settling bool              // Attach has not returned: what comes is enrolled in the end, in configuration order
	pending  bool              // the servers are not in the fleet yet
	closed   bool
}

// Format is what every verb of package fmt prints: the run, and how many servers it has.
func (a *Attachment) Format(w fmt.State, _ rune) { _, _ = fmt.Fprintf(w, "run %s: %v", a.Run, a.Fleet) }

// Attach connects the servers and enrolls their tools: the ledger that it begins
// with is not changed, and [Attachment.Ledger] is what comes of it. It never fails: a
// server that cannot be reached enrolls nothing, its fault is in Status, and it
// enrolls its tools when it comes. Without servers nothing happens, and what l has of
// other servers stays. It returns as
// [interop.Mount] does; ctx bounds that wait and the reading of the log. The caller
// closes what it gets.
func Attach(ctx context.Context, l Ledger, servers []interop.Server, o *Options) *Attachment {
	a := newAttachment(l, servers, o)
	m := *a.opts.Mount
	if m.Known == nil && a.opts.Warm {
		m.Known = func(server string) []toolbox.Wire { return a.known(server) }
	}
	m.Events, m.Filter, m.Admit = a.hear, a.filter, a.admit
	a.background.Go(a.follow)
	if a.opts.Open != nil {
		m.Wait = -1
		ctx, a.cancel = context.WithCancel(context.WithoutCancel(ctx)) // it ends with Close
		a.Box = interop.Mount(ctx, nil, &m).Box
		a.background.Go(func() { a.start(ctx, servers) })
		return a
	}
	defer close(a.started)
	a.recall(ctx, servers)
	a.settling = m.Wait >= 0
	a.Box = interop.Mount(ctx, a.strict(servers), &m).Box
	a.mu.Lock()
	a.settling = false
	a.mu.Unlock()
	a.update()
	a.Enrolled = a.enrolled()
	a.startPolling()
	return a
}

// start opens the log, and then gives the fleet its servers.
func (a *Attachment) start(ctx context.Context, servers []interop.Server) {
	defer close(a.started)
	log := a.opts.Open(ctx)
	a.mu.Lock()
	a.opts.Log, a.journal.recorder = log, newRecorder(log, a.logger)
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxRecall)
	defer cancel()
	a.recall(ctx, servers)
	a.Fleet.Apply(a.strict(servers))
	a.mu.Lock()
	a.pending = false
	a.mu.Unlock()
	a.update()
	a.startPolling()
}

// maxRecall bounds the reading of the log beside clients that wait.
const maxRecall = 30 * time.Second

// Wait waits until the log is open and the servers are being connected; without
// Options.Open they always are.
func (a *Attachment) Wait(ctx context.Context) error {
	select {
	case <-a.started:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// filter begins to look at a fleet, in which nothing is yet, and is what an
// attachment's box sees of it.
func (a *Attachment) filter(fleet *interop.Fleet) toolbox.Source {
	a.Fleet = fleet
	a.update()
	a.stop = fleet.Watch(func() {
		a.changed()
		a.watchers.Notify()
	})
	return a
}

func newAttachment(l Ledger, servers []interop.Server, o *Options) *Attachment {
	a := &Attachment{
		Run: string(NewKey()), logger: slog.New(slog.DiscardHandler), release: func() {}, cancel: func() {},
		done: make(chan struct{}), started: make(chan struct{}), wake: make(chan struct{}, 1),
		shown: &toolbox.Snapshot{Version: 1},
		guard: guard{
			held: map[toolID]Entry{}, kept: map[string]toolID{}, approved: newApprovals(),
			enrolling: map[origin]bool{}, summed: map[string]summed{},
		},
	}
	if o != nil {
		a.opts = *o
	}
	if a.opts.Mount == nil {
		a.opts.Mount = &interop.MountOptions{}
	}
	if a.opts.Mount.Logger != nil {
		a.logger = a.opts.Mount.Logger
	}
	if a.opts.Poll <= 0 {
		a.opts.Poll = defaultPoll
	}
	a.journal = journal{
		run: a.Run, by: a.opts.By, config: Fingerprint(servers...), ledger: l, recorder: newRecorder(a.opts.Log, a.logger),
		mine: map[string]bool{}, says: map[origin]json.RawMessage{}, health: map[string]string{},
	}
	if a.pending = a.opts.Open != nil; a.pending {
		for _, s := range servers {
			a.shown.Pending = append(a.shown.Pending, s.ID)
		}
	}
	return a
}

// recall reads what was approved, and what the servers had when they were heard last. That
// precedes the servers: it says which era they are spoken to in. All else that is done with
// the log is done beside them.
func (a *Attachment) recall(ctx context.Context, servers []interop.Server) {
	state := StateOf(nil)
	if a.opts.Log != nil {
		entries, err := a.opts.Log.Read(ctx, 0)
		a.mu.Lock()
		if state = StateOf(entries); err == nil {
			a.guard.recall(state)
			maps.Copy(a.journal.says, state.described(servers))
		} else {
			a.guard.recall(nil)
		}
		a.mu.Unlock()
		if err != nil {
			a.logger.Error("the ledger cannot be read: no tool counts as approved", "err", err)
		} else if l, ok := a.opts.Log.(fileLog); ok {
			a.background.Go(func() { a.keep(l) })
		}
	}
	a.known = firstTime(state.Known(servers))
}

// firstTime gives what is known of a server to its first connection only: one that is
// configured anew is another.
func firstTime(known func(string) []toolbox.Wire) func(string) []toolbox.Wire {
	var mu sync.Mutex
	asked := map[string]bool{}
	return func(server string) []toolbox.Wire {
		mu.Lock()
		defer mu.Unlock()
		if asked[server] {
			return nil
		}
		asked[server] = true
		return known(server)
	}
}

func (a *Attachment) enrolled() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for server := range a.journal.mine {
		n += a.journal.ledger.Snapshot().ByServer[server]
	}
	return n
}

// Ledger is what is enrolled now.
func (a *Attachment) Ledger() Ledger {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current()
	return a.journal.ledger
}

// Status is the health of every server, in order.
func (a *Attachment) Status() []interop.EndpointStatus { return a.Fleet.Status() }

// Names is what the live tools are mounted as.
func (a *Attachment) Names() []string { return a.Ledger().Snapshot().Names() }

// Counts is how many tools of each server are live, 0 where none are.
func (a *Attachment) Counts() map[string]int {
	counts := map[string]int{}
	for _, st := range a.Status() {
		counts[st.Server] = 0
	}
	for server, n := range a.Ledger().Snapshot().ByServer {
		counts[server] = n
	}
	return counts
}

// Capabilities is the live tools as models see them, in the order of the ledger.
func (a *Attachment) Capabilities() []Capability {
	byName := map[string]Capability{}
	for _, c := range Capabilities(a.Box) {
		byName[c.Name] = c
	}
	var out []Capability
	for _, name := range a.Names() {
		if c, ok := byName[name]; ok {
			out = append(out, c)
		}
	}
	return out
}

// Changed is the tools that are not as they were approved: of an Enroll it is live
// all the same, a Hold is kept back.
func (a *Attachment) Changed() []Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current()
	var out []Entry
	for _, e := range a.journal.ledger.Snapshot().Live {
		if e.Changed {
			out = append(out, e)
		}
	}
	for _, e := range a.guard.held {
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y Entry) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Tool, y.Tool)) })
	return out
}

// Accept approves what Changed has of a tool, in the log first. note says who it was.
func (a *Attachment) Accept(ctx context.Context, server, name, note string) error {
	changed := a.Changed()
	i := slices.IndexFunc(changed, func(e Entry) bool { return e.Server == server && e.Tool == name })
	switch {
	case a.Policy(server) == interop.DenyChanges:
		return fmt.Errorf("ledger: %s: changes of %s are denied", server, name)
	case i < 0:
		return fmt.Errorf("ledger: %s: %s is as it was approved", server, name)
	}
	e := changed[i].accepted(a.Run, note)
	if a.opts.Log != nil {
		if err := a.Flush(ctx); err != nil {
			return err
		}
		if _, err := a.opts.Log.Append(ctx, e); err != nil {
			return err
		}
	}
	a.mu.Lock()
	a.guard.approved.take(e)
	a.guard.accepts++
	a.mu.Unlock()
	a.update()
	return nil
}

// Policy is what becomes of a server's tools that are not as they were approved.
func (a *Attachment) Policy(server string) interop.ChangePolicy {
	for _, s := range a.Fleet.Servers() {
		if s.ID == server {
			return s.Changes
		}
	}
	return a.opts.Policy.Strictest("")
}

// strict is servers with the policies that hold: each its own, or the attachment's.
func (a *Attachment) strict(servers []interop.Server) []interop.Server {
	out := slices.Clone(servers)
	guards := a.opts.Policy.Guards()
	for i := range out {
		out[i].Changes = a.opts.Policy.Strictest(out[i].Changes)
		guards = guards || out[i].Changes.Guards()
	}
	a.mu.Lock()
	a.guard.active = guards
	a.mu.Unlock()
	return out
}

// Apply makes the attachment consist of servers, as [interop.Fleet.Apply] does, which
// says what becomes of calls meanwhile. A configuration that is not the one before is
// recorded as a [Reload]; what it brings and takes follows as it happens. After Close
// it does nothing.
func (a *Attachment) Apply(servers []interop.Server) {
	<-a.started
	strict := a.strict(servers)
	a.mu.Lock()
	if !a.closed {
		a.journal.reload(Fingerprint(servers...))
		a.startPolling()
	}
	a.mu.Unlock()
	a.Fleet.Apply(strict)
	a.update()
}

// Detach takes servers out: their tools are retired at once, and nobody else's are.
// It does not wait: their connections close in the background, when calls in flight
// have ended or MountOptions.Drain is over; Close waits for that. Without any it is
// [Attachment.Close]. It never fails, and gives what is enrolled then.
func (a *Attachment) Detach(servers ...string) Ledger {
	if len(servers) == 0 {
		a.Close()
		return a.Ledger()
	}
	a.Apply(slices.DeleteFunc(a.Fleet.Servers(), func(s interop.Server) bool { return slices.Contains(servers, s.ID) }))
	return a.Ledger()
}

// Flush waits until all that has happened is in the log, or cannot be written.
func (a *Attachment) Flush(ctx context.Context) error {
	if err := a.Wait(ctx); err != nil {
		return err
	}
	a.update()
	return a.journal.recorder.flush(ctx)
}

// Close retires all that is live, ends the run in the log, closes every connection
// and waits for all of that; for the log it waits a few seconds at most. It never
// fails and may be called twice.
func (a *Attachment) Close() {
	a.cancel()
	<-a.started
	a.end()
	a.Fleet.Close()
	a.stop()
	a.background.Wait()
	a.journal.recorder.close()
	a.closing.Do(a.release)
}
