package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
)

// attach connects the configured servers and waits for at most --wait. Later servers are available in the next turn.
func (x *session) attach(ctx context.Context) error {
	c, err := &mcpconfig.Config{}, error(nil)
	if !x.flags.noTools {
		c, err = x.flags.ConfigFlags.Read(ctx)
	}
	if err != nil {
		return err
	}
	for _, n := range c.Notes {
		if command.UnexpectedNotes(n) {
			x.streams.Reportf("%s", n)
		}
	}
	command.ReportHeld(c, x.streams)
	x.flags.Named = x.flags.ReportLocal(x.streams)
	configured := c.Servers()
	log, err := x.openLedger(ctx, c)
	if err != nil {
		return err
	}
	x.config, x.log, x.signIns = c, log, signin.Open(x.streams)
	x.servers = ledger.Attach(ctx, ledger.Ledger{}, configured, &ledger.Options{
		Mount: &interop.MountOptions{
			FleetOptions: interop.FleetOptions{Endpoint: x.endpoint, Logger: x.streams.Logger()}, Wait: -1,
		},
		Log: log,
		By:  fmt.Sprintf("indus session %s, process %d", x.id, os.Getpid()),
	})
	if err := x.settle(ctx); err != nil {
		return err
	}
	if held := x.servers.Snapshot("").Held; len(held) > 0 {
		x.streams.Reportf("%s", x.flags.HeldBack(held...))
	}
	return nil
}

// settle waits for servers, and shows the servers that it waits for.
func (x *session) settle(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, x.flags.wait)
	defer cancel()
	if x.flags.wait > 0 {
		defer command.WatchLive(x.servers.Fleet, x.streams)()
		_ = x.servers.Fleet.Settle(limited)
	}
	return ctx.Err()
}

// openLedger opens the ledger. It returns nil if no ledger is kept.
func (x *session) openLedger(ctx context.Context, c *mcpconfig.Config) (ledger.Log, error) {
	f := x.flags
	guard := command.GuardOf(c.Servers())
	switch {
	case f.noLedger && guard != "":
		return nil, command.NeedsLedger(guard)
	case f.noLedger, len(c.Rows) == 0:
		return nil, nil
	}
	path, err := f.Path()
	if err == nil {
		_, err = command.LedgerExists(path)
	}
	var file *ledger.File
	if err == nil {
		file, err = command.OpenLedger(ctx, path, command.LockWait, &ledger.FileOptions{Logger: x.streams.Logger()})
	} else if f.LedgerFlags.Flag.Changed {
		return nil, err
	}
	switch {
	case err == nil:
		f.ReportRemoved(file, path, x.streams)
		return file, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case guard != "":
		return nil, fmt.Errorf(
			"%w; the configuration holds back changed tools, and the ledger is needed to detect them", err)
	}
	x.streams.Reportf("no ledger is kept: %s", strings.TrimPrefix(err.Error(), "ledger: "))
	return nil, nil
}

// server returns the configuration of a server of the session.
func (x *session) server(id string) (config.Server, bool) {
	return x.servers.Fleet.Server(id)
}

var errNoServers = errors.New("with --no-tools there are no servers")

// connect reads the configuration again and starts a server that is not running or is down. It does not wait until the
// server is ready.
func (x *session) connect(ctx context.Context, server string) error {
	if x.flags.noTools {
		return errNoServers
	}
	c, err := x.flags.ConfigFlags.Read(ctx)
	if err != nil {
		return err
	}
	configured := c.Servers()
	ids := command.IDs(configured)
	at := slices.Index(ids, server)
	if at < 0 {
		return command.NoServer(c, server, func(o config.Server) bool { return o.ID == server })
	}
	switch st, runs := x.statusOf(server); {
	case !runs:
	case st.Fault != nil:
		x.servers.Detach(server) // otherwise it would wait for its next attempt
	case st.Phase.Usable():
		return fmt.Errorf("%s is %s already", server, st.Phase)
	default:
		return nil // it is connecting already
	}
	next := append(x.servers.Fleet.Servers(), configured[at]) // the other servers stay unchanged
	place := func(o config.Server) int {
		if i := slices.Index(ids, o.ID); i >= 0 {
			return i
		}
		return len(ids) // it is not configured any more
	}
	slices.SortStableFunc(next, func(a, b config.Server) int { return cmp.Compare(place(a), place(b)) })
	x.config = c
	x.servers.Apply(next)
	return nil
}

// statusOf returns the status of a server, if the session has it.
func (x *session) statusOf(server string) (interop.EndpointStatus, bool) {
	for _, st := range x.servers.Status() {
		if st.Server == server {
			return st, true
		}
	}
	return interop.EndpointStatus{}, false
}

// disconnect stops a server. Its tools are removed at once.
func (x *session) disconnect(server string) error {
	if _, ok := x.server(server); !ok {
		return command.Usagef("no server %q is connected%s", server,
			command.DidYouMean(server, command.IDs(x.servers.Fleet.Servers())))
	}
	x.servers.Detach(server)
	return nil
}

// serverState is the state of a server at one moment.
type serverState struct {
	health string            // text for the model
	tools  map[string]string // the fingerprint of each tool by name
}

// serverStates returns the current state of all servers, in order.
func (x *session) serverStates() (order []string, now map[string]serverState) {
	now = map[string]serverState{}
	all := x.servers.Snapshot("")
	for _, st := range x.servers.Status() {
		order = append(order, st.Server)
		now[st.Server] = serverState{healthText(st, slices.Contains(all.Pending, st.Server)), map[string]string{}}
	}
	for _, d := range all.Tools {
		if s, ok := now[d.Server]; ok {
			s.tools[d.Name] = agent.Fingerprint(d)
		}
	}
	return order, now
}

// healthText describes a server's status in the words of the briefing.
func healthText(st interop.EndpointStatus, pending bool) string {
	switch {
	case st.Fault != nil:
		// It may contain text of the server.
		return "cannot be reached: " + strconv.Quote(quoted(strings.TrimPrefix(st.Fault.Error(), st.Server+": "), 300))
	case !pending: // or idle, and started by the next call
		return "ready"
	}
	return "not ready yet; its tools come with a later message"
}

// describeNews describes the changes of servers since the last turn, or returns "" if there are none.
func (x *session) describeNews() string {
	order, now := x.serverStates()
	var lines []string
	for _, id := range order {
		before, known := x.reportedStates[id]
		if line := describeChange(before, now[id], known); line != "" {
			lines = append(lines, "- "+quoted(id, 100)+": "+line)
		}
	}
	for id := range x.reportedStates {
		if _, there := now[id]; !there {
			lines = append(lines, "- "+quoted(id, 100)+": disconnected, its tools are gone")
		}
	}
	x.reportedStates = now
	if lines == nil {
		return ""
	}
	slices.Sort(lines)
	return "(From indus, not from the user. Since the last message:\n" + strings.Join(lines, "\n") + x.instructions() +
		"\n)"
}

// describeChange describes the changes of one server, or returns "" if there are none.
func describeChange(before, now serverState, known bool) string {
	var added, removed, changed []string
	for name, print := range now.tools {
		if before, had := before.tools[name]; !had {
			added = append(added, name)
		} else if before != print {
			changed = append(changed, name)
		}
	}
	for name := range before.tools {
		if _, has := now.tools[name]; !has {
			removed = append(removed, name)
		}
	}
	var parts []string
	if !known || before.health != now.health {
		parts = append(parts, now.health)
	}
	for _, group := range []struct {
		label string
		names []string
	}{{"new", added}, {"gone", removed}, {"changed", changed}} {
		if len(group.names) > 0 {
			slices.Sort(group.names)
			parts = append(parts, group.label+": "+show.List(group.names, maxChangedNames, "tools"))
		}
	}
	return strings.Join(parts, "; ")
}

// maxChangedNames limits the tools that a line about a server names.
const maxChangedNames = 20
