package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// gate is a fleet without what is kept back: the source of an attachment's box.
type gate struct{ a *Attachment }

var _ toolbox.Source = (*gate)(nil)

// Snapshot implements [toolbox.Source]. What the fleet lists anew is weighed before
// anybody sees it.
func (g *gate) Snapshot(toolbox.Principal) *toolbox.Snapshot {
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	g.a.current()
	return g.a.shown
}

// current looks if the fleet lists something new. The fleet tells of that too, so
// that nobody has to be told here. Call it with mu held.
func (a *Attachment) current() {
	if a.seen != a.Fleet.Snapshot("") {
		a.look()
	}
}

// Watch implements [toolbox.Source].
func (g *gate) Watch(changed func()) (stop func()) { return g.a.watchers.Watch(changed) }

// Do implements [toolbox.Source].
func (g *gate) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	a := g.a
	if !a.guards.Load() {
		return a.Fleet.Do(ctx, c)
	}
	// Once before the fleet, which knows nothing of what is kept back, and again when
	// the call goes out: its server may have come back with another version meanwhile.
	refusal := a.admit(ctx, c.Name)
	if refusal == nil {
		r, err := a.Fleet.DoIf(ctx, c, func() error {
			if refusal = a.admit(ctx, c.Name); refusal != nil {
				return errKept
			}
			return ctx.Err()
		})
		if refusal == nil {
			return r, err
		}
	}
	return refusal, nil
}

// errKept takes a call back.
var errKept = errors.New("ledger: kept back")

// maxAdmit bounds the wait for a server that may list a tool in another version; the
// fleet's own deadline says what is wrong then.
const maxAdmit = 30 * time.Second

// admit waits until a call can only reach what was weighed: a server that is being
// connected may come back with another version of the tool. It gives what to say of
// a tool that is kept back.
func (a *Attachment) admit(ctx context.Context, name string) *toolbox.Result {
	late := time.NewTimer(maxAdmit)
	defer late.Stop()
	for {
		a.mu.Lock()
		a.current()
		_, kept := a.kept[name]
		open := kept || a.closed || a.isSettled(name)
		news := a.news
		a.mu.Unlock()
		switch {
		case kept:
			return toolbox.ErrorResult(name + " is kept back: it is not what it was when it was approved. A person has to accept it.")
		case open:
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil // the fleet says so
		case <-late.C:
			return toolbox.ErrorResult(name + " is kept back: its server has not said yet what it is.")
		}
	}
}

// isSettled reports whether no server of which the tool may be is being connected.
// Call it with mu held.
func (a *Attachment) isSettled(name string) bool {
	owner := ""
	if i := slices.IndexFunc(a.shown.Tools, func(d toolbox.Descriptor) bool { return d.Name == name }); i >= 0 {
		owner = a.shown.Tools[i].Server
	}
	servers := map[string]interop.Server{}
	for _, s := range a.Fleet.Servers() {
		servers[s.ID] = s
	}
	for _, st := range a.Fleet.Status() {
		if !a.opts.Policy.Strictest(servers[st.Server].Changes).Guards() {
			continue
		}
		mayOwn := st.Server == owner || owner == "" && servers[st.Server].MayOwn(name)
		waits := slices.Contains(a.shown.Pending, st.Server) || owner != "" && (!st.Phase.Usable() || st.Fault != nil)
		if mayOwn && waits {
			return false
		}
	}
	return true
}

// startPolling looks for approvals by others while something is held.
func (a *Attachment) startPolling() {
	if a.opts.Log == nil || !a.guards.Load() {
		return
	}
	a.polling.Do(func() { a.background.Go(a.pollAll) })
}

func (a *Attachment) pollAll() {
	tick := time.NewTicker(a.opts.Poll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			a.poll()
		case <-a.done:
			return
		}
	}
}

func (a *Attachment) poll() {
	a.mu.Lock()
	held, read := len(a.held), a.read
	a.mu.Unlock()
	if held == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.opts.Poll+time.Second)
	defer cancel()
	news, err := a.opts.Log.Read(ctx, read)
	if err != nil || len(news) == 0 {
		return
	}
	a.mu.Lock()
	for _, e := range news {
		a.approved.take(e)
		a.read = max(a.read, e.Seq)
	}
	a.mu.Unlock()
	a.update()
}
