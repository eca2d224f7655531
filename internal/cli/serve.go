package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/standard"
	"github.com/spf13/cobra"
)

type serveFlags struct {
	configFlags
	addr     string
	stdio    bool
	builtins bool
	listWait time.Duration
	verbose  bool
}

func newServe(s streams) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Put the tools of all servers out, as one MCP server",
		Long:  serveHelp,
		Args:  atMost(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.stdio && cmd.Flags().Changed("addr") {
				return usage("--stdio and --addr exclude each other")
			}
			err := serve(cmd.Context(), &f, s)
			if err == nil && !f.stdio {
				s.tell("stopped")
			}
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.addr, "addr", defaultAddr, "where to listen")
	cmd.Flags().BoolVar(&f.stdio, "stdio", false, "serve on stdin and stdout")
	cmd.Flags().BoolVar(&f.builtins, "builtins", false, "publish the built-in tools too")
	cmd.Flags().DurationVar(&f.listWait, "list-wait", 5*time.Second, "how long the first tools/list waits on stdio")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "log everything to stderr")
	return cmd
}

const serveHelp = `Put the tools of all configured servers out as one MCP server: over streamable
HTTP, both eras of the protocol at one URL, or on stdin and stdout. It answers at
once, whatever the servers do: their tools are added as they become ready, and a
server that dies is started again. Where nothing is configured, or with
--builtins, it has tools of its own, which read files below the working
directory and nothing else: read, ls, grep, find.

It ends, with all its servers, on Ctrl-C and SIGTERM, and with --stdio when
stdin ends. A second Ctrl-C does not wait for them.

Usage:
  indus serve [FLAG]...

Flags:
  --addr HOST:PORT     where to listen; port 0 takes a free one (default:
                       127.0.0.1:7332, which only this machine can reach)
  --stdio              serve on stdin and stdout instead
  --builtins           publish the built-in tools beside those of the servers
  --list-wait TIME     with --stdio, how long the first tools/list waits for
                       servers that are not ready, because many clients list
                       once; 0 is not at all (default: 5s)
  -v, --verbose        log everything to stderr` + configFlagsHelp + `

A session:
  $ indus serve --mcp servers.json
  indus: serving at http://127.0.0.1:7332/mcp
  indus: to connect a client:
    claude mcp add --transport http indus http://127.0.0.1:7332/mcp
    {"mcpServers":{"indus":{"type":"http","url":"http://127.0.0.1:7332/mcp"}}}
  indus: everything: ready, 13 tools (MCP 2025-11-25, 361ms)

  A client that starts its servers itself:
    claude mcp add indus -- indus serve --stdio --mcp /home/me/servers.json
    {"mcpServers":{"indus":{"command":"indus","args":["serve","--stdio"]}}}

Exit codes:
  0    stopped by a signal, or by the end of stdin
  1    it cannot listen, or something unforeseen
  2    usage: flags and files`

func serve(ctx context.Context, f *serveFlags, s streams) error {
	// Whoever read our stderr may leave: that must not end everybody's tools.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	door, err := f.open(s)
	if err != nil {
		return err
	}
	c, err := f.load(ctx, s, unlessMeant)
	if err != nil {
		return err
	}
	tellHeld(c, s)
	logger := slog.New(slog.DiscardHandler)
	if f.verbose {
		logger = slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	mounted := interop.Mount(ctx, c.Servers(), &interop.MountOptions{
		Wait: -1, Logger: logger, Events: tellEvents(s),
		Profile: schema.Original, // a client adapts for its own provider
	})
	defer mounted.Close()
	box, err := published(c, f, mounted, s)
	if err != nil {
		return err
	}
	wait := f.listWait
	if wait == 0 {
		wait = -1 // the option's zero is its default
	}
	h := host.New(box, &host.Options{Logger: logger, ListWait: wait})
	defer h.Close()
	if err := door.serve(ctx, h, s); err != nil {
		return &exitError{exitFault, err}
	}
	return nil
}

// published is the mounted tools, and the built-in ones where they are wanted
// or there is nothing else.
func published(c *mcpconfig.Config, f *serveFlags, mounted *interop.Mounted, s streams) (*toolbox.Box, error) {
	nothing := len(c.Rows) == 0 && len(c.Notes) == 0
	if !nothing && !f.builtins {
		return mounted.Box, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	tc, err := toolbox.NewContext(dir)
	if err != nil {
		return nil, err
	}
	local := toolbox.NewRegistry(tc)
	local.Add(standard.ReadOnly()...)
	s.tell("the built-in tools read files below %s", clean(dir))
	return toolbox.NewBox(nil, local, mounted.Box), nil
}

// tellEvents writes a line for each server that comes or goes.
func tellEvents(s streams) func(interop.Event) {
	told := map[string]string{}
	return func(e interop.Event) {
		line := eventLine(e)
		if line == "" || told[e.Server] == line {
			return // a server that stays down says so once
		}
		told[e.Server] = line
		s.tell("%s: %s", clean(e.Server), clean(line))
		for _, q := range e.Quarantined {
			s.tell("%s", clean(unfit(q)))
		}
	}
}

func eventLine(e interop.Event) string {
	st := e.Status
	switch {
	case e.Kind == interop.ServerWithdrawn:
		return "its tools are withdrawn until it is back"
	case e.Kind == interop.ServerFaulted && st.Fault != nil:
		return strings.TrimPrefix(st.Fault.Error(), e.Server+": ") + "; " + advice(st.Fault)
	case e.Kind != interop.ServerReady && e.Kind != interop.ServerListed:
		return ""
	case st.Fault != nil:
		return "ready without tools: " + strings.TrimPrefix(st.Fault.Error(), e.Server+": ")
	}
	return fmt.Sprintf("ready, %s (MCP %s, %s)", plural(st.Tools, "tool"), st.Version, short(st.Took))
}
