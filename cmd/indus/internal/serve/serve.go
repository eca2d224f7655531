package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/cmd/indus/internal/telemetry"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

type serveFlags struct {
	command.ConfigFlags
	command.LedgerFlags
	admission
	replication
	changes, addr, expose     string
	transparent, tap, keyFile string
	metrics, policy, audit    string
	approvalExpire            time.Duration
	noLedger, stdio, builtins bool
	noPage                    bool
	exact, noValidate, lazy   bool
	listWait, drain, idle     time.Duration
	memory                    int // in MiB
	page                      int
	rate                      float64 // requests per second
}

func New(s show.Streams) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", SuggestFor: []string{"start", "run", "gateway", "proxy", "server"},
		Short: "Serve the tools of all servers as one MCP server",
		Long:  serveHelp,
		Args:  command.AtMost(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			err := runServe(cmd.Context(), &f, s)
			if err == nil && !f.stdio {
				s.Reportf("stopped")
			}
			return err
		},
	}
	f.ConfigFlags.Add(cmd)
	f.LedgerFlags.Add(cmd)
	f.admission.add(cmd)
	f.replication.add(cmd)
	cmd.Flags().BoolVar(&f.noLedger, "no-ledger", false, "do not use or write the ledger")
	cmd.Flags().StringVar(&f.changes, "changes", string(config.AcceptChanges), `POLICY  what to do with a tool that is
		new or changed since its server was approved: accept (a warning), hold (hold it back until "indus mcp
		accept"), deny (hold it back); the stricter of this and the configuration's "changes" is used (default:
		accept)`)
	cmd.Flags().StringVar(&f.addr, "addr", defaultAddr, `HOST:PORT  listen on this address; port 0 is any free port.
		Other addresses than loopback need --auth or a token (default: 127.0.0.1:7332)`)
	cmd.Flags().BoolVar(&f.stdio, "stdio", false, "serve one client on stdin and stdout instead")
	cmd.Flags().BoolVar(&f.builtins, "builtins", false, "serve the built-in tools besides the tools of servers")
	cmd.Flags().StringVar(&f.expose, "expose", exposeAll, `WHAT  all: every tool (default); or gateway: four tools
		(search, schema, call and batch) that find and run the others`)
	cmd.Flags().StringVar(&f.transparent, "transparent", "", `SERVER  serve one server unchanged: its own names,
		capabilities and instructions, with nothing added`)
	cmd.Flags().StringVar(&f.tap, "tap", "", `FILE  write all messages of clients and servers to a file that only you
		can read, with secrets masked, as JSON lines; at 64 MiB it is renamed to FILE.1`)
	cmd.Flags().StringVar(&f.metrics, "metrics", "", `HOST:PORT  the address at which Prometheus reads metrics, at
		/metrics; a host or a port is enough (default: none; without a port 9464, without a host 127.0.0.1)`)
	cmd.Flags().StringVar(&f.policy, "policy", "", `PATH  a file or a directory of Cedar rules for what callers may do
		(default: "policy" of the configuration; without any, everything is permitted)`)
	cmd.Flags().StringVar(&f.audit, "audit", "", `FILE  record each request as a JSON line (default: "audit" of the
		configuration; without any, nothing is recorded)`)
	cmd.Flags().DurationVar(&f.approvalExpire, "approval-expire", 0, `TIME  how long a call waits for the approval of
		a person, and how long the approval is then valid (default: "approvals" of the configuration, or 10m)`)
	cmd.Flags().BoolVar(&f.noPage, "no-page", false, "do not serve the page at /")
	cmd.Flags().StringVar(&f.keyFile, "key-file", "", `FILE  keys that encrypt data which clients hold (ids of sessions
		and tasks, states of requests), one per line: the first encrypts, all decrypt; changes are followed, and
		it is created if missing (default: indus/serve.keys beside the ledger)`)
	_ = cmd.MarkFlagFilename("key-file")
	cmd.Flags().BoolVar(&f.noValidate, "no-validate", false, `with --expose gateway, forward arguments even if they
		do not fit the tool's schema`)
	cmd.Flags().IntVar(&f.page, "page", 0, `N  the number of tools on a page of tools/list; many clients read only one
		page (default: 0, which is all)`)
	cmd.Flags().BoolVar(&f.exact, "exact", false, `send tools and results as servers wrote them, even if clients refuse
		the whole list; otherwise unreadable entries are left out, and reported`)
	cmd.Flags().IntVar(&f.memory, "memory", 256, `MIB  the memory for all messages that are held; messages beyond it
		are refused (default: 256)`)
	cmd.Flags().Float64Var(&f.rate, "rate", 0, `N  the requests per second that a caller may send on average, and twice
		as many at once, ten at least; more are refused with HTTP 429 (default: 0, which is any number)`)
	cmd.Flags().DurationVar(&f.listWait, "list-wait", 3*time.Second, `TIME  with --stdio, how long the first
		tools/list waits for servers that are not ready and not in the ledger, because many clients list only once; 0
		does not wait (default: 3s). Lists of prompts and resources wait until the same time after the start`)
	cmd.Flags().DurationVar(&f.drain, "drain", 10*time.Second, `TIME  how long calls in flight may take at the end; then
		they are answered with an error; 0 does not wait (default: 10s)`)
	cmd.Flags().BoolVar(&f.lazy, "lazy", false, "start each server when it is first needed, if the ledger has its tools")
	cmd.Flags().DurationVar(&f.idle, "idle", 0, `TIME  end a server that was unused for TIME: no request,
		subscription, task or open question, even if it holds state for an open session. Its tools stay listed, and
		the next use starts it (default: 0, which is never)`)
	_ = cmd.RegisterFlagCompletionFunc("changes", cobra.FixedCompletions(policies, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("transparent", f.CompleteServers(1))
	_ = cmd.RegisterFlagCompletionFunc("expose", cobra.FixedCompletions([]string{
		exposeAll + "\tevery tool",
		exposeGateway + "\tsearch, schema, call and batch instead of all tools",
	}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// policies are the values of --changes.
var policies = []string{string(config.AcceptChanges), string(config.HoldChanges), string(config.DenyChanges)}

// check refuses invalid values and combinations of flags.
func (f *serveFlags) check(cmd *cobra.Command) error {
	switch {
	case f.stdio && cmd.Flags().Changed("addr"):
		return command.Exclude("--stdio", "--addr")
	case f.noLedger && cmd.Flags().Changed("ledger"):
		return command.Exclude("--no-ledger", "--ledger")
	case f.approvalExpire < 0:
		return command.Usagef("--approval-expire %v: it is how long a call waits for approval, such as 10m", f.approvalExpire)
	case f.drain < 0:
		return command.Usagef("--drain %v: it is how long calls in flight may take at the end; 0 does not wait", f.drain)
	case f.idle < 0:
		return command.Usagef("--idle %v: it is how long an unused server keeps running; 0 is for good", f.idle)
	case !(f.rate >= 0) || f.stdio && cmd.Flags().Changed("rate"):
		return command.Usagef("--rate %v: it is how many requests a second a caller may send over HTTP; 0 is any number",
			f.rate)
	case f.page < 0:
		return command.Usagef("--page %d: it is a number of tools, or 0 for all", f.page)
	case !slices.Contains(exposures, f.expose):
		return command.Usagef("--expose %q: it is one of %s%s", f.expose, strings.Join(exposures, ", "),
			command.DidYouMean(f.expose, exposures))
	case !slices.Contains(policies, f.changes):
		return command.Usagef("--changes %q: it is one of %s%s", f.changes, strings.Join(policies, ", "),
			command.DidYouMean(f.changes, policies))
	}
	if f.transparent != "" {
		for _, name := range []string{"expose", "builtins", "no-validate", "page"} {
			if cmd.Flags().Changed(name) {
				return command.Usagef("--transparent and --%s exclude each other: clients see only the server", name)
			}
		}
	}
	if err := f.admission.check(cmd); err != nil {
		return err
	}
	if err := f.replication.check(cmd); err != nil {
		return err
	}
	if f.metrics != "" {
		if _, err := telemetry.CheckAddress(f.metrics); err != nil {
			return command.AsUsage(err)
		}
	}
	if f.memory < 1 {
		return command.Usagef("--memory %d: give a number of MiB, such as 256", f.memory)
	}
	return nil
}

const serveHelp = `Serve all configured servers as one MCP server: over streamable HTTP, both eras of the
protocol at one URL, or on stdin and stdout. It answers at once. Each server is added when
it is ready, and is restarted if it ends. Without any configuration, or with --builtins,
it has tools of its own, which read files below the working directory: read, ls, grep and
find (in the home directory and above only with --builtins).

Usage:
  indus serve [FLAG]...

Flags:
  --addr --stdio --mcp --auth --policy --audit --expose --lazy

Each path is a view, with clients and lists of its own:
  /mcp          everything, under names with the server in front (server__name)
  /mcp/SERVER   one server, under its own names
  /mcp/@NAME    the view NAME of "views" in the configuration
  /sse          the same for clients that know only HTTP+SSE; also below it

It reads its files again when they change, and on SIGHUP. Calls to unchanged servers
continue, an invalid file changes nothing, and a server starts when it is approved with
"indus mcp approve". The live tools are recorded in a ledger that all processes of the
user share: see "indus mcp log" and "indus mcp watch". It ends, with all its servers, on
Ctrl-C and SIGTERM, and with --stdio when stdin ends.

Authentication of clients:
  --token-file --insecure --allow-host --allow-origin --public-url --issuer --audience --scope

Approval of calls and of changed tools:
  --approval-expire --changes --trust

The tools that clients see:
  --builtins --transparent --page --exact --no-validate --list-wait

Server lifecycle and limits:
  --idle --drain --memory --rate
  The entry of a server in the configuration has precedence over --idle.

Files and records:
  --ledger --no-ledger --key-file --tap

Several processes behind a load balancer:
  --cluster --replica --peer --peer-key-file --peer-tls --ready-delay

The page for operators, and telemetry:
  --no-page --metrics
  Traces are configured by the variables OTEL_* of OpenTelemetry.

A session:
  $ indus serve --mcp servers.json
  indus: serving at http://127.0.0.1:7332/mcp
  indus: to connect a client: indus connect CLIENT
  indus: everything: ready, 13 tools (MCP 2025-11-25, 361ms)
  $ indus connect cursor                    # in another terminal
  $ indus connect claude-desktop --stdio    # it starts indus itself

Exit codes:
  0    stopped by a signal, or by the end of stdin
  1    it cannot listen, or something unforeseen
  2    usage: flags and files
  4    the cluster cannot be reached, or lacks something`

// runServe serves until ctx ends, or until the client on stdin closes it.
func runServe(ctx context.Context, f *serveFlags, s show.Streams) error {
	p := &process{serveFlags: f, s: s, logger: s.Logger(), ctx: ctx, alive: context.WithoutCancel(ctx)}
	defer p.stop()
	for _, start := range serveParts {
		if err := start(p); err != nil {
			return err
		}
	}
	serving, stopDelay := f.delay(p.ctx, p.gateway, s)
	defer stopDelay()
	defer context.AfterFunc(serving, f.singles.resign)()
	if p.site != nil {
		defer context.AfterFunc(serving, func() { p.site.Close(); p.endVisits() })()
	}
	err := p.clients.serve(serving, p.gateway, p.front.connectCommand(p.clients), s)
	if errors.Is(err, context.DeadlineExceeded) {
		if f.drain > 0 {
			s.Reportf("calls in flight were given up after %v", f.drain)
		}
		err = nil
	}
	if err != nil {
		return &command.ExitError{Code: command.ExitFault, Err: err}
	}
	return nil
}

// zeroAsNone converts 0 for an option that uses its default for 0, and -1 for none.
func zeroAsNone(d time.Duration) time.Duration { return cmp.Or(d, -1) }

// read reads the configuration of all servers, or of the transparent server.
func (f *serveFlags) read(ctx context.Context, s show.Streams) (*mcpconfig.Config, error) {
	if f.transparent == "" {
		c, err := f.Load(ctx, s, command.UnexpectedNotes)
		if err == nil {
			command.ReportHeld(c, s)
		}
		return c, err
	}
	isTransparent := func(o config.Server) bool { return o.ID == f.transparent }
	f.Only = func(id string) bool { return id == f.transparent }
	c, err := f.Load(ctx, s, command.NotesAbout(isTransparent))
	if err == nil && len(c.Servers()) == 0 {
		err = command.NoServer(c, f.transparent, isTransparent)
	}
	return c, err
}

// inBackground starts a goroutine. stop cancels its context and waits for it.
func inBackground(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() { cancel(); running.Wait() }
}

// elicitSignIn implements gateway.Options.SignIn. If the server's connections are per principal, so are its tokens.
func elicitSignIn(
	ctx context.Context, t *signin.Tokens, g *gateway.Gateway, server string, p toolbox.Principal, opened bool,
) (string, error) {
	s, ok := g.Attached().Fleet.Server(server)
	principal := ""
	switch {
	case !ok:
		return "", errors.New("no such server: " + server)
	case s.Pool.Per == config.PerPrincipal:
		principal = string(p)
	case t.Site != nil:
		return "", errors.New("all callers share one sign-in, which a client may not give")
	}
	return t.Elicit(ctx, s, principal, opened)
}
