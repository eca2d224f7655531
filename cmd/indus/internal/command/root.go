package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/proc"
	"github.com/spf13/cobra"
)

// slowEnd is the time after which a slow shutdown is reported.
const slowEnd = 500 * time.Millisecond

// sameSignal is the time in which a second signal counts as the first. No person is that fast.
const sameSignal = 200 * time.Millisecond

// Tree returns the commands of indus for one run.
type Tree func(s show.Streams) Commands

// Commands holds the commands of indus.
type Commands struct {
	// Session adds the action of the root command, which runs if no command is given.
	Session func(root *cobra.Command, s show.Streams)
	// MCP holds the commands of "indus mcp". Own holds the commands beside "indus mcp".
	MCP, Own List
}

// List is a list of commands.
type List = []*cobra.Command

// Main runs the command line of this process, and exits.
func Main(tree Tree) { os.Exit(runProcess(tree)) }

func runProcess(tree Tree) int {
	defer proc.ReapOrphans()()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second signal ends the process at once. The terminal sends a signal to indus and to wrappers such as npx, and
	// the wrappers forward it. So one key press can arrive twice.
	ready := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, func() { stop(); close(ready) }) })
	s := show.New(os.Stdin, os.Stdout, os.Stderr)
	s.LogAll()
	return runReady(ctx, ready, os.Args[1:], s, tree)
}

// Run is like Main for the given arguments, and returns the exit code. The end of ctx counts as an interruption.
func Run(ctx context.Context, args []string, s show.Streams, tree Tree) int {
	ready := make(chan struct{})
	close(ready)
	return runReady(ctx, ready, args, s, tree)
}

// runReady is like Run. After ctx has ended, ready is closed as soon as the next signal ends the process.
func runReady(ctx context.Context, ready <-chan struct{}, args []string, s show.Streams, tree Tree) int {
	root := NewRoot(s, tree)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	ended := reportSlowEnd(ctx, ready, s)
	cmd, err := root.ExecuteContextC(ctx)
	ended()
	if err == nil {
		err = s.HelpErr
	}
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = &ExitError{Code: exitInterrupted, Err: errors.New("interrupted")}
	}
	if own, ok := errors.AsType[*ExitError](err); !ok || !own.Said {
		s.Reportf("%s", err)
	}
	if !s.WroteJSON && wantsJSON(cmd, args) {
		_ = writeError(s, err)
	}
	return ExitCode(err)
}

// reportSlowEnd reports a slow shutdown after ctx has ended. It waits for ready, because it announces the second
// signal.
func reportSlowEnd(ctx context.Context, ready <-chan struct{}, s show.Streams) (ended func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(slowEnd):
			<-ready
			s.Reportf("stopping; a second signal does not wait for the servers")
		case <-done:
		}
	})
	return func() { stop(); close(done) }
}

// NewRoot returns the root command, indus.
func NewRoot(s show.Streams, tree Tree) *cobra.Command {
	root := &cobra.Command{
		Use:               "indus",
		Short:             "A gateway and command line for the tools of MCP servers",
		Long:              rootHelp,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              NoSuchCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: refuseEmpty,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { s.HelpErr = WriteHelp(s, cmd) })
	root.SetHelpCommand(newHelp(root, "mcp call"))
	root.SetFlagErrorFunc(badFlag)
	s.Log.Add(root)
	all := tree(s)
	all.Session(root, s)
	addVersionFlag(root, s)
	root.AddCommand(NewGroup(cobra.Command{
		Use: "mcp", Short: "Configure MCP servers, examine them and call their tools", Long: mcpHelp,
	}, all.MCP...), newCompletion(s), newVersion(s), newMan())
	root.AddCommand(all.Own...)
	for _, group := range root.Commands() {
		if below := group.Commands(); len(below) > 0 {
			group.AddCommand(newHelp(group, below[0].Name()))
		}
	}
	s.Commands = append(commandNames(root), "-h")
	return root
}

const rootHelp = `indus uses the tools of MCP servers and serves them to any MCP client. To begin,
type: indus mcp import (from your clients) or indus mcp add, then indus serve.

Usage:
  indus                        talk to an agent that has the tools
  indus -p TEXT                print one answer of the agent on stdout
  indus mcp add NAME ...       configure a server
  indus mcp find WORD...       search a registry for servers
  indus mcp import [CLIENT]    copy the servers of another MCP client
  indus mcp approve [SERVER]   approve servers of a project's file
  indus mcp ls                 show the configured servers and their state
  indus mcp doctor [SERVER]    find out why a server fails
  indus mcp tools [SERVER]     list the tools
  indus mcp call TOOL ...      call a tool; with -h, show its arguments
  indus mcp lint [SERVER]      check tool schemas against every model provider
  indus mcp -h                 list all commands about servers
  indus serve                  serve all servers at one endpoint
  indus connect [CLIENT]       connect another MCP client to serve
  indus page                   open the page of serve in a browser
  indus key add                create an API key for a client of serve
  indus policy -h              check and explain the rules for callers
  indus approvals              list the calls to serve that wait for a person
  indus audit                  print the recorded requests to serve
  indus op ls URL              list the tools of one server as operations
  indus completion SHELL       complete commands, servers and tools with Tab
  indus version                print the version, and with --check the newest
  indus COMMAND -h             the help of a command

A session:
  $ indus mcp add everything -- npx -y @modelcontextprotocol/server-everything
  indus: added everything at /home/me/.config/indusvx/mcp.json:3
  $ indus mcp ls
  SERVER      PHASE  ERA     MCP         TOOLS  TIME   BOX      SCOPE
  everything  ready  legacy  2025-11-25  13     361ms  package  user
  $ indus mcp call everything__echo message=hi
  Echo: hi
  $ git log --oneline | indus -p "What changed?" --model ollama/qwen3
  $ indus serve
  indus: serving at http://127.0.0.1:7332/mcp
  $ indus connect cursor

Flags of every command:` + logFlagsHelp + `

` + configurationHelp + `

` + exitHelp

const mcpHelp = `Configure MCP servers, examine them and call their tools.

Usage:
  indus mcp ls             show every server and its state
  indus mcp add NAME ...   configure a server
  indus mcp tools          list the tools of all servers
  indus mcp call TOOL ...  call a tool
  indus mcp doctor         find out why a server does not work
  indus mcp COMMAND -h     the help of a command

Configuration of servers:
  add import find outdated
  get enable disable remove approve
  login logout

Their tools, prompts and resources:
  tools call lint
  prompts prompt
  resources read complete

Their state and their changes:
  ls doctor watch
  log accept verify

A session:
  $ cat .indusvx/mcp.json
  {
    "servers": {
      "fs": {"command": "npx",
             "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]},
      "docs": {"url": "https://example.com/mcp",
               "headers": {"Authorization": "Bearer ${TOKEN}"}},
    },
  }
  $ indus mcp tools fs --trust
  $ indus mcp call fs__read_text_file path=README.md --trust

` + configurationHelp + `

` + exitHelp
