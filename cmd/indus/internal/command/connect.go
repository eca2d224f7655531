package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

// Connection holds the servers that a command has mounted for itself.
type Connection struct {
	*interop.Mounted
	Closers []func()
}

// Close closes every connection.
func (c *Connection) Close() {
	for _, end := range c.Closers {
		end()
	}
}

// ServerFlags holds the flags of every command that connects servers once: configuration and ledger.
type ServerFlags struct {
	ConfigFlags
	LedgerFlags
}

// Add adds the flags.
func (f *ServerFlags) Add(cmd *cobra.Command) {
	f.ConfigFlags.Add(cmd)
	f.LedgerFlags.Add(cmd)
}

// Connect is [LedgerFlags.Connect], and reports that it does not use the cluster of the configuration.
func (f *ServerFlags) Connect(
	ctx context.Context, servers []config.Server, p *schema.Profile, s show.Streams,
) (*Connection, error) {
	f.Named = f.ReportLocal(s)
	return f.LedgerFlags.Connect(ctx, servers, p, s)
}

// Connect mounts servers once, without restarts, and waits until each is ready or faulted. On a terminal it draws their
// progress. If the configuration holds back changed tools, Connect compares them with the ledger of indus serve.
func (f *LedgerFlags) Connect(
	ctx context.Context, servers []config.Server, p *schema.Profile, s show.Streams,
) (*Connection, error) {
	tokens := signin.Open(s)
	o := &interop.MountOptions{
		FleetOptions: interop.FleetOptions{
			Restart: interop.Restart{Off: true}, Endpoint: tokens.Endpoint, Logger: s.Logger(),
		},
		Wait:    -1,
		Budget:  -1,
		Profile: p,
	}
	c := &Connection{}
	if GuardOf(servers) != "" {
		log, err := f.openPins(ctx, s)
		if err != nil {
			tokens.Close()
			return nil, fmt.Errorf(
				"%w; the configuration holds back changed tools, and the ledger is needed to detect them", err)
		}
		a := ledger.Attach(ctx, ledger.Ledger{}, servers, &ledger.Options{Mount: o, Log: log, By: "indus mcp"})
		c.Mounted, c.Closers = &interop.Mounted{Box: a.Box, Fleet: a.Fleet}, []func(){a.Close, tokens.Close}
	} else {
		c.Mounted = interop.Mount(ctx, servers, o)
		c.Closers = []func(){c.Mounted.Close, tokens.Close}
	}
	stop := WatchLive(c.Fleet, s)
	err := c.Fleet.Settle(ctx)
	stop()
	if err != nil {
		c.Close()
		return nil, err
	}
	f.See(ctx, c.Fleet, s)
	return c, nil
}

// See stores the tools of the connected servers in the ledger, for the next start. It waits at most recallLimit. If the
// ledger cannot be written, the command does not fail.
func (f *LedgerFlags) See(ctx context.Context, fleet *interop.Fleet, s show.Streams) {
	file, _, err := f.open(ctx, s, createUnlessRemoved, recallLimit, &ledger.FileOptions{Logger: s.Logger()})
	switch {
	case err == nil:
		ctx, cancel := context.WithTimeout(ctx, recallLimit)
		defer cancel()
		err = file.See(ctx, fleet)
	case errors.Is(err, errRemoved): // a command that only looks does not recreate a removed ledger
		s.Reportf("%s", err)
		return
	}
	if err != nil {
		s.Logger().Info("the lists of the servers are not kept", "err", err)
	}
}

// GuardOf returns the first setting that holds back changed tools, or "". Such a setting needs a ledger.
func GuardOf(servers []config.Server) string {
	for _, o := range servers {
		if o.Changes.Guards() {
			return fmt.Sprintf("\"changes\": \"%s\" of %s", o.Changes, o.ID)
		}
	}
	return ""
}

// NeedsLedger returns the error for --no-ledger with a setting that holds back changed tools.
func NeedsLedger(guard string) error {
	return Usagef("--no-ledger: %s needs the ledger, which has the approvals", guard)
}

// ReportDown reports the servers that are down, and returns the last fault.
func ReportDown(fleet *interop.Fleet, s show.Streams) (down error) {
	for _, st := range fleet.Status() {
		if st.Fault != nil {
			down = Explain(st.Fault)
			s.Reportf("%s", down)
		}
	}
	return down
}

// ReportQuarantined reports the quarantined tools. If mended is true, it reports the tools that clients see in a
// changed form. If it is false, it reports the tools that cannot be used.
func ReportQuarantined(fleet *interop.Fleet, mended bool, s show.Streams) {
	for _, q := range fleet.Quarantined() {
		if q.Mended == mended {
			s.Reportf("%s", QuarantineText(q))
		}
	}
}

// QuarantineText returns the message for a quarantined tool: it cannot be called, or it is only hidden from models.
func QuarantineText(q interop.Quarantine) string {
	if q.Published && !q.Mended {
		return fmt.Sprintf("%s: tool %q is not shown to models: %s", q.Server, q.Tool, q.Reason)
	}
	return q.String()
}

// WatchLive draws a line for each server on stderr while the servers connect. If stderr is not a terminal, it reports
// the servers that are slow. stop removes the lines.
func WatchLive(fleet *interop.Fleet, s show.Streams) (stop func()) {
	canvas := s.Canvas()
	if canvas == nil {
		return s.ReportSlow(func() []string { return Connecting(fleet.Status()) })
	}
	return canvas.Live(0, func(height int, elapsed time.Duration) []string {
		return serverLines(fleet.Status(), elapsed, height)
	})
}

// Connecting returns the servers that are neither ready nor down.
func Connecting(all []interop.EndpointStatus) []string {
	return show.Names(all, func(st interop.EndpointStatus) string {
		if st.Phase.Usable() || st.Fault != nil {
			return ""
		}
		return st.Server
	})
}

// serverLines returns the lines for servers on a screen of the given height. If they do not fit, the last counts the
// rest.
func serverLines(all []interop.EndpointStatus, elapsed time.Duration, height int) []string {
	shown, room, id := all, height-2, 0
	if len(all) > room {
		shown = nil
		for _, st := range all {
			if !st.Phase.Usable() && len(shown) < room-1 {
				shown = append(shown, st)
			}
		}
	}
	for _, st := range shown {
		id = min(30, max(id, show.Columns(show.Clean(st.Server))))
	}
	var lines []string
	for _, st := range shown {
		lines = append(lines,
			fmt.Sprintf("%s  %-10s  %s", show.Pad(show.Clean(st.Server), id), st.Phase, progressOf(st, elapsed)))
	}
	if more := len(all) - len(shown); more > 0 {
		ready := len(show.Where(all, func(st interop.EndpointStatus) bool { return st.Phase.Usable() }))
		lines = append(lines, fmt.Sprintf("… and %d more; %d of %d are ready", more, ready, len(all)))
	}
	return lines
}

func progressOf(st interop.EndpointStatus, elapsed time.Duration) string {
	switch {
	case st.Fault != nil:
		return show.Clean(strings.TrimPrefix(st.Fault.Error(), st.Server+": "))
	case st.Phase.Usable():
		return show.Count(st.Tools, "tool") + ", " + show.Duration(st.Took)
	}
	return show.Duration(elapsed.Truncate(show.DrawTick))
}

// recallLimit bounds the wait for a ledger that another process holds, so that completions and help stay fast.
const recallLimit = time.Second

// Recalled holds the tools and the status of servers from the ledger, as they would be mounted. No server is started.
type Recalled struct {
	Tools  []toolbox.Descriptor
	Status []interop.EndpointStatus
	Heard  map[string]time.Time // by server id: when the server last listed something new
}

// Find returns the tool with a name.
func (r *Recalled) Find(name string) (toolbox.Descriptor, bool) {
	i := slices.IndexFunc(r.Tools, func(d toolbox.Descriptor) bool { return d.Name == name })
	if i < 0 {
		return toolbox.Descriptor{}, false
	}
	return r.Tools[i], true
}

// Recall returns the tools and the status of servers from the ledger. If there is no ledger, the result is empty.
func (f *LedgerFlags) Recall(ctx context.Context, servers []config.Server) (*Recalled, error) {
	ctx, cancel := context.WithTimeout(ctx, recallLimit)
	defer cancel()
	r := &Recalled{Heard: map[string]time.Time{}}
	state := ledger.StateOf(nil)
	file, err := f.openExisting(ctx)
	if file != nil {
		var entries []ledger.Entry
		entries, err = file.Read(ctx, 0)
		state = ledger.StateOf(entries)
	}
	for _, o := range servers {
		if at := state.Heard(o); !at.IsZero() {
			r.Heard[o.ID] = at
		}
	}
	mounted := MountKnown(ctx, servers, state.Known(servers), schema.Original)
	defer mounted.Close()
	r.Tools, r.Status = mounted.Box.Snapshot("").Tools, mounted.Fleet.Status()
	return r, err
}

// MountKnown mounts servers without connecting them, with the tools of their last run.
func MountKnown(
	ctx context.Context, servers []config.Server, known func(string) []toolbox.Wire, p *schema.Profile,
) *interop.Mounted {
	unconnected := make([]config.Server, len(servers))
	for i, o := range servers {
		unconnected[i] = config.Server{ID: o.ID, Tools: o.Tools, Profile: o.Profile}
	}
	return interop.Mount(ctx, unconnected, &interop.MountOptions{
		FleetOptions: interop.FleetOptions{
			Known: known, Grace: neverRetry, Restart: interop.Restart{First: neverRetry, Max: neverRetry},
		},
		Wait:    -1,
		Budget:  -1,
		Profile: p,
	})
}

// neverRetry is a delay that is longer than any command runs.
const neverRetry = 24 * time.Hour
