package command

import (
	"context"
	"fmt"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/schema"
	"github.com/spf13/cobra"
)

// Connection is servers that a command has mounted for itself.
type Connection struct {
	*interop.Mounted
	CloseFunc func()
}

// Close ends every connection.
func (c *Connection) Close() { c.CloseFunc() }

// ServerFlags are the flags of every command that connects servers once: what is configured, and the ledger.
type ServerFlags struct {
	ConfigFlags
	LedgerFlags
}

// Add adds the flags.
func (f *ServerFlags) Add(cmd *cobra.Command) {
	f.ConfigFlags.Add(cmd)
	f.LedgerFlags.Add(cmd)
}

// Connect mounts servers once, without anybody who would connect them again,
// and waits until each is ready or faulted. On a terminal it shows them live. What the
// configuration keeps back of changed tools is kept back here as in indus serve, by the
// same ledger.
func (f *LedgerFlags) Connect(ctx context.Context, servers []interop.Server, p *schema.Profile, s show.Streams) (*Connection, error) {
	tokens := signin.Open(s)
	o := &interop.MountOptions{
		FleetOptions: interop.FleetOptions{Restart: interop.Restart{Off: true}, Endpoint: tokens.Endpoint, Logger: s.Logger()},
		Wait:         -1,
		Budget:       -1,
		Profile:      p,
	}
	c := &Connection{}
	if GuardOf(servers) != "" {
		log, err := f.openPins(ctx, s)
		if err != nil {
			tokens.Close()
			return nil, fmt.Errorf("%w; without the ledger nobody knows which tools changed, and the configuration keeps those back", err)
		}
		a := ledger.Attach(ctx, ledger.Empty(), servers, &ledger.Options{Mount: o, Log: log, By: "indus mcp"})
		c.Mounted, c.CloseFunc = &interop.Mounted{Box: a.Box, Fleet: a.Fleet}, a.Close
	} else {
		c.Mounted = interop.Mount(ctx, servers, o)
		c.CloseFunc = c.Mounted.Close
	}
	closeServers := c.CloseFunc
	c.CloseFunc = func() {
		closeServers()
		tokens.Close()
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

// See keeps what a command saw of the servers that it is connected to in the ledger, where the next start finds it. It
// waits no longer than for help, and a ledger that cannot be written is no fault of the command.
func (f *LedgerFlags) See(ctx context.Context, fleet *interop.Fleet, s show.Streams) {
	path, err := f.Path()
	there := false
	if err == nil {
		there, err = LedgerExists(path)
	}
	if err == nil && !there && WasRemoved(path) { // which a command that looks does not make undone
		s.Reportf("%s was removed, and with it what was approved; put it back, or begin anew: indus serve", path)
		return
	}
	var file *ledger.File
	if err == nil {
		file, err = OpenLedger(ctx, path, recallLimit, &ledger.FileOptions{Logger: s.Logger()})
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, recallLimit)
		defer cancel()
		err = file.See(ctx, fleet)
	}
	if err != nil {
		s.Logger().Info("what the servers listed is not kept", "err", err)
	}
}

// GuardOf is what of the configuration asks for changed tools to be kept back, which takes a ledger; "": nothing does.
func GuardOf(servers []interop.Server) string {
	for _, o := range servers {
		if o.Changes.Guards() {
			return fmt.Sprintf("\"changes\": \"%s\" of %s", o.Changes, o.ID)
		}
	}
	return ""
}

// NeedsLedger is the error of --no-ledger where something asks for changes to be kept back.
func NeedsLedger(guard string) error {
	return Usagef("--no-ledger: %s needs the ledger, which knows what was approved", guard)
}

// ReportDown reports the servers that are down. It returns a fault if
// there is one.
func ReportDown(fleet *interop.Fleet, s show.Streams) (down error) {
	for _, st := range fleet.Status() {
		if st.Fault != nil {
			down = Explain(st.Fault)
			s.Reportf("%s", down)
		}
	}
	return down
}

// ReportMended reports the tools that clients are not shown as they are.
func ReportMended(fleet *interop.Fleet, s show.Streams) {
	for _, q := range fleet.Quarantined() {
		if q.Mended {
			s.Reportf("%s", q)
		}
	}
}

// ReportQuarantined reports what was listed and cannot be used.
func ReportQuarantined(fleet *interop.Fleet, s show.Streams) {
	for _, q := range fleet.Quarantined() {
		if !q.Mended {
			s.Reportf("%s", QuarantineText(q))
		}
	}
}

// QuarantineText says what a quarantine means: some tools cannot be called, others are
// only kept from models.
func QuarantineText(q interop.Quarantine) string {
	if q.Published && !q.Mended {
		return fmt.Sprintf("%s: tool %q is not shown to models: %s", q.Server, q.Tool, q.Reason)
	}
	return q.String()
}
