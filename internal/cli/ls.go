package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/schema"
	"github.com/spf13/cobra"
)

func newLs(s streams) *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, SuggestFor: []string{"status", "ps", "servers"},
		Short: "Connect every server, and say how each is",
		Long:  lsHelp,
		Args:  atMost(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ls(cmd.Context(), &flags, asJSON, s)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

const lsHelp = `Connect every configured server, and say how each is: its phase, the era and the
revision of MCP that it speaks, how many tools it has, how long it took to
connect; and where it did not, why, and what to try. A faulted server is an
answer and no failure: ls exits 0.

Usage:
  indus mcp ls [FLAG]...

Flags:
  --json       print a JSON array, an object a server` + configFlagsHelp + `

A session:
  $ indus mcp ls --mcp servers.json
  SERVER      PHASE    ERA     MCP         TOOLS  TIME
  everything  ready    legacy  2025-11-25  13     361ms
  weather     faulted  -       -           -      -

  servers.json:7: weather: connect: start weather-server: executable file not found in $PATH
    try: run the command by hand: is it installed, and does it start an MCP server?

Exit codes:
  0    ok, whatever the servers do
  2    usage: flags and files
  130  interrupted`

// serverRow is one line of ls, as --json prints it.
type serverRow struct {
	Server    string                `json:"server"`
	State     mcpconfig.State       `json:"state"`
	Transport interop.TransportKind `json:"transport,omitempty"`
	Target    string                `json:"target,omitempty"`
	Phase     interop.Phase         `json:"phase,omitempty"`
	Era       interop.Era           `json:"era,omitempty"`
	Version   string                `json:"version,omitempty"`
	Tools     int                   `json:"tools"`
	Millis    int64                 `json:"connectMillis,omitempty"`
	Noise     int                   `json:"noise,omitempty"`
	Kind      interop.Kind          `json:"kind,omitempty"`
	Fault     string                `json:"fault,omitempty"`
	Try       string                `json:"try,omitempty"`
	File      string                `json:"file"`
	Line      int                   `json:"line"`

	took time.Duration
}

func ls(ctx context.Context, flags *configFlags, asJSON bool, s streams) error {
	c, err := flags.load(ctx, s, unlessInRows)
	if err != nil {
		return err
	}
	mounted, err := connect(ctx, c.Servers(), schema.Original, s)
	if err != nil {
		return err
	}
	defer mounted.Close()
	rows := serverRows(c, mounted.Fleet)
	if asJSON {
		raw, err := indented(rows)
		if err != nil {
			return err
		}
		return s.writeJSON(raw)
	}
	if len(rows) == 0 {
		return nil
	}
	if err := printTable(s.out, rows); err != nil {
		return err
	}
	return printFaults(s.out, rows)
}

func serverRows(c *mcpconfig.Config, fleet *interop.Fleet) []serverRow {
	status := map[string]interop.EndpointStatus{}
	for _, st := range fleet.Status() {
		status[st.Server] = st
	}
	rows := []serverRow{}
	for _, r := range c.Rows {
		row := serverRow{
			Server: r.Server.ID, State: r.State, Transport: r.Kind, Target: r.Target, File: r.File, Line: r.Line,
		}
		switch r.State {
		case mcpconfig.Shadowed: // its note says so
			continue
		case mcpconfig.Disabled: // somebody meant it
		case mcpconfig.Active:
			st := status[r.Server.ID]
			row.Phase, row.Era, row.Version, row.Tools = st.Phase, st.Era, st.Version, st.Tools
			row.took, row.Millis, row.Noise = st.Took, st.Took.Milliseconds(), st.Noise
			if st.Fault != nil {
				row.Kind, row.Fault, row.Try = st.Fault.Kind, st.Fault.Error(), advice(st.Fault)
			}
		default:
			row.Fault, row.Try = r.Reason, r.Hint
		}
		rows = append(rows, row)
	}
	return rows
}

func printTable(out io.Writer, rows []serverRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SERVER\tPHASE\tERA\tMCP\tTOOLS\tTIME")
	for _, r := range rows {
		phase, tools, took := string(r.State), "-", "-"
		if r.State == mcpconfig.Active {
			phase = string(r.Phase)
		}
		if r.Phase == interop.Ready {
			tools, took = fmt.Sprint(r.Tools), short(r.took)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", dash(clean(r.Server)), phase, dash(string(r.Era)), dash(clean(r.Version)), tools, took)
	}
	return w.Flush()
}

// printFaults says what is wrong and what to try. Servers of one file with one
// reason, as those have that wait for approval, share the lines.
func printFaults(w io.Writer, rows []serverRow) error {
	for i, r := range rows {
		same := func(o serverRow) bool {
			return o.State != mcpconfig.Active && o.File == r.File && o.Fault == r.Fault && o.Try == r.Try
		}
		var who []string
		first := i
		for j, o := range rows {
			if j == i || same(r) && same(o) {
				who, first = append(who, o.Server), min(first, j)
			}
		}
		if r.Fault == "" || first < i {
			continue
		}
		reason := strings.TrimPrefix(r.Fault, r.Server+": ")
		fmt.Fprintf(w, "\n%s:%d: %s: %s\n", r.File, r.Line, clean(strings.Join(who, ", ")), clean(reason))
		if r.Try != "" {
			if _, err := fmt.Fprintf(w, "  try: %s\n", clean(r.Try)); err != nil {
				return err
			}
		}
	}
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
