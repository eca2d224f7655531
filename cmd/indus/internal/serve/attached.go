package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// acceptTick is the interval at which the ledger is checked for acceptance of held tools.
const acceptTick = time.Second

// servedLedger is the ledger of one running indus serve.
type servedLedger struct {
	path         string              // "" if no ledger is kept
	policy       config.ChangePolicy // from the flag
	guardSetting string              // the setting that requires changes to be held back, or "" if there is none
	flags        *command.LedgerFlags
	s            show.Streams
	repeat       string // the flags that select this ledger for other commands

	failing bool       // the last write failed
	log     ledger.Log // nil if no ledger is kept or it is not open yet; that of a cluster is open from the beginning
}

// findLedger determines the path of the ledger. If the user named a file that is not a ledger, it returns an error. If
// there is no place for a ledger, none is kept. With a cluster it reads the ledger, so that no client is served before.
func (f *serveFlags) findLedger(ctx context.Context, servers []config.Server, s show.Streams) (*servedLedger, error) {
	l := &servedLedger{
		policy: config.ChangePolicy(f.changes), flags: &f.LedgerFlags, guardSetting: command.GuardOf(servers), s: s,
	}
	if f.noLedger && l.guardSetting != "" {
		return nil, command.NeedsLedger(l.guardSetting)
	}
	if l.policy.Guards() {
		l.guardSetting = "--changes " + string(l.policy)
	}
	if f.noLedger {
		return l, nil
	}
	if f.shared != nil {
		if f.LedgerFlags.Flag.Changed {
			return nil, command.Usagef(
				"--ledger names a file, and replicas of a cluster share one ledger: leave one of them out")
		}
		l.repeat = f.repeatShared()
		return l, l.openShared(ctx, f.shared)
	}
	l.repeat = f.Repeat()
	path, err := f.Path()
	if err == nil {
		_, err = command.LedgerExists(path)
	}
	switch usageError := (*command.ExitError)(nil); {
	case err == nil:
		l.path = path
	case errors.As(err, &usageError) && f.LedgerFlags.Flag.Changed:
		return nil, err
	default:
		l.reportNoLedger(err)
	}
	return l, nil
}

// reportNoLedger reports why no ledger is kept. If changes must be held back, all tools are held back, because the
// approvals are unknown.
func (l *servedLedger) reportNoLedger(err error) {
	message := "no ledger is kept: " + ledgerText(err)
	if l.guardSetting != "" {
		l.log = unusableLedger{err}
		message += fmt.Sprintf("; with %s every tool is held back, until indus serve is started again and can read it",
			l.guardSetting)
	}
	l.s.Reportf("%s", message)
	l.path = ""
}

// unusableLedger is a ledger that can be neither read nor written.
type unusableLedger struct{ err error }

var _ ledger.Log = unusableLedger{}

// Append implements [ledger.Log].
func (l unusableLedger) Append(context.Context, ...ledger.Entry) ([]ledger.Entry, error) {
	return nil, l.err
}

// Read implements [ledger.Log].
func (l unusableLedger) Read(context.Context, uint64) ([]ledger.Entry, error) { return nil, l.err }

// options returns the options of the ledger and its fleet. The ledger is read while clients are already served.
func (l *servedLedger) options(by string, fleet interop.FleetOptions) *ledger.Options {
	return &ledger.Options{
		Mount:  &interop.MountOptions{FleetOptions: fleet, Wait: -1, Events: reportEvents(l.s)},
		Open:   func(ctx context.Context) ledger.Log { return l.open(ctx, fleet.Logger) },
		Policy: l.policy, Warm: true, Poll: acceptTick, By: by, Wrote: l.wrote,
	}
}

// open opens the ledger. It returns nil if no ledger is kept.
func (l *servedLedger) open(ctx context.Context, logger *slog.Logger) ledger.Log {
	if l.path == "" {
		return l.log
	}
	file, err := command.OpenLedger(ctx, l.path, command.LockWait, &ledger.FileOptions{Logger: logger})
	switch {
	case errors.Is(err, context.Canceled): // indus serve ended before it began
	case err != nil:
		l.reportNoLedger(err)
	default:
		l.flags.ReportRemoved(file, l.path, l.s)
		l.log = file
	}
	return l.log
}

// openShared reads the ledger of the cluster.
func (l *servedLedger) openShared(ctx context.Context, c *command.Cluster) error {
	log, err := c.Ledger(ctx, l.s.Logger())
	if err != nil {
		return command.LedgerError(err)
	}
	if log.Removed() {
		l.s.Reportf("the ledger of the cluster was removed, and its approvals with it: no tool is approved; look at the "+
			"tools, and accept them: indus mcp accept%s", l.repeat)
	}
	l.log = log
	return nil
}

func ledgerText(err error) string { return strings.TrimPrefix(err.Error(), "ledger: ") }

// alarm returns an alarm for changed tools, with the command that accepts them.
func (l *servedLedger) alarm(a *ledger.Attachment) *alarm {
	out := &alarm{attached: a, s: l.s, bursts: burstCounts{}}
	_, out.silent = l.log.(unusableLedger)
	if l.log != nil && !out.silent {
		out.log, out.acceptCommand = l.log, "indus mcp accept"+l.repeat
	}
	return out
}

// wrote reports once when writes of the ledger fail, and once when they work again. One goroutine calls it.
func (l *servedLedger) wrote(err error) {
	if _, unusable := l.log.(unusableLedger); unusable || errors.Is(err, context.Canceled) || l.failing == (err != nil) {
		return
	}
	l.failing = err != nil
	if l.failing {
		l.s.Reportf("the ledger cannot be written, and serving goes on: %s", ledgerText(err))
	} else {
		l.s.Reportf("the ledger can be written again")
	}
}

// reportListed reports the servers whose tools are listed from the ledger before the servers have answered.
func reportListed(a *ledger.Attachment, s show.Streams) {
	var listed []string
	for _, st := range a.Status() {
		if !st.Phase.Usable() && st.Tools > 0 && !a.Fleet.Idle(st.Server) { // the event of an idle server states this already
			listed = append(listed, fmt.Sprintf("%s (%s)", st.Server, show.Count(st.Tools, "tool")))
		}
	}
	if listed != nil {
		s.Reportf("listed as the ledger has them, until they answer: %s", strings.Join(listed, ", "))
	}
}
