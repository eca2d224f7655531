package doctor

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

type doctorFlags struct {
	command.ConfigFlags
	asJSON bool
}

// New returns the command doctor.
func New(s show.Streams) *cobra.Command {
	var f doctorFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "doctor [SERVER]...", SuggestFor: []string{"check", "test", "diagnose", "debug"},
		Short: "Find out, step by step, why a server does not work", Long: doctorHelp,
		ValidArgsFunction: f.CompleteServers(math.MaxInt),
	})
	cmd.Flags().BoolVar(&f.asJSON, "json", false,
		`print a JSON object: ok, general and together, which are lists of steps, and servers,
		each with server, state, transport, target, file, line, ok, stderr, and steps [{step, ok, ms, detail, advice}]; a
		step that is ok and has advice is a note`)
	f.Add(cmd)
	return cmd
}

const doctorHelp = `Examine every configured server, or the named ones: each step from the
configuration to its tools, with the time that it took. If a step fails, the
reason, the last lines of the server's stderr and a remedy are shown. A "note" marks
something that works but could be better.

Servers that may not start are listed with the reason, and are no failure unless
something is wrong with them. Nothing of them is run. The others are started all
at once, and ended again; no tool is called.

Usage:
  indus mcp doctor [FLAG]... [SERVER]...

The steps:
  path           directories of PATH in the project, where only its own servers look
  configuration  the file and line of the entry, and its oddities
  approval       why it may start
  command        the program, in the PATH that the server gets
  start          its process; a "single" server of a cluster is not started
  dns, tcp, tls  of a server at a URL
  handshake      the era and the revision of MCP that it speaks
  list           its tools
  rules          entries of "tools" that match no tool
  schemas        whether all tools could be mounted; indus mcp lint has the details
  timeouts       how long each step may take

A session:
  $ indus mcp doctor --mcp servers.json
  general
    ok    files      servers.json
    …

  weather  servers.json:7  stdio: weather-servr
    ok    configuration  the row can be read, and its variables are set
    ok    approval       the file was named
    FAIL  command        start weather-servr: executable file not found …
          try: did you mean weather-server?

  1 server: 1 is not well

Exit codes:
  0    all is well, or only held, disabled or noted
  1    something is wrong
  2    usage: flags, files, and no such SERVER
  3    the first server that is not well wants authorization
  4    the first server that is not well cannot be reached
  130  interrupted`

func (f *doctorFlags) run(ctx context.Context, only []string, s show.Streams) error {
	if len(only) > 0 {
		f.Only = func(id string) bool { return slices.Contains(only, id) }
	}
	c, err := f.Read(ctx)
	if err != nil {
		return err
	}
	rows, err := rowsNamed(c, only)
	if err != nil {
		return err
	}
	f.ReportLocal(s)
	d := &doctor{config: c, rows: rows, trust: f.Trust, paths: f.RepeatPaths(), all: len(only) == 0, Streams: s}
	d.open()
	defer d.close()
	report, err := d.examine(ctx, !f.asJSON)
	if err != nil {
		return err
	}
	if f.asJSON {
		if err := s.WriteIndented(report); err != nil {
			return err
		}
	}
	return d.verdict(report)
}

// rowsNamed returns the rows with the given ids, in the order of the configuration. Without ids, it returns all rows.
func rowsNamed(c *mcpconfig.Config, only []string) ([]mcpconfig.Row, error) {
	for _, id := range only {
		if !slices.ContainsFunc(c.Rows, func(r mcpconfig.Row) bool { return r.Server.ID == id }) {
			return nil, command.NoServer(c, id, func(o config.Server) bool { return o.ID == id })
		}
	}
	return show.Where(c.Rows, func(r mcpconfig.Row) bool {
		return len(only) == 0 || slices.Contains(only, r.Server.ID)
	}), nil
}

// doctor examines the servers of a configuration.
type doctor struct {
	show.Streams
	config  *mcpconfig.Config
	rows    []mcpconfig.Row
	trust   bool
	paths   string // the flags --mcp, for a command that a step suggests
	all     bool   // the command line names no server
	probes  map[string]*probe
	mounted *interop.Mounted
	tokens  *signin.Tokens
	failed  error // the fault of the first server that is not well
}

// open starts all servers that may start. If a server has no timeout for connecting or listing, it gets the default.
func (d *doctor) open() {
	d.tokens = signin.Open(d.Streams)
	d.probes = map[string]*probe{}
	var servers []config.Server
	for _, r := range d.rows {
		if r.State == mcpconfig.Active && !r.Server.Single {
			d.probes[r.Server.ID] = &probe{row: r, settled: make(chan struct{}), tokens: d.tokens}
			server := r.Server
			server.Timeouts.Connect, server.Timeouts.List = max(0, server.Timeouts.Connect), max(0, server.Timeouts.List)
			servers = append(servers, server)
		}
	}
	d.mounted = interop.Mount(context.Background(), servers, &interop.MountOptions{
		FleetOptions: interop.FleetOptions{
			Restart:  interop.Restart{Off: true},
			Endpoint: func(server config.Server) *interop.EndpointOptions { return d.probes[server.ID].options() },
			// No tool is called.
			Admit: func(context.Context, config.Server, string) (string, error) { return "doctor calls no tools", nil },
		},
		Wait:   -1,
		Budget: -1,
		Events: func(e interop.Event) {
			if e.Kind == interop.ServerReady || e.Kind == interop.ServerFaulted {
				d.probes[e.Server].settle()
			}
		},
	})
}

func (d *doctor) close() {
	d.mounted.Close()
	d.tokens.Close()
}

// examine examines all parts in order, and waits for each server. If asText is true, it prints a part once it is done.
func (d *doctor) examine(ctx context.Context, asText bool) (*fullReport, error) {
	r := &fullReport{General: d.generalSteps(ctx), Servers: []*serverReport{}, Together: []step{}}
	out := printer{d.Streams}
	if !asText {
		out.Out = io.Discard
	}
	if err := out.part("general", r.General, ""); err != nil {
		return nil, err
	}
	for _, row := range d.rows {
		one, err := d.server(ctx, row)
		if err != nil {
			return nil, err
		}
		r.Servers = append(r.Servers, one)
		if err := out.server(one); err != nil {
			return nil, err
		}
	}
	(&command.LedgerFlags{}).See(ctx, d.mounted.Fleet, d.Streams)
	if together := d.sharedSteps(); together != nil {
		r.Together = together
		if err := out.part("\ntogether", together, ""); err != nil {
			return nil, err
		}
	}
	r.OK = len(r.failedParts()) == 0
	return r, out.summary(r.Servers)
}

// verdict returns an error with the names of all parts that are not well, and the exit code of the first such server.
func (d *doctor) verdict(r *fullReport) error {
	if r.OK {
		return nil
	}
	code := command.ExitFault
	if d.failed != nil {
		code = command.ExitCode(d.failed)
	}
	return &command.ExitError{Code: code, Err: errors.New("not well: " + strings.Join(r.failedParts(), ", "))}
}

// await waits until a server settles. Meanwhile it draws the progress of all servers on the terminal.
func (d *doctor) await(ctx context.Context, p *probe) error {
	select {
	case <-p.settled:
		return nil
	default:
	}
	stop := command.WatchLive(d.mounted.Fleet, d.Streams)
	defer stop()
	select {
	case <-p.settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
