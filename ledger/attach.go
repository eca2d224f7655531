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
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// Options configures an attachment. Nil and the zero value are valid.
type Options struct {
	// Mount configures the connections to the servers and the tools. Attach replaces its Filter, and calls its Admit for
	// tools that are not held or denied. If it is nil, the zero options apply.
	Mount *interop.MountOptions
	// Log stores the entries. Its owner closes it. If it is nil, nothing is stored, and approvals last as long as the
	// attachment.
	Log Log
	// Open opens the log, in place of Log, while the attachment is already in use. Attach returns at once, its servers
	// are pending, and calls of their tools wait. Open returns nil if nothing is to be stored. Its context ends with
	// Close. If Open is nil, Log applies.
	Open func(context.Context) Log
	// Policy is the minimum policy for tools that differ from their approved version. Server.Changes may be stricter.
	// "" means [config.AcceptChanges].
	Policy config.ChangePolicy
	// Warm lists the tools that the log has of a server until the server answers, unless Mount.Known is set. If it is
	// false, only tools that servers list are listed.
	Warm bool
	// By names the user or program of this run, for readers of the log.
	By string
	// Wrote is called after each write of the log, with its error. One goroutine calls it. It may be nil.
	Wrote func(error)
	// Poll is the interval at which the log is read for approvals while a tool is held. 0 means 2 s.
	Poll time.Duration
}

const defaultPoll = 2 * time.Second

// Attachment connects servers and keeps a [Ledger] of their live tools. It enrolls and retires tools as servers list,
// lose and change them, and writes this to the log.
//
// It is a [toolbox.Source] of the live tools, and of tools that are listed from the log.
type Attachment struct {
	// Box has the attachment's tools for models. It is live.
	Box *toolbox.Box
	// Fleet has the health of each server. [Attachment.Apply] adds and removes servers.
	Fleet *interop.Fleet
	// Run is the ULID of this run, which identifies it in the log.
	Run string
	// Enrolled is the number of tools that Attach enrolled before it returned.
	Enrolled int

	opts         Options
	logger       *slog.Logger
	watchers     toolbox.Watchers
	unwatch      func() // stops watching the fleet
	background   sync.WaitGroup
	releaseLease func()          // ends the run's lease; set in the background
	life         context.Context // of the follower and the poller
	endLife      context.CancelFunc
	pollOnce     sync.Once
	knownTools   func(server string) []toolbox.Wire // set before the servers are in the fleet
	cancel       context.CancelFunc                 // cancels the opening of the log
	started      chan struct{}                      // closed when the servers are in the fleet
	stale        atomic.Bool                        // something happened since the last reconciliation
	wake         chan struct{}                      // gets a value when the follower has to reconcile

	mu            sync.Mutex
	guard         guard
	journal       journal
	fleetSnapshot *toolbox.Snapshot // snapshot of the fleet at the last reconciliation
	visible       *toolbox.Snapshot // the tools of seen that are not held or denied
	settling      bool              // Attach has not returned: it enrolls tools at its end, in configured order
	pending       bool              // the servers are not in the fleet yet
	closed        bool
}

// Format prints the run and the number of its servers, for every verb of package fmt.
func (a *Attachment) Format(w fmt.State, _ rune) { _, _ = fmt.Fprintf(w, "run %s: %v", a.Run, a.Fleet) }

// Attach connects the servers and enrolls their tools. l is the ledger that it begins with, which does not change.
// [Attachment.Ledger] returns the result. Attach never fails: a server that cannot be reached enrolls nothing and has
// its fault in Status. It enrolls its tools when it connects. Without servers nothing happens, and the tools of other
// servers in l stay. Attach returns at the time at which [interop.Mount] does. ctx bounds only this wait and the
// reading of the log. The caller closes the attachment.
func Attach(ctx context.Context, l Ledger, servers []config.Server, o *Options) *Attachment {
	a := newAttachment(l, servers, o)
	m := *a.opts.Mount
	if m.Known == nil && a.opts.Warm {
		m.Known = func(server string) []toolbox.Wire { return a.knownTools(server) }
	}
	m.Events, m.Filter, m.Admit = a.handleEvent, a.filter, a.admit
	a.background.Go(a.followChanges)
	if a.opts.Open != nil {
		m.Wait = -1
		ctx, a.cancel = context.WithCancel(context.WithoutCancel(ctx)) // ends with Close
		a.Box = interop.Mount(ctx, nil, &m).Box
		a.background.Go(func() { a.openLog(ctx, servers) })
		return a
	}
	defer close(a.started)
	a.readLog(ctx, servers)
	a.settling = m.Wait >= 0
	a.Box = interop.Mount(ctx, a.withPolicies(servers), &m).Box
	a.mu.Lock()
	a.settling = false
	a.mu.Unlock()
	a.update()
	if m.Wait >= 0 {
		a.awaitDecision(ctx, "")
	}
	a.Enrolled = a.enrolled()
	a.startPolling()
	return a
}

// openLog opens the log, and then adds the servers to the fleet.
func (a *Attachment) openLog(ctx context.Context, servers []config.Server) {
	defer close(a.started)
	log := a.opts.Open(ctx)
	a.mu.Lock()
	a.opts.Log, a.journal.recorder = log, newRecorder(log, a.logger, a.afterWrite)
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxRecall)
	defer cancel()
	a.readLog(ctx, servers)
	a.Fleet.Apply(a.withPolicies(servers))
	a.mu.Lock()
	a.pending = false
	a.mu.Unlock()
	a.update()
	a.startPolling()
}

// maxRecall bounds the reading of the log while clients wait.
const maxRecall = 30 * time.Second

// Wait waits until the log is open and the servers are being connected. Without Options.Open it returns at once.
func (a *Attachment) Wait(ctx context.Context) error {
	select {
	case <-a.started:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// filter begins to watch a fleet that is still empty, and returns the source for the attachment's box.
func (a *Attachment) filter(fleet *interop.Fleet) toolbox.Source {
	a.Fleet = fleet
	a.update()
	a.unwatch = fleet.Watch(func() {
		a.markStale()
		a.watchers.Notify()
	})
	return a
}

func newAttachment(l Ledger, servers []config.Server, o *Options) *Attachment {
	a := &Attachment{
		Run: string(NewKey()), logger: slog.New(slog.DiscardHandler), releaseLease: func() {}, cancel: func() {},
		started: make(chan struct{}), wake: make(chan struct{}, 1),
		visible: &toolbox.Snapshot{Version: 1},
		guard: guard{
			recorded: map[toolID]Entry{}, heldByName: map[string]toolID{}, approved: newApprovals(),
			enrolling: map[origin]bool{}, sumCache: map[string]toolVersion{},
		},
	}
	a.life, a.endLife = context.WithCancel(context.Background())
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
		run: a.Run, user: a.opts.By, config: Fingerprint(servers...), ledger: l,
		recorder: newRecorder(a.opts.Log, a.logger, a.afterWrite),
		servers:  map[string]bool{}, descriptions: map[origin]json.RawMessage{}, health: map[string]string{},
	}
	a.pending = a.opts.Open != nil
	if a.pending {
		for _, s := range servers {
			a.visible.Pending = append(a.visible.Pending, s.ID)
		}
	}
	return a
}

// readLog reads the approvals, and the last known tools of the servers. It runs before the servers are connected,
// because the era of a server depends on it. All other work with the log is done in the background.
func (a *Attachment) readLog(ctx context.Context, servers []config.Server) {
	state := StateOf(nil)
	if a.opts.Log != nil {
		shared, isShared := a.opts.Log.(*Shared)
		entries, err := a.opts.Log.Read(ctx, 0)
		a.mu.Lock()
		state = StateOf(entries)
		if err == nil {
			a.guard.load(state)
			maps.Copy(a.journal.descriptions, state.descriptions(servers))
		} else {
			a.guard.load(nil)
		}
		if isShared {
			a.guard.share(ctx, shared)
		}
		a.mu.Unlock()
		if err != nil {
			a.logger.Error("the ledger cannot be read: no tool counts as approved", "err", err)
		}
		if l, ok := a.opts.Log.(fileLog); ok && (err == nil || isShared) {
			a.background.Go(func() { a.startLease(l) })
		}
	}
	known, used := state.Known(servers), new(sync.Map)
	a.knownTools = func(server string) []toolbox.Wire {
		if _, again := used.LoadOrStore(server, true); again { // with another configuration, it is another server
			return nil
		}
		return known(server)
	}
}

func (a *Attachment) enrolled() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for server := range a.journal.servers {
		n += a.journal.ledger.Snapshot().ByServer[server]
	}
	return n
}

// Ledger returns the ledger of the tools that are enrolled now.
func (a *Attachment) Ledger() Ledger {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reconcileIfStale()
	return a.journal.ledger
}

// Status returns the health of every server, in order.
func (a *Attachment) Status() []interop.EndpointStatus { return a.Fleet.Status() }

// Names returns the names under which the live tools are mounted.
func (a *Attachment) Names() []string { return a.Ledger().Snapshot().Names() }

// Counts returns the number of live tools of each server, or 0 for a server without any.
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

// Capabilities returns the live tools as models see them, in the order of the ledger.
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

// Changed returns the tools that differ from their approved version. The tool of an Enroll is live nevertheless. The
// tool of a Hold is not.
func (a *Attachment) Changed() []Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reconcileIfStale()
	var out []Entry
	for _, e := range a.journal.ledger.Snapshot().Live {
		if e.Changed {
			out = append(out, e)
		}
	}
	for _, e := range a.guard.recorded {
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y Entry) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Tool, y.Tool)) })
	return out
}

// Accept approves the version of a tool that Changed returns. It writes to the log first. note names the person.
func (a *Attachment) Accept(ctx context.Context, server, name, note string) error {
	changed := a.Changed()
	i := slices.IndexFunc(changed, func(e Entry) bool { return e.Server == server && e.Tool == name })
	switch {
	case a.Policy(server) == config.DenyChanges:
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
	a.guard.approved.add(e)
	a.guard.acceptCount++
	a.mu.Unlock()
	a.update()
	if l, ok := a.opts.Log.(*Shared); ok {
		return a.adoptShared(ctx, l, false, nil)
	}
	return nil
}

// Policy returns the policy for the tools of a server that differ from their approved version.
func (a *Attachment) Policy(server string) config.ChangePolicy {
	if s, ok := a.Fleet.Server(server); ok {
		return s.Changes
	}
	return a.opts.Policy.Strictest("")
}

// withPolicies returns the servers with the policy that applies to each: its own or the attachment's, whichever is
// stricter.
func (a *Attachment) withPolicies(servers []config.Server) []config.Server {
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

// Apply replaces the servers of the attachment, as [interop.Fleet.Apply] does, which describes the effect on calls. If
// the configuration differs from the previous one, a [Reload] is recorded. The tools that come and go are recorded as
// this happens. After Close it does nothing.
func (a *Attachment) Apply(servers []config.Server) {
	<-a.started
	strict := a.withPolicies(servers)
	a.mu.Lock()
	if !a.closed {
		a.journal.reload(Fingerprint(servers...))
		a.startPolling()
	}
	a.mu.Unlock()
	a.Fleet.Apply(strict)
	a.update()
}

// Detach removes servers. Their tools are retired at once, and tools of other servers stay. It does not wait: the
// connections close in the background, when calls in flight have ended or MountOptions.Drain is over. Close waits for
// that. Without arguments it is [Attachment.Close]. It never fails, and returns the resulting ledger.
func (a *Attachment) Detach(servers ...string) Ledger {
	if len(servers) == 0 {
		a.Close()
		return a.Ledger()
	}
	a.Apply(slices.DeleteFunc(a.Fleet.Servers(), func(s config.Server) bool { return slices.Contains(servers, s.ID) }))
	return a.Ledger()
}

// Flush waits until all entries so far are in the log, or cannot be written.
func (a *Attachment) Flush(ctx context.Context) error {
	if err := a.Wait(ctx); err != nil {
		return err
	}
	a.update()
	return a.journal.recorder.flush(ctx)
}

// Close retires all live tools, ends the run in the log, closes every connection and waits for all of that. It waits at
// most a few seconds for the log. It never fails and may be called twice.
func (a *Attachment) Close() {
	a.cancel()
	<-a.started
	a.retireAll()
	a.Fleet.Close()
	a.unwatch()
	a.background.Wait()
	a.journal.recorder.close()
	a.releaseLease()
}
