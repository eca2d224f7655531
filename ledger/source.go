package ledger

import (
	"context"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

var _ toolbox.Source = (*Attachment)(nil)

// Snapshot implements [toolbox.Source]. It returns the fleet's tools without the tools that are held or denied. New
// lists of the fleet are compared with the log before they are returned.
func (a *Attachment) Snapshot(toolbox.Principal) *toolbox.Snapshot {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reconcileIfStale()
	return a.visible
}

// Watch implements [toolbox.Source].
func (a *Attachment) Watch(changed func()) (stop func()) { return a.watchers.Watch(changed) }

// Do implements [toolbox.Source]. The fleet calls the tool, after it has called admit.
func (a *Attachment) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	if err := a.Await(ctx, c.Name); err != nil {
		return nil, err
	}
	return a.Fleet.Do(ctx, c)
}

// Await waits until a call of a tool can be sent: as [Attachment.Wait], and until a log that processes share has
// decided about a new tool. It returns only the error of ctx.
func (a *Attachment) Await(ctx context.Context, tool string) error {
	if err := a.Wait(ctx); err != nil {
		return err
	}
	a.awaitDecision(ctx, tool)
	return nil
}

// admit is FleetOptions.Admit. It refuses a tool that is held or denied, after comparing the present list of the fleet
// with the log. Then the Admit of the options decides.
func (a *Attachment) admit(ctx context.Context, server config.Server, tool string) (reason string, err error) {
	if server.Changes.Guards() {
		if reason := a.heldReason(tool); reason != "" {
			return reason, nil
		}
	}
	if more := a.opts.Mount.Admit; more != nil {
		return more(ctx, server, tool)
	}
	return "", nil
}

// heldReason returns the reason for which a tool is held or denied, or "".
func (a *Attachment) heldReason(tool string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reconcileIfStale()
	if a.guard.shared.undecided[tool] {
		return tool + " is new, and the ledger that replicas share has no approval of it yet: ask again."
	}
	if _, isHeld := a.guard.heldByName[tool]; isHeld {
		return tool + " is held back: it is new or changed since its server was approved. A person has to accept it."
	}
	return ""
}

// startPolling reads approvals of other processes: always if the log is shared, otherwise while a tool is held.
func (a *Attachment) startPolling() {
	if a.opts.Log == nil || !a.guard.active && !a.guard.shared.active {
		return
	}
	a.pollOnce.Do(func() {
		a.background.Go(func() {
			for watch.Sleep(a.life, a.opts.Poll) {
				a.poll()
			}
		})
	})
}

func (a *Attachment) poll() {
	if l, ok := a.opts.Log.(*Shared); ok {
		a.pollShared(l)
		return
	}
	a.mu.Lock()
	held, accepts, polled := len(a.guard.recorded), a.guard.acceptCount, a.guard.polled
	a.mu.Unlock()
	if held == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.opts.Poll+time.Second)
	defer cancel()
	entries, err := a.opts.Log.Read(ctx, polled)
	if err != nil {
		return
	}
	a.mu.Lock()
	isDenied := func(server string) bool { return a.Policy(server) == config.DenyChanges }
	news := a.guard.addApprovals(entries, accepts, isDenied)
	a.mu.Unlock()
	if news {
		a.update()
	}
}
