package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

// helpLimit bounds the wait for a server that has to list its tools before help can be printed.
const helpLimit = 20 * time.Second

// help prints the arguments of a tool. It takes the tool from the ledger, or else from its server.
func (f *callFlags) help(ctx context.Context, name string, s show.Streams) error {
	known, err := recallTools(ctx, &f.ServerFlags)
	tool, _ := known.Find(name)
	heard := known.Heard[tool.Server]
	if err == nil && heard.IsZero() {
		ctx, cancel := context.WithTimeoutCause(ctx, helpLimit, &command.ExitError{
			Code: command.ExitUnreachable, Err: fmt.Errorf("%s: its server does not answer within %s", name, helpLimit),
		})
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
	return s.WriteWrapped(toolHelp(tool, heard, min(helpWidth, show.WidthOf(s.Out, helpWidth))))
}

// helpWidth is the width of the texts of a server in the help of a tool. On a narrower terminal, its width is used.
const helpWidth = 80

func toolHelp(d toolbox.Descriptor, heard time.Time, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, a tool of %s.\n", show.Clean(d.Name), show.Clean(d.Server))
	if own := d.OwnName(); own != "" {
		fmt.Fprintf(&b, "Its server names it %s.\n", show.Clean(own))
	}
	if d.Description != "" {
		b.WriteString("\n" + indentedText(d.Description, 2, width))
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
		b.WriteString("\nArguments (a \"?\" marks optional ones):\n")
	}
	all := schema.Declarations(arguments.Style)
	for i, p := range params {
		b.WriteString("  " + show.Clean(all[i]) + "\n")
		b.WriteString(indentedText(p.Schema.String("description"), 6, width))
	}
	if params == nil {
		b.WriteString("\nIt declares no arguments.\n")
	}
	if !heard.IsZero() {
		fmt.Fprintf(&b, "\nThis is the tool as %s last listed it, at %s.\n", show.Clean(d.Server),
			show.Time(heard))
	}
	b.WriteString("\nHow arguments are written, and the flags: indus mcp call -h\n")
	return b.String()
}

// assignment returns the sign between a key and a value of a schema: ":=" or "=".
func assignment(s signature.Schema) string {
	for _, kind := range arguments.Wanted(s) {
		if kind == "array" || kind == "object" {
			return ":="
		}
	}
	return "="
}

// indentedText wraps the text of a server at width columns, and indents it by in columns.
func indentedText(text string, in, width int) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(show.CleanLines(text))) {
		b.WriteString(strings.Join(show.WrapTo(strings.TrimSpace(line), in, width), "\n") + "\n")
	}
	return b.String()
}

// recallTools returns the tools in the ledger of the servers that may start.
func recallTools(ctx context.Context, f *command.ServerFlags) (*command.Recalled, error) {
	c, err := f.ReadDry(ctx)
	if err != nil {
		return &command.Recalled{}, err
	}
	known, _ := f.Recall(ctx, c.Servers()) // an unreadable ledger counts as empty
	return known, nil
}

// completeTool completes tools in the ledger. It offers SERVER__ if several servers match, or for one without tools.
func completeTool(f *command.ServerFlags, cmd *cobra.Command, typed string) ([]string, cobra.ShellCompDirective) {
	known, _ := recallTools(cmd.Context(), f)
	var tools, matching, toolless []string
	for _, t := range known.Tools {
		tools = append(tools, withDescription(t.Name, t.Description))
	}
	for _, st := range known.Status {
		if word := st.Server + config.Qualifier; strings.HasPrefix(word, typed) || strings.HasPrefix(typed, word) {
			matching = append(matching, word)
			if st.Tools == 0 {
				toolless = append(toolless, word)
			}
		}
	}
	if len(matching) > 1 {
		tools, toolless = nil, matching
	}
	toolless = command.WithPrefix(typed, toolless)
	if len(toolless) > 0 {
		offers := append(command.WithPrefix(typed, tools), toolless...)
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return command.WithPrefix(typed, tools), cobra.ShellCompDirectiveNoFileComp
}

// completeCall completes the name of a tool, and then the arguments of that tool.
func (f *callFlags) completeCall(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const d = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 {
		return completeTool(&f.ServerFlags, cmd, typed)
	}
	if typed == "-" || strings.HasPrefix(typed, "@") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	known, _ := recallTools(cmd.Context(), &f.ServerFlags)
	tool, _ := known.Find(args[0])
	var offers []string
	for _, p := range signature.Parse(tool.Schema).Resolved().Parameters() {
		given := func(word string) bool {
			return strings.HasPrefix(word, p.Name+"=") || strings.HasPrefix(word, p.Name+":=")
		}
		switch sign := assignment(p.Schema); {
		case slices.ContainsFunc(args[1:], given):
		case strings.HasPrefix(typed, p.Name+"="):
			for _, v := range valueOffers(p.Schema) {
				offers = append(offers, p.Name+"="+v)
			}
			return command.WithPrefix(typed, offers), cobra.ShellCompDirectiveNoFileComp
		default:
			offers = append(offers, withDescription(p.Name+sign, p.Schema.String("description")))
		}
	}
	return command.WithPrefix(typed, offers), d
}

// valueOffers returns the values of a parameter if it is an enum or a boolean.
func valueOffers(s signature.Schema) (out []string) {
	for _, n := range s.List("enum") {
		value := string(signature.Raw(n))
		if text, ok := wire.Unquote([]byte(value)); ok {
			value = text
		}
		out = append(out, value)
	}
	if out == nil && slices.Contains(arguments.Wanted(s), "boolean") {
		return []string{"true", "false"}
	}
	return out
}

// withDescription adds the first sentence of a description to an offer.
func withDescription(offer, text string) string {
	return strings.TrimSuffix(offer+"\t"+show.FirstSentence(text), "\t")
}
