package ledger

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// maxLog is the number of entries that a ledger in memory may have in addition to 4 times its live tools. Older entries
// are only in the log.
const maxLog = 4096

// reachable holds the state of a server at the time of a reconciliation.
type reachable struct {
	config string
	policy interop.ChangePolicy
	ready  bool // the listed tools come from the server itself
}

// lookGap is the shortest time between two reconciliations by the follower. One reconciliation covers all events in
// between, unless a caller needs the state sooner.
const lookGap = 50 * time.Millisecond

// changed records that something happened. The next caller that needs the state reconciles the ledger, or the follower
// does.
func (a *Attachment) changed() {
	a.stale.Store(true)
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// follow reconciles the ledger after each burst of changes, until the attachment is closed.
func (a *Attachment) follow() {
	for {
		select {
		case <-a.wake:
		case <-a.done:
			return
		}
		a.mu.Lock()
		a.current()
		a.mu.Unlock()
		select {
		case <-time.After(lookGap):
		case <-a.done:
			return
		}
	}
}

// current reconciles the ledger if something has happened since the last reconciliation. The fleet notifies watchers of
// new lists, so that current need not. The caller holds mu.
func (a *Attachment) current() {
	if a.stale.Load() || a.seen != a.Fleet.Snapshot("") {
		a.look()
	}
}

// update reconciles the ledger, and notifies watchers of a new snapshot. It never waits.
func (a *Attachment) update() {
	a.mu.Lock()
	fresh := a.look()
	a.mu.Unlock()
	if fresh {
		a.watchers.Notify()
	}
}

// look reconciles the ledger with the tools that the fleet lists, and reports whether there is a new snapshot. It uses
// the present state instead of events, so that nothing can be lost or come too late. The caller holds mu.
func (a *Attachment) look() (fresh bool) {
	if a.closed || a.pending {
		return false
	}
	a.stale.Store(false)
	s, servers := a.moment()
	for id := range servers {
		a.journal.mine[id] = true
	}
	l := newReconciliation(a, servers)
	for i := range s.Tools {
		if l.compare(&s.Tools[i], "") {
			l.shown = append(l.shown, s.Tools[i])
		}
	}
	l.compareKinds(s)
	if !a.settling {
		l.depart()
		for _, e := range l.enrolls { // only now: the first listing of a server approves all its tools
			a.guard.enroll(e)
		}
		a.journal.commit(append(l.retires, l.enrolls...)...)
	}
	return a.publish(s, l)
}

// moment returns the fleet's snapshot, and the servers as they were at that time.
func (a *Attachment) moment() (*toolbox.Snapshot, map[string]reachable) {
	for {
		s := a.Fleet.Snapshot("")
		servers, policies := map[string]reachable{}, map[string]interop.ChangePolicy{}
		for _, server := range a.Fleet.Servers() { // the configuration of an endpoint may be older
			policies[server.ID] = server.Changes
		}
		for _, e := range a.Fleet.Endpoints() {
			server := e.Server()
			servers[server.ID] = reachable{config: Fingerprint(server), policy: policies[server.ID]}
		}
		for _, st := range a.Fleet.Status() {
			if r, ok := servers[st.Server]; ok {
				r.ready = !a.settling && st.Phase.Usable() && st.Fault == nil && !slices.Contains(s.Pending, st.Server)
				servers[st.Server] = r
			}
		}
		if a.Fleet.Snapshot("") == s {
			return s, servers
		}
	}
}

// reconciliation compares the listed tools with the live ones.
type reconciliation struct {
	a       *Attachment
	now     time.Time
	servers map[string]reachable

	live    map[[2]string]Entry // by server and tool; listed tools are removed from it
	shown   []toolbox.Descriptor
	kept    map[string]toolID
	names   []string           // the names in kept, in order
	leftOut map[[2]string]bool // tools that the configuration denies; nil: not read yet
	retires []Entry
	enrolls []Entry
}

func newReconciliation(a *Attachment, servers map[string]reachable) *reconciliation {
	l := &reconciliation{a: a, now: time.Now(), servers: servers, kept: map[string]toolID{}, live: map[[2]string]Entry{}}
	for _, e := range a.journal.ledger.Snapshot().Live {
		l.live[[2]string{e.Server, e.Tool}] = e
	}
	return l
}

// compareKinds takes the tools that are listed to some kinds of clients, and not to all.
func (l *reconciliation) compareKinds(s *toolbox.Snapshot) {
	if len(s.Kinds) == 0 {
		return
	}
	listed := make(map[string]bool, len(s.Tools))
	for i := range s.Tools {
		listed[s.Tools[i].Name] = true
	}
	for _, some := range s.Kinds {
		for i := range some.Tools {
			if d := &some.Tools[i]; !listed[d.Name] {
				listed[d.Name] = true
				l.compare(d, noteSome)
			}
		}
	}
}

// showKinds adds the tools of each kind of client that are not held or denied. A kind may be listed another version of
// a common tool. If that version is not approved, the kind is shown the common version. The entries of l must be in the
// guard.
func (l *reconciliation) showKinds(s, all *toolbox.Snapshot) {
	for _, some := range s.Kinds {
		shown := *some
		shown.Version, shown.Held, shown.Tools = all.Version, all.Held, nil
		for _, d := range some.Tools {
			server := l.servers[d.Server]
			_, kept := l.kept[d.Name]
			t := Entry{Config: server.config, Server: d.Server, Tool: d.Tool}.toolID()
			switch {
			case kept:
			case !server.policy.Guards() || !l.a.guard.approved.isChanged(t, l.a.guard.sumOf(&d)):
				shown.Tools = append(shown.Tools, d)
			default:
				if i := slices.IndexFunc(all.Tools, func(o toolbox.Descriptor) bool { return o.Name == d.Name }); i >= 0 {
					shown.Tools = append(shown.Tools, all.Tools[i])
				}
			}
		}
		all.Kinds = append(all.Kinds, &shown)
	}
}

// compare compares one listed tool with the ledger. It reports whether the tool is shown.
func (l *reconciliation) compare(d *toolbox.Descriptor, note string) (shown bool) {
	server := l.servers[d.Server]
	t := Entry{Config: server.config, Server: d.Server, Tool: d.Tool}.toolID()
	sum := l.a.guard.sumOf(d)
	changed := l.a.guard.isChanged(t, sum, note)
	kept := changed && server.policy.Guards()
	if kept {
		l.kept[d.Name] = t
		l.names = append(l.names, d.Name)
	}
	id := [2]string{d.Server, d.Tool}
	old, isLive := l.live[id]
	delete(l.live, id)
	switch {
	case kept:
		if isLive {
			l.retire(old, keepNote(server.policy, noteHeld))
		}
		if server.ready {
			l.hold(d, t, sum, server.policy)
		}
	case isLive && old.Run == l.a.Run && old.Sum == sum && old.Name == d.Name && old.Config == server.config && old.Changed == changed && old.Note == note:
	case server.ready:
		l.enroll(d, server.config, sum, changed, note, old, isLive)
	}
	if !kept {
		delete(l.a.guard.held, t)
	}
	return !kept
}

// keepNote returns the note for a held or denied tool. It is noteDenied if the tool is denied.
func keepNote(p interop.ChangePolicy, note string) string {
	if p == interop.DenyChanges {
		return noteDenied
	}
	return note
}

func (l *reconciliation) hold(d *toolbox.Descriptor, t toolID, sum string, p interop.ChangePolicy) {
	if was, ok := l.a.guard.held[t]; ok && was.Sum == sum {
		return
	}
	e := l.entry(Hold, d, t.config, sum)
	e.Changed, e.Note = true, keepNote(p, "")
	l.a.guard.held[t] = e
	l.enrolls = append(l.enrolls, e)
}

func (l *reconciliation) enroll(d *toolbox.Descriptor, config, sum string, changed bool, note string, old Entry, isLive bool) {
	e := l.entry(Enroll, d, config, sum)
	e.Changed, e.Note = changed, note
	if isLive && old.Capability != nil && bytes.Equal(old.Capability.Schema, d.Schema) {
		e.Key = old.Key
	}
	if isLive && old.Key != e.Key {
		l.retire(old, noteReplaced)
	}
	l.enrolls = append(l.enrolls, e)
	l.a.guard.approved.approve(e)
}

func (l *reconciliation) entry(op Op, d *toolbox.Descriptor, config, sum string) Entry {
	c := capability(*d, l.a.run)
	e := Entry{
		Op: op, Server: d.Server, Tool: d.Tool, Name: d.Name, Capability: &c, At: l.now,
		Config: config, Sum: sum,
	}
	e.Key = e.contentKey()
	return e
}

// run calls a tool as a model does.
func (a *Attachment) run(ctx context.Context, c toolbox.Call) toolbox.Outcome {
	return a.Box.Run(ctx, c)
}

func (l *reconciliation) retire(e Entry, why string) {
	l.retires = append(l.retires, e.retired(l.now, why))
}

// depart retires the live tools that are no longer listed, in the order of the ledger.
func (l *reconciliation) depart() {
	for _, e := range l.a.journal.ledger.Snapshot().Live {
		if _, gone := l.live[[2]string{e.Server, e.Tool}]; gone && l.a.journal.mine[e.Server] {
			l.retire(e, l.departure(e.Server, e.Tool))
		}
	}
	for t := range l.a.guard.held {
		listed := slices.Contains(slices.Collect(maps.Values(l.kept)), t)
		if !listed && l.departure(t.server, t.name) != NoteLost {
			delete(l.a.guard.held, t)
		}
	}
}

func (l *reconciliation) departure(server, name string) string {
	s, ok := l.servers[server]
	switch {
	case !ok:
		return NoteRemoved
	case l.isLeftOut(server, name):
		return noteLeftOut
	case s.ready:
		return noteUnlisted
	}
	return NoteLost
}

func (l *reconciliation) isLeftOut(server, name string) bool {
	if l.leftOut == nil {
		l.leftOut = map[[2]string]bool{}
		for _, q := range l.a.Fleet.Quarantined() {
			l.leftOut[[2]string{q.Server, q.Tool}] = q.Denied
		}
	}
	return l.leftOut[[2]string{server, name}]
}

// publish makes the tools that are shown the snapshot, if they are new. The caller holds mu.
func (a *Attachment) publish(s *toolbox.Snapshot, l *reconciliation) (fresh bool) {
	same := s == a.seen && maps.Equal(l.kept, a.guard.kept)
	a.seen, a.guard.kept = s, l.kept
	if !same {
		a.shown = &toolbox.Snapshot{
			Version: a.shown.Version + 1, Tools: l.shown, Pending: s.Pending, Down: s.Down, Owners: s.Owners, Held: l.names,
		}
		l.showKinds(s, a.shown)
		if len(a.guard.summed) > 2*len(s.Tools)*(1+len(s.Kinds))+64 {
			a.guard.summed = map[string]summed{}
		}
	}
	return !same
}

// hear records changes of servers. A server that is back may list the same tools as before, which no snapshot shows. If
// many servers become ready, there is one reconciliation. A loss is recorded before the server is back.
func (a *Attachment) hear(e interop.Event) {
	a.mu.Lock()
	if !a.closed {
		a.journal.hear(e)
	}
	a.mu.Unlock()
	switch e.Kind {
	case interop.ServerAdded, interop.ServerConnecting:
	case interop.ServerReady, interop.ServerListed:
		a.changed()
	default:
		a.update()
	}
	if f := a.opts.Mount.Events; f != nil {
		f(e)
	}
}

// end retires all tools and closes the attachment to further changes.
func (a *Attachment) end() {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.current() // events after the last reconciliation
	a.closed = true
	close(a.done)
	a.journal.end()
	a.shown = &toolbox.Snapshot{Version: a.shown.Version + 1}
	a.guard.kept = map[string]toolID{}
	a.mu.Unlock()
	a.watchers.Notify()
}
