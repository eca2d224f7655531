// Package cli is the indus command: one file a command, with its help text.
// stdout is data, stderr is for the person, and every way to end has its exit
// code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// patience is how long an end may take before the person is told that it does.
const patience = 500 * time.Millisecond

// sameSignal is how long a second signal counts as the first: no person is as quick.
const sameSignal = 200 * time.Millisecond

// streams is where a command reads and writes, and what its run comes to.
type streams struct {
	in       io.Reader
	out, err io.Writer
	*state
}

// state is what all parts of one run share.
type state struct {
	log    logFlag
	wrote  bool  // JSON, on stdout
	failed error // in a help text, for which cobra has no error
}

// tell writes a line for the person.
func (s streams) tell(format string, args ...any) {
	fmt.Fprintf(s.err, "indus: "+format+"\n", args...)
}

// Main runs the command line of this process and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second signal ends the process at once. Wrappers (npx) send on what the terminal
	// has sent to them and to us, so that one wish comes twice.
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
	return run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr, &state{}})
}

// run is Main for the arguments args. The context's end is an interruption.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	ended := s.tellSlowEnd(ctx)
	cmd, err := root.ExecuteContextC(ctx)
	ended()
	if err == nil {
		err = s.failed
	}
	if err == nil {
		return exitOK
	}
	var quiet *silentError
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = &exitError{exitInterrupted, errors.New("interrupted")}
		s.tell("interrupted")
	case !errors.As(err, &quiet):
		s.tell("%s", clean(err.Error()))
	}
	if !s.wrote && wantsJSON(cmd, args) {
		_ = s.writeError(err)
	}
	return exitCode(err)
}

// tellSlowEnd tells the person what takes so long once ctx has ended.
func (s streams) tellSlowEnd(ctx context.Context) (ended func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(patience):
			s.tell("stopping; a second signal does not wait for the servers")
		case <-done:
		}
	})
	return func() { stop(); close(done) }
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:               "indus",
		Short:             "MCP servers' tools in, and out again",
		Long:              rootHelp,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              noSuchCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { s.failed = s.writeHelp(cmd) })
	root.SetHelpCommand(newHelp())
	root.SetFlagErrorFunc(badFlag)
	root.Flags().Bool("version", false, "which indus this is") // or else it is -v too
	s.log.add(root)
	root.SetVersionTemplate("indus {{.Version}}\n")
	root.AddCommand(newMCP(s), newServe(s), newOp(s), newCompletion(s), newVersion(s), newMan())
	return root
}

const rootHelp = `indus brings the tools of MCP servers into a terminal or a program, and puts
them out again to any MCP client: many servers behind one endpoint.

Usage:
  indus mcp add NAME ...             configure a server
  indus mcp import [CLIENT]          take over those of another MCP client
  indus mcp approve [SERVER]...      let those of a project's file start
  indus mcp ls                       which servers are configured, and do they work?
  indus mcp doctor [SERVER]...       why does a server not work?
  indus mcp tools [SERVER]           what tools do they have?
  indus mcp call TOOL [ARGUMENT]...  call one; with -h: what does it take?
  indus mcp lint [SERVER]...         does every model provider take them?
  indus mcp -h                       the other commands about servers
  indus serve                        one endpoint for all of them
  indus op ls URL                    the tools of one server as operations
  indus completion SHELL             complete commands, servers and tools with Tab
  indus version                      which indus this is
  indus COMMAND -h                   all about a command

Flags of every command:` + logFlagsHelp + `

A session:
  $ indus mcp add everything -- npx -y @modelcontextprotocol/server-everything
  indus: added everything at /home/me/.config/indusvx/mcp.json:3
  indus: try it: indus mcp tools everything, or where it fails indus mcp doctor everything
  $ indus mcp ls
  SERVER      PHASE  ERA     MCP         TOOLS  TIME   SCOPE  TARGET
  everything  ready  legacy  2025-11-25  13     361ms  user   npx -y @modelconte…
  $ indus mcp call everything__echo message=hi
  Echo: hi
  $ indus serve
  indus: serving at http://127.0.0.1:7332/mcp

` + configurationHelp + `

` + exitHelp
