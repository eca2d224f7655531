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

// maxLog is how many entries a ledger in memory has beyond twice the live ones: the
// log is elsewhere.
const maxLog = 4096

// reachable is what is known of a server while the fleet is looked at.
type reachable struct {
	config string
	policy interop.ChangePolicy
	ready  bool // what is listed of it is what it lists
}

// lookGap is how often the follower looks at most: what happens meanwhile is looked at
// once, unless somebody asks.
const lookGap = 50 * time.Millisecond

// changed notes that something has happened: whoever asks next looks, or the follower.
func (a *Attachment) changed() {
	a.stale.Store(true)
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// follow looks after each burst of changes, until the attachment is closed.
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

// current looks where something has happened since. The fleet notifies of what it lists, so
// that nobody has to be notified here. Call it with mu held.
func (a *Attachment) current() {
	if a.stale.Load() || a.seen != a.Fleet.Snapshot("") {
		a.look()
	}
}

// update looks, and notifies of what that shows. It never waits.
func (a *Attachment) update() {
	a.mu.Lock()
	fresh := a.look()
	a.mu.Unlock()
	if fresh {
		a.watchers.Notify()
	}
}

// look makes the ledger say what the fleet lists, and reports whether there is a new
// snapshot. It goes by how things are, and not by what has happened, so that nothing can be
// lost or come too late. Call it with mu held.
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

// moment is the fleet's snapshot, and its servers as they were while it stood.
func (a *Attachment) moment() (*toolbox.Snapshot, map[string]reachable) {
	for {
		s := a.Fleet.Snapshot("")
		servers, policies := map[string]reachable{}, map[string]interop.ChangePolicy{}
		for _, server := range a.Fleet.Servers() { // of endpoints, it may be an older one
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

// reconciliation compares what is listed with what is live.
type reconciliation struct {
	a       *Attachment
	now     time.Time
	servers map[string]reachable

	live    map[[2]string]Entry // by server and tool; what is listed is taken out
	shown   []toolbox.Descriptor
	kept    map[string]toolID
	names   []string           // of kept, in order
	leftOut map[[2]string]bool // what the configuration denies; nil: nobody has asked yet
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

// showKinds is what of each kind's tools is let through. A tool that is listed otherwise to a kind, and was not
// approved so, is shown as all are shown it. Call it when the entries of l are in the guard.
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

// compare takes one listed tool: what does the ledger say of it? It reports whether the tool is shown.
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

// keepNote says for how long a tool is kept back.
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

// depart retires what is live and not listed any more, in the order of the ledger.
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

// publish makes what is let through the snapshot, if it is new. Call it with mu held.
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

// hear records what becomes of servers, where that is news. A server that is back may list
// what was listed all along, which no snapshot shows. That many come up is looked at once; what
// goes is recorded before it is back.
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

// end retires all, and lets nothing happen any more.
func (a *Attachment) end() {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.current() // what was not looked at yet
	a.closed = true
	close(a.done)
	a.journal.end()
	a.shown = &toolbox.Snapshot{Version: a.shown.Version + 1}
	a.guard.kept = map[string]toolID{}
	a.mu.Unlock()
	a.watchers.Notify()
}
