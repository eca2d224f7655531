package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

func newTools(s streams) *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "tools [SERVER]",
		Short:             "List the tools of every server, or of one",
		Long:              toolsHelp,
		Args:              atMost(1, "SERVER"),
		ValidArgsFunction: flags.completeServers("", cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tools(cmd.Context(), &flags, args, asJSON, s)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

const toolsHelp = `List the tools of every configured server, or of one: the name to call each by,
what it takes (a "?" marks what may be left out) and what it does. What is wrong
with a server, and what a server lists that cannot be used, stands on stderr.

Usage:
  indus mcp tools [FLAG]... [SERVER]

Flags:
  --json       print a JSON array: an object a tool, with name, server and tool,
               which is the tool as its server wrote it` + configFlagsHelp + `

A session:
  $ indus mcp tools --mcp servers.json
  everything  13 tools
    everything__echo(message: string)
        Echoes back the input string
    everything__get-sum(a: number, b: number)
        Returns the sum of two numbers
    …
  $ indus mcp tools --json | jq -r '.[].name'

Exit codes:
  0    ok, though servers may be faulted; stderr names them
  1    the one SERVER, or every server, fails to list its tools
  2    usage: flags, files, and no such SERVER
  3    the one SERVER, or every server, wants authorization
  4    the one SERVER, or every server, cannot be reached
  130  interrupted`

func tools(ctx context.Context, flags *configFlags, only []string, asJSON bool, s streams) error {
	cares, wanted := unlessMeant, func(interop.Server) bool { return true }
	if len(only) > 0 {
		wanted = func(o interop.Server) bool { return o.ID == only[0] }
		cares = about(wanted)
	}
	c, err := flags.load(ctx, s, cares)
	if err != nil {
		return err
	}
	servers := slices.DeleteFunc(c.Servers(), func(o interop.Server) bool { return !wanted(o) })
	if len(only) == 0 {
		tellHeld(c, s)
	} else if len(servers) == 0 {
		return noServer(c, only[0], wanted)
	}
	mounted, err := connect(ctx, servers, s)
	if err != nil {
		return err
	}
	defer mounted.Close()
	down := tellFaults(mounted.Fleet, s)
	all := mounted.Box.Snapshot("").Tools
	if len(all) == 0 && down != nil {
		return &silentError{exitCode(down)}
	}
	if asJSON {
		return printToolsJSON(s, all)
	}
	return printSignatures(s, all)
}

func noServer(c *mcpconfig.Config, id string, wanted func(interop.Server) bool) error {
	if row, ok := idle(c, wanted); ok {
		return notStarted(row)
	}
	near := didYouMean(id, ids(c.Servers()))
	if near == "" {
		near = "; indus mcp ls shows them all"
	}
	return usage("no server %q is configured%s", id, near)
}

// tellFaults tells the person of the servers that are down, and of what was
// listed and cannot be used. It returns a fault if there is one.
func tellFaults(fleet *interop.Fleet, s streams) (down error) {
	for _, st := range fleet.Status() {
		if st.Fault != nil {
			down = explain(st.Fault)
			s.tell("%s", clean(down.Error()))
		}
	}
	for _, q := range fleet.Quarantined() {
		s.tell("%s", clean(unfit(q)))
	}
	return down
}

// unfit says what a quarantine means: some tools cannot be called, others are
// only kept from models.
func unfit(q interop.Quarantine) string {
	if q.Published {
		return fmt.Sprintf("%s: tool %q is not shown to models: %s", q.Server, q.Tool, q.Reason)
	}
	return q.String()
}

// printToolsJSON prints each tool with its owner's bytes.
func printToolsJSON(s streams, all []toolbox.Descriptor) error {
	type row struct {
		Name   string          `json:"name"`
		Server string          `json:"server"`
		Tool   json.RawMessage `json:"tool"`
	}
	rows := make([]row, len(all))
	for i, d := range all {
		rows[i] = row{d.Name, d.Server, d.Wire.JSON}
	}
	raw, err := indented(rows)
	if err != nil {
		return err
	}
	return s.writeJSON(raw)
}

func printSignatures(s streams, all []toolbox.Descriptor) error {
	var b strings.Builder
	for len(all) > 0 {
		server := all[0].Server
		n := slices.IndexFunc(all, func(d toolbox.Descriptor) bool { return d.Server != server })
		if n < 0 {
			n = len(all)
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s  %s\n", clean(server), plural(n, "tool"))
		for _, d := range all[:n] {
			fmt.Fprintf(&b, "  %s\n", clean(signature(d)))
			if text := firstSentence(d.Description); text != "" {
				fmt.Fprintf(&b, "      %s\n", text)
			}
		}
		all = all[n:]
	}
	_, err := fmt.Fprint(s.out, b.String())
	return err
}

// firstSentence is what a list has room for of a description.
func firstSentence(s string) string {
	s = strings.Join(strings.Fields(clean(s)), " ")
	for i := range len(s) {
		rest, ok := strings.CutPrefix(s[i:], ". ")
		if next, _ := utf8.DecodeRuneInString(rest); ok && i > 0 && !unicode.IsLower(next) {
			s = s[:i+1] // not after "e.g."
			break
		}
	}
	return cutText(s, 100)
}
