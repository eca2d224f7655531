package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
)

// acceptTick is the interval at which the ledger is checked for acceptance of held tools.
const acceptTick = time.Second

// servedLedger is the ledger of one running indus serve.
type servedLedger struct {
	path         string               // "" if no ledger is kept
	policy       interop.ChangePolicy // from the flag
	guardSetting string               // the setting that requires changes to be held back, or "" if there is none
	flags        *command.LedgerFlags
	s            show.Streams

	log ledger.Log // nil if no ledger is kept or it is not open yet
}

// findLedger determines the path of the ledger. If the user named a file that is not a ledger, it returns an error. If
// there is no place for a ledger, none is kept.
func (f *serveFlags) findLedger(servers []interop.Server, s show.Streams) (*servedLedger, error) {
	l := &servedLedger{
		policy: interop.ChangePolicy(f.changes), flags: &f.LedgerFlags, guardSetting: command.GuardOf(servers), s: s,
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
	message := "no ledger is kept: " + strings.TrimPrefix(err.Error(), "ledger: ")
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
		Policy: l.policy, Warm: true, Poll: acceptTick, By: by,
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
		l.log = &reportingLog{File: file, s: l.s}
	}
	return l.log
}

// alarm returns an alarm for changed tools, with the command that accepts them.
func (l *servedLedger) alarm(a *ledger.Attachment) *alarm {
	out := &alarm{attached: a, s: l.s, bursts: burstCounts{}}
	if l.path != "" {
		out.log, out.acceptCommand = l.log, "indus mcp accept"+l.flags.Repeat()
	}
	_, out.silent = l.log.(unusableLedger)
	return out
}

// reportingLog is a ledger that reports once when writes fail, and once when they work again.
type reportingLog struct {
	*ledger.File
	s show.Streams

	mu     sync.Mutex
	failed bool
}

var _ ledger.Log = (*reportingLog)(nil)

// Append implements [ledger.Log].
func (l *reportingLog) Append(ctx context.Context, entries ...ledger.Entry) ([]ledger.Entry, error) {
	written, err := l.File.Append(ctx, entries...)
	if !errors.Is(err, context.Canceled) {
		l.report(err)
	}
	return written, err
}

func (l *reportingLog) report(err error) {
	l.mu.Lock()
	changed := l.failed != (err != nil)
	l.failed = err != nil
	l.mu.Unlock()
	switch {
	case changed && err != nil:
		l.s.Reportf("the ledger cannot be written, and serving goes on: %s", strings.TrimPrefix(err.Error(), "ledger: "))
	case changed:
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
