package servers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/schema"
	"github.com/spf13/cobra"
)

type lsFlags struct {
	command.ServerFlags
	offline, asJSON bool
}

func newLs(s show.Streams) *cobra.Command {
	var f lsFlags
	cmd := command.New(s, f.ls, cobra.Command{
		Use: "ls", Aliases: []string{"list"}, SuggestFor: []string{"status", "ps", "servers"},
		Short: "Connect to every server and show its state", Long: lsHelp, ValidArgsFunction: cobra.NoFileCompletions,
	})
	cmd.Flags().BoolVar(&f.offline, "offline", false,
		`do not connect: show the number of tools that indus serve last received, and
		the time`)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print a JSON array with one object per server")
	f.Add(cmd)
	return cmd
}

const lsHelp = `Connect to every configured server and show its state: phase, era (legacy, or modern:
MCP 2026-07-28), revision of MCP, number of tools, time to connect, sandbox, file, and command or URL. If a server
needs a sign-in, the expiry of the sign-in is shown, with "per": "principal" also for each caller of indus
serve. If a server did not connect, the reason and a remedy are shown. A faulted server
is no failure of ls, which exits 0. A "single" server of a cluster is not started: the
column RUNS ONCE has the replica that runs it.

A session:
  $ indus mcp ls --mcp servers.json
  SERVER      PHASE    ERA     MCP         TOOLS  TIME   BOX      SCOPE
  everything  ready    legacy  2025-11-25  13     361ms  package  file
  weather     faulted  -       -           -      -      off      file

  servers.json:7: weather: connect: start weather-server: executable file …
    try: the command is not installed, or not in the PATH: install it, or …

Exit codes:
  0    ok, whatever the servers do
  2    usage: flags and files
  130  interrupted`

// serverRow is a row of ls in the output of --json.
type serverRow struct {
	Server    string               `json:"server"`
	State     mcpconfig.State      `json:"state"`
	Transport config.TransportKind `json:"transport,omitempty"`
	Target    string               `json:"target,omitempty"`
	Phase     interop.Phase        `json:"phase,omitempty"`
	Era       interop.Era          `json:"era,omitempty"`
	Version   string               `json:"version,omitempty"`
	Tools     int                  `json:"tools"`
	Millis    int64                `json:"connectMillis,omitempty"`
	Noise     int                  `json:"noise,omitempty"`
	Kind      interop.Kind         `json:"kind,omitempty"`
	Fault     string               `json:"fault,omitempty"`
	Try       string               `json:"try,omitempty"`
	Heard     *time.Time           `json:"heard,omitempty"`   // with --offline
	Single    bool                 `json:"single,omitempty"`  // it runs once in the cluster, and ls does not start it
	Replica   string               `json:"replica,omitempty"` // where it runs
	Box       string               `json:"box,omitempty"`     // of a command: what holds of its sandbox
	Sandbox   *config.Sandbox      `json:"sandbox,omitempty"`
	Locked    string               `json:"locked,omitempty"` // the version to which its package is locked
	SignIn    *signin.Report       `json:"signIn,omitempty"`
	SignIns   []*signin.Report     `json:"signIns,omitempty"` // of callers, with "per": "principal"
	Scope     mcpconfig.Scope      `json:"scope"`
	File      string               `json:"file"`
	Line      int                  `json:"line"`

	took       time.Duration
	signInText string            // text of the column SIGN-IN
	callers    []signin.SignedIn // in the order of SignIns
}

// signIns adds the sign-ins of a server to the row.
func (r *serverRow) signIns(ctx context.Context, tokens *signin.Tokens, server config.Server) error {
	local, err := tokens.Status(ctx, server, "")
	if err != nil {
		return err
	}
	r.SignIn = signin.ReportOf("", local)
	if r.SignIn != nil {
		r.signInText = signin.Until(local)
	}
	callers, err := tokens.Principals(ctx, server)
	for _, one := range callers {
		if report := signin.ReportOf(one.Principal, one.Status); report != nil {
			r.SignIns, r.callers = append(r.SignIns, report), append(r.callers, one)
		}
	}
	if n := len(r.callers); n > 0 {
		r.signInText = strings.TrimPrefix(r.signInText+", "+show.Count(n, "caller"), ", ")
	}
	return err
}

func (f *lsFlags) ls(ctx context.Context, _ []string, s show.Streams) error {
	rows, err := f.rows(ctx, s)
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return s.WriteIndented(rows)
	case len(rows) == 0:
		return nil
	}
	if err := f.table(rows).Write(s.Out); err != nil {
		return err
	}
	page := faultsPage(rows)
	for _, r := range rows {
		for i, caller := range r.callers {
			if i == 0 {
				page.Printf("\n")
			}
			page.Printf("%s: %s: %s\n", r.Server, caller.Principal, signin.Describe(caller.Status))
		}
	}
	return s.Print(page)
}

// rows returns a row for each server: its present state, or with --offline its state in the ledger.
func (f *lsFlags) rows(ctx context.Context, s show.Streams) ([]serverRow, error) {
	f.Dry, f.Looks = f.offline, true
	c, err := f.Load(ctx, s, command.NotesOutsideRows)
	if err != nil {
		return nil, err
	}
	tokens := signin.Open(s)
	defer tokens.Close()
	known := &command.Recalled{}
	if f.offline {
		f.ReportLocal(s)
		if known, err = f.Recall(ctx, c.Servers()); err != nil {
			return nil, err
		}
	} else {
		own := show.Where(c.Servers(), func(o config.Server) bool { return !o.Single })
		mounted, err := f.Connect(ctx, own, schema.Original, s)
		if err != nil {
			return nil, err
		}
		defer mounted.Close()
		command.ReportQuarantined(mounted.Fleet, true, s)
		known.Status = mounted.Fleet.Status()
	}
	status := map[string]interop.EndpointStatus{}
	for _, st := range known.Status {
		status[st.Server] = st
	}
	rows, unread := []serverRow{}, ""
	for _, r := range c.Rows {
		if r.State == mcpconfig.Shadowed { // its note is reported
			continue
		}
		row := serverRow{
			Server: r.Server.ID, State: r.State, Transport: r.Kind, Target: r.Target, Scope: r.Scope, File: r.File, Line: r.Line,
			Single: r.State == mcpconfig.Active && r.Server.Single,
		}
		if _, isCommand := r.Server.Transport.(config.Stdio); isCommand {
			row.Sandbox, row.Box = r.Sandbox(), command.BoxInForce(r.Sandbox())
			row.Locked = lockedVersion(r.Server)
		}
		if r.State == mcpconfig.Active {
			if err := row.signIns(ctx, tokens, r.Server); err != nil && err.Error() != unread {
				unread = err.Error() // once for all servers, because they share the store
				s.Reportf("the sign-ins cannot be read: %v", err)
			}
		}
		switch st := status[r.Server.ID]; {
		case r.State == mcpconfig.Disabled: // on purpose, so it is no fault
		case r.State != mcpconfig.Active:
			row.Fault, row.Try = r.Reason, r.Hint
		case f.offline:
			row.Tools = st.Tools
			if heard := known.Heard[r.Server.ID]; !heard.IsZero() {
				row.Heard = &heard
			}
		case !row.Single:
			row.Phase, row.Era, row.Version, row.Tools = st.Phase, st.Era, st.Version, st.Tools
			row.took, row.Millis, row.Noise = st.Took, st.Took.Milliseconds(), st.Noise
			if st.Fault != nil {
				row.Kind, row.Fault, row.Try = st.Fault.Kind, st.Fault.Error(), st.Fault.Advice()
				if st.Fault.NeedsSignIn() {
					row.signInText = "needed"
				}
			}
		}
		rows = append(rows, row)
	}
	if !f.offline && slices.ContainsFunc(rows, func(r serverRow) bool { return r.Single }) {
		replicas, err := command.SingleReplicas(ctx, c.Cluster, s)
		if err != nil && ctx.Err() == nil {
			s.Reportf("it is not known where servers run that are \"single\": %v", err)
		}
		for i := range rows {
			if rows[i].Single {
				rows[i].Replica = replicas[rows[i].Server]
			}
		}
	}
	return rows, ctx.Err()
}

func (f *lsFlags) table(rows []serverRow) *show.Table {
	t := &show.Table{Spare: []string{"TARGET", "SCOPE", "ERA", "MCP", "TIME", "HEARD", "LOCKED", "BOX"}}
	hasSignIns := slices.ContainsFunc(rows, func(r serverRow) bool { return r.signInText != "" })
	hasCommands := slices.ContainsFunc(rows, func(r serverRow) bool { return r.Box != "" })
	hasSingles := slices.ContainsFunc(rows, func(r serverRow) bool { return r.Single })
	hasLocks := slices.ContainsFunc(rows, func(r serverRow) bool { return r.Locked != "" })
	add := func(signIn, runsAt, box, version string, cells ...string) {
		if hasCommands {
			cells = slices.Insert(cells, len(cells)-2, box)
		}
		if hasLocks {
			cells = slices.Insert(cells, len(cells)-2, version)
		}
		if hasSingles { // before the last two columns
			cells = slices.Insert(cells, len(cells)-2, runsAt)
		}
		if hasSignIns {
			cells = slices.Insert(cells, len(cells)-2, signIn)
		}
		t.Add(cells...)
	}
	if f.offline {
		add("SIGN-IN", "RUNS ONCE", "BOX", "LOCKED", "SERVER", "STATE", "TOOLS", "HEARD", "SCOPE", "TARGET")
	} else {
		add("SIGN-IN", "RUNS ONCE", "BOX", "LOCKED", "SERVER", "PHASE", "ERA", "MCP", "TOOLS", "TIME", "SCOPE", "TARGET")
	}
	for _, r := range rows {
		phase, tools, when, runsAt := string(r.State), "", "", ""
		if r.Single {
			runsAt = cmp.Or(r.Replica, "unknown")
		}
		if r.Phase != "" {
			phase = string(r.Phase)
		}
		switch {
		case r.Heard != nil:
			tools, when = fmt.Sprint(r.Tools), show.Time(*r.Heard)
		case r.Phase == interop.Ready:
			tools, when = fmt.Sprint(r.Tools), show.Duration(r.took)
		}
		if f.offline {
			add(r.signInText, runsAt, r.Box, r.Locked, r.Server, phase, tools, when, string(r.Scope), r.Target)
		} else {
			add(r.signInText, runsAt, r.Box, r.Locked, r.Server, phase, string(r.Era), r.Version, tools, when, string(r.Scope),
				r.Target)
		}
	}
	return t
}

// faultsPage returns the faults with their advice. Servers with the same file and fault share an entry, for example all
// servers that wait for approval.
func faultsPage(rows []serverRow) *show.Page {
	type faultKey struct {
		file, fault, try string
		line             int // 0 stands for the line of the first row
	}
	p := &show.Page{}
	for w, group := range show.GroupBy(rows, func(r serverRow) faultKey {
		if r.State == mcpconfig.Active || r.Server == "" { // only the line identifies a row without a name
			return faultKey{r.File, r.Fault, r.Try, r.Line}
		}
		return faultKey{r.File, r.Fault, r.Try, 0}
	}) {
		if w.fault == "" {
			continue
		}
		reason := strings.TrimPrefix(w.fault, group[0].Server+": ")
		if names := show.Names(group, func(r serverRow) string { return r.Server }); names != nil {
			reason = strings.Join(names, ", ") + ": " + reason
		}
		p.Printf("\n%s:%d: %s\n", w.file, group[0].Line, reason)
		if w.try != "" {
			p.Printf("  try: %s\n", w.try)
		}
	}
	return p
}
