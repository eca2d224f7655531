package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/toolbox"
)

// helpLimit bounds the wait for a server that has to say what its tool takes.
const helpLimit = 20 * time.Second

// help prints what a tool takes: as the ledger knows it, or else as its server says.
func (f *callFlags) help(ctx context.Context, name string, s show.Streams) error {
	known, err := recall(ctx, &f.ServerFlags)
	tool, _ := known.Find(name)
	heard := known.Heard[tool.Server]
	if err == nil && heard.IsZero() {
		ctx, cancel := context.WithTimeoutCause(ctx, helpLimit, &command.ExitError{Code: command.ExitUnreachable, Err: fmt.Errorf("%s: its server does not answer within %s", name, helpLimit)})
		defer cancel()
		var mounted *command.Connection
		if mounted, tool, err = f.mount(ctx, name, s); err == nil {
			mounted.Close()
		} else if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return err
	}
	return s.WriteText(toolHelp(tool, heard))
}

func toolHelp(d toolbox.Descriptor, heard time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, a tool of %s.\n", show.Clean(d.Name), show.Clean(d.Server))
	if d.Description != "" {
		b.WriteString("\n" + indentedText(d.Description, 2))
	}
	schema := signature.Parse(d.Schema).Resolved()
	params := schema.Parameters()
	fmt.Fprintf(&b, "\nUsage:\n  indus mcp call %s", show.ShellWord(show.Clean(d.Name)))
	for _, p := range params {
		if p.Required {
			b.WriteString(" " + show.ShellWord(show.Clean(p.Name)) + assignment(p.Schema) + "…")
		}
	}
	b.WriteString(" [ARGUMENT]...\n")
	if params != nil {
		b.WriteString("\nArguments (a \"?\" marks what may be left out):\n")
	}
	all := schema.Declarations(arguments.Style)
	for i, p := range params {
		b.WriteString("  " + show.Clean(all[i]) + "\n")
		b.WriteString(indentedText(p.Schema.String("description"), 6))
	}
	if params == nil {
		b.WriteString("\nIt declares no arguments.\n")
	}
	if !heard.IsZero() {
		fmt.Fprintf(&b, "\nThat is what %s said when it was last served, at %s.\n", show.Clean(d.Server), heard.Local().Format(show.TimeFormat))
	}
	b.WriteString("\nHow arguments are written, and the flags: indus mcp call -h\n")
	return b.String()
}

// assignment is how a value for that schema is given.
func assignment(s signature.Schema) string {
	for _, kind := range arguments.Wanted(s) {
		if kind == "array" || kind == "object" {
			return ":="
		}
	}
	return "="
}

// indentedText is a server's text in lines that fit, some columns in.
func indentedText(text string, in int) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(show.CleanLines(text))) {
		b.WriteString(show.Wrap(strings.TrimSpace(line), in) + "\n")
	}
	return b.String()
}
