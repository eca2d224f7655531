package ledger

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// maxLog is the number of entries that a ledger in memory may have in addition to 4 times its live tools. Older entries
// are only in the log.
const maxLog = 4096

// serverState holds the state of a server at the time of a reconciliation.
type serverState struct {
	config string
	policy config.ChangePolicy
	ready  bool // the listed tools come from the server itself
}

// reconcileGap is the shortest time between two reconciliations of the follower. Events in between are seen in one of
// them, unless a caller needs the state sooner.
const reconcileGap = 50 * time.Millisecond

// markStale records that something happened. The next caller that needs the state reconciles, or the follower does.
func (a *Attachment) markStale() {
	a.stale.Store(true)
	watch.Signal(a.wake)
}

// followChanges reconciles the ledger after each burst of changes, until the attachment is closed.
func (a *Attachment) followChanges() {
	for {
		select {
		case <-a.wake:
		case <-a.life.Done():
			return
		}
		a.mu.Lock()
		a.reconcileIfStale()
		a.mu.Unlock()
		watch.Sleep(a.life, reconcileGap)
	}
}

// reconcileIfStale reconciles if something has happened since the last time. The fleet notifies watchers of new lists,
// so that reconcileIfStale need not. The caller holds mu.
func (a *Attachment) reconcileIfStale() {
	if a.stale.Load() || a.fleetSnapshot != a.Fleet.Snapshot("") {
		a.reconcile()
	}
}

// update reconciles, and notifies watchers of a new snapshot. It never waits.
func (a *Attachment) update() {
	a.mu.Lock()
	fresh := a.reconcile()
	a.mu.Unlock()
	if fresh {
		a.watchers.Notify()
	}
}

// reconcile reconciles the ledger with the tools that the fleet lists, and reports whether there is a new snapshot. It
// uses the present state instead of events, so that nothing can be lost or come too late. The caller holds mu.
func (a *Attachment) reconcile() (fresh bool) {
	if a.closed || a.pending {
		return false
	}
	a.stale.Store(false)
	s, servers := a.consistentSnapshot()
	for id := range servers {
		a.journal.servers[id] = true
	}
	l := newReconciliation(a, servers)
	for i := range s.Tools {
		if l.compare(&s.Tools[i], "") {
			l.visible = append(l.visible, s.Tools[i])
		}
	}
	l.compareKinds(s)
	if !a.settling {
		l.retireUnlisted()
		for _, e := range l.enrolls { // only now: the first listing of a server approves all its tools
			a.guard.enroll(e)
		}
		a.journal.commit(append(l.retires, l.enrolls...)...)
	}
	return a.publish(s, l)
}

// consistentSnapshot returns the fleet's snapshot, and the servers as they were at that time.
func (a *Attachment) consistentSnapshot() (*toolbox.Snapshot, map[string]serverState) {
	for {
		s := a.Fleet.Snapshot("")
		servers, policies := map[string]serverState{}, map[string]config.ChangePolicy{}
		for _, server := range a.Fleet.Servers() { // the configuration of an endpoint may be older
			policies[server.ID] = server.Changes
		}
		for _, e := range a.Fleet.Endpoints() {
			server := e.Server()
			servers[server.ID] = serverState{config: Fingerprint(server), policy: policies[server.ID]}
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
	attachment *Attachment
	now        time.Time
	servers    map[string]serverState

	live       map[[2]string]Entry // by server and tool; listed tools are removed from it
	visible    []toolbox.Descriptor
	heldByName map[string]toolID
	heldNames  []string           // the names in heldByName, in order
	undecided  map[string]bool    // the names of the undecided tools in heldByName
	waiting    []string           // the servers of undecided tools
	excluded   map[[2]string]bool // tools that the configuration denies; nil: not read yet
	retires    []Entry
	enrolls    []Entry
}

func newReconciliation(a *Attachment, servers map[string]serverState) *reconciliation {
	l := &reconciliation{
		attachment: a, now: time.Now(), servers: servers,
		heldByName: map[string]toolID{}, live: map[[2]string]Entry{}, undecided: map[string]bool{},
	}
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
	for _, kindSnapshot := range s.Kinds {
		for i := range kindSnapshot.Tools {
			if d := &kindSnapshot.Tools[i]; !listed[d.Name] {
				listed[d.Name] = true
				l.compare(d, noteDeclared)
			}
		}
	}
}

// showKinds adds the tools of each kind of client that are not held or denied. A kind may be listed another version of
// a common tool. If that version is not approved, the kind is shown the common version. The entries of l must be in the
// guard.
func (l *reconciliation) showKinds(s, all *toolbox.Snapshot) {
	for _, kindSnapshot := range s.Kinds {
		visible := *kindSnapshot
		visible.Version, visible.Held, visible.Tools = all.Version, all.Held, nil
		for _, d := range kindSnapshot.Tools {
			server := l.servers[d.Server]
			_, isHeld := l.heldByName[d.Name]
			t := Entry{Config: server.config, Server: d.Server, Tool: d.Tool}.toolID()
			switch {
			case isHeld:
			case !server.policy.Guards() || l.attachment.guard.isApproved(t, l.attachment.guard.versionOf(&d)):
				visible.Tools = append(visible.Tools, d)
			default:
				if i := slices.IndexFunc(all.Tools, func(o toolbox.Descriptor) bool { return o.Name == d.Name }); i >= 0 {
					visible.Tools = append(visible.Tools, all.Tools[i])
				}
			}
		}
		all.Kinds = append(all.Kinds, &visible)
	}
}

// compare compares one listed tool with the ledger. It reports whether the tool is visible.
func (l *reconciliation) compare(d *toolbox.Descriptor, note string) (visible bool) {
	server := l.servers[d.Server]
	t := Entry{Config: server.config, Server: d.Server, Tool: d.Tool}.toolID()
	v := l.attachment.guard.versionOf(d)
	sum := v.sum
	changed := l.attachment.guard.isChanged(t, v, note)
	isHeld := changed && server.policy.Guards()
	isUndecided := !changed && server.policy.Guards() && l.attachment.guard.isUndecided(t, v)
	if isHeld || isUndecided {
		l.heldByName[d.Name] = t
		l.heldNames = append(l.heldNames, d.Name)
	}
	if isUndecided {
		l.undecided[d.Name] = true
		if !slices.Contains(l.waiting, d.Server) {
			l.waiting = append(l.waiting, d.Server)
		}
	}
	id := [2]string{d.Server, d.Tool}
	old, isLive := l.live[id]
	isSame := old.Run == l.attachment.Run && old.Sum == sum && old.Name == d.Name &&
		old.Config == server.config && old.Changed == changed && old.Note == note
	delete(l.live, id)
	switch {
	case isHeld:
		if isLive {
			l.retire(old, heldNote(server.policy, noteHeld))
		}
		if server.ready {
			l.hold(d, t, v, server.policy)
		}
	case isLive && isSame:
	case server.ready:
		l.enroll(d, server.config, sum, changed, note, old, isLive)
	}
	if !isHeld {
		delete(l.attachment.guard.recorded, t)
	}
	return !isHeld && !isUndecided
}

// heldNote returns the note for a held or denied tool. It is noteDenied if the tool is denied.
func heldNote(p config.ChangePolicy, note string) string {
	if p == config.DenyChanges {
		return noteDenied
	}
	return note
}

func (l *reconciliation) hold(d *toolbox.Descriptor, t toolID, v toolVersion, p config.ChangePolicy) {
	if recorded, ok := l.attachment.guard.recorded[t]; ok && v.is(recorded.toolVersion()) {
		return
	}
	e := l.entry(Hold, d, t.config, v.sum)
	e.Changed, e.Note = true, heldNote(p, "")
	l.attachment.guard.recorded[t] = e
	l.enrolls = append(l.enrolls, e)
}

func (l *reconciliation) enroll(
	d *toolbox.Descriptor, config, sum string, changed bool, note string, old Entry, isLive bool,
) {
	e := l.entry(Enroll, d, config, sum)
	e.Changed, e.Note = changed, note
	if isLive && old.Capability != nil && bytes.Equal(old.Capability.Schema, d.Schema) {
		e.Key = old.Key
	}
	if isLive && old.Key != e.Key {
		l.retire(old, noteReplaced)
	}
	l.enrolls = append(l.enrolls, e)
	l.attachment.guard.approved.approve(e)
}

func (l *reconciliation) entry(op Op, d *toolbox.Descriptor, config, sum string) Entry {
	c := newCapability(*d, l.attachment.run)
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

func (l *reconciliation) retire(e Entry, reason string) {
	l.retires = append(l.retires, e.retired(l.now, reason))
}

// retireUnlisted retires the live tools that are no longer listed, in the order of the ledger.
func (l *reconciliation) retireUnlisted() {
	for _, e := range l.attachment.journal.ledger.Snapshot().Live {
		if _, gone := l.live[[2]string{e.Server, e.Tool}]; gone && l.attachment.journal.servers[e.Server] {
			l.retire(e, l.retireReason(e.Server, e.Tool))
		}
	}
	listed := map[toolID]bool{}
	for _, t := range l.heldByName {
		listed[t] = true
	}
	for t := range l.attachment.guard.recorded {
		if !listed[t] && l.retireReason(t.server, t.name) != NoteLost {
			delete(l.attachment.guard.recorded, t)
		}
	}
}

func (l *reconciliation) retireReason(server, name string) string {
	s, ok := l.servers[server]
	switch {
	case !ok:
		return NoteRemoved
	case l.isExcluded(server, name):
		return noteExcluded
	case s.ready:
		return noteUnlisted
	}
	return NoteLost
}

func (l *reconciliation) isExcluded(server, name string) bool {
	if l.excluded == nil {
		l.excluded = map[[2]string]bool{}
		for _, q := range l.attachment.Fleet.Quarantined() {
			l.excluded[[2]string{q.Server, q.Tool}] = q.Denied
		}
	}
	return l.excluded[[2]string{server, name}]
}

// publish makes the visible tools the snapshot, if they are new. The caller holds mu.
func (a *Attachment) publish(s *toolbox.Snapshot, l *reconciliation) (fresh bool) {
	if a.guard.shared.cut { // tools/list does not wait for them
		l.waiting = nil
	}
	same := s == a.fleetSnapshot && maps.Equal(l.heldByName, a.guard.heldByName) &&
		maps.Equal(l.undecided, a.guard.shared.undecided) && slices.Equal(l.waiting, a.guard.shared.waiting)
	a.fleetSnapshot, a.guard.heldByName = s, l.heldByName
	a.guard.shared.undecided, a.guard.shared.waiting = l.undecided, l.waiting
	if !same {
		a.visible = &toolbox.Snapshot{
			Version: a.visible.Version + 1, Tools: l.visible, Held: l.heldNames,
			Pending: append(slices.Clip(s.Pending), l.waiting...), Down: s.Down, Owners: s.Owners,
		}
		l.showKinds(s, a.visible)
		if len(a.guard.sumCache) > 2*len(s.Tools)*(1+len(s.Kinds))+64 {
			a.guard.sumCache = map[string]toolVersion{}
		}
	}
	return !same
}

// handleEvent records changes of servers. A server that is back may list the same tools as before, which no snapshot
// shows. If many servers become ready, there is one reconciliation. A loss is recorded before the server is back.
func (a *Attachment) handleEvent(e interop.Event) {
	a.mu.Lock()
	if !a.closed {
		a.journal.recordHealth(e)
	}
	a.mu.Unlock()
	switch e.Kind {
	case interop.ServerAdded, interop.ServerConnecting:
	case interop.ServerReady, interop.ServerListed:
		a.markStale()
	default:
		a.update()
	}
	if f := a.opts.Mount.Events; f != nil {
		f(e)
	}
}

// retireAll retires all tools and closes the attachment to further changes.
func (a *Attachment) retireAll() {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.reconcileIfStale() // events after the last reconciliation
	a.closed = true
	a.endLife()
	a.journal.end()
	a.visible = &toolbox.Snapshot{Version: a.visible.Version + 1}
	a.guard.heldByName = map[string]toolID{}
	a.mu.Unlock()
	a.watchers.Notify()
}
