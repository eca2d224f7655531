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
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

type toolsFlags struct {
	configFlags
	asJSON, schema, original, long bool
	provider                       string
}

func newTools(s streams) *cobra.Command {
	var f toolsFlags
	cmd := &cobra.Command{
		Use:     "tools [SERVER|TOOL]",
		Aliases: []string{"tool"},
		Short:   "List the tools of every server, or of one",
		Long:    toolsHelp,
		Args:    atMost(1, "SERVER"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if offers, d := f.completeServers(1)(cmd, args, typed); len(offers) > 0 || len(args) > 0 {
				return offers, d
			}
			return f.completeTool(cmd, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, s)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print a JSON array")
	cmd.Flags().BoolVar(&f.long, "long", false, "print whole descriptions")
	cmd.Flags().BoolVar(&f.schema, "schema", false, "print what a model sees")
	cmd.Flags().StringVar(&f.provider, "provider", "", "for whom schemas are shaped")
	cmd.Flags().BoolVar(&f.original, "original", false, "print the owner's schema too, and what was changed")
	_ = cmd.RegisterFlagCompletionFunc("provider", completeProfiles())
	return cmd
}

const toolsHelp = `List the tools of every configured server, or of one: the name to call each by,
what it takes (a "?" marks what may be left out) and what it does. What is wrong
with a server, and what a server lists that cannot be used, stands on stderr.

With --schema it prints what a model sees of each tool instead: its name, its
description, and the schema of its parameters as it is shaped for the model's
provider.

Usage:
  indus mcp tools [FLAG]... [SERVER|TOOL]
  indus mcp tools --schema [--provider P] [--original] [FLAG]... [SERVER|TOOL]

Flags:
  --long        print whole descriptions; otherwise "…" is where there is more
  --schema      print what a model sees
  --provider P  with --schema, whose rules shape it (default: universal, which
                every provider accepts); "original" shapes nothing; others are in
                indus mcp lint -h
  --original    with --schema, print the owner's schema too, and what was changed
  --json        print a JSON array: an object a tool, with name, server and tool,
                which is the tool as its server wrote it; with --schema name,
                server, description, parameters, changes [{path, rule, did, lost,
                narrowed}], with --original original, and quarantined, the reason,
                where no model is shown it` + configFlagsHelp + `

A session:
  $ indus mcp tools --mcp servers.json
  everything  13 tools
    everything__echo(message: string)
        Echoes back the input string
    everything__get-sum(a: number, b: number)
        Returns the sum of two numbers
    …
  $ indus mcp tools --json | jq -r '.[].name'
  $ indus mcp tools --schema --original everything__get-sum

Exit codes:
  0    ok, though servers may be faulted; stderr names them
  1    the one SERVER, or every server, fails to list its tools
  2    usage: flags, files, and no such SERVER or TOOL
  3    the one SERVER, or every server, wants authorization
  4    the one SERVER, or every server, cannot be reached
  130  interrupted`

func (f *toolsFlags) run(ctx context.Context, words []string, s streams) error {
	p, err := f.profile()
	if err != nil {
		return err
	}
	servers, err := f.choose(ctx, words, ownsTool, s)
	if err != nil {
		return err
	}
	mounted, err := connect(ctx, servers, p, s)
	if err != nil {
		return err
	}
	defer mounted.Close()
	down := tellDown(mounted.Fleet, s)
	tellQuarantined(mounted.Fleet, s)
	shown := mounted.Box.Snapshot("")
	if len(shown.Held) > 0 {
		s.tell("%s", clean(keptBack(shown.Held...)))
	}
	all := shown.Tools
	if len(all) == 0 && down != nil {
		return &silentError{exitCode(down), down}
	}
	if len(words) > 0 && !slices.Contains(ids(servers), words[0]) {
		one, err := find(mounted, words[0])
		if err != nil {
			return err
		}
		all = []toolbox.Descriptor{one}
	}
	switch {
	case f.schema:
		return f.printSchemas(s, mounted.Box, p, all)
	case f.asJSON:
		return printToolsJSON(s, all)
	}
	return printSignatures(s, all, f.long)
}

// profile is what tools are shown with: as their owners wrote them, unless
// schemas are asked for.
func (f *toolsFlags) profile() (*schema.Profile, error) {
	switch {
	case f.schema && f.provider == "":
		return schema.Universal, nil
	case f.schema:
		return profileNamed(f.provider)
	case f.provider != "" || f.original:
		return nil, usage("--provider and --original are about schemas: add --schema")
	}
	return schema.Original, nil
}

// tellDown tells the person of the servers that are down. It returns a fault if
// there is one.
func tellDown(fleet *interop.Fleet, s streams) (down error) {
	for _, st := range fleet.Status() {
		if st.Fault != nil {
			down = explain(st.Fault)
			s.tell("%s", clean(down.Error()))
		}
	}
	return down
}

// tellMended tells the person of the tools that clients are not shown as they are.
func tellMended(fleet *interop.Fleet, s streams) {
	for _, q := range fleet.Quarantined() {
		if q.Mended {
			s.tell("%s", clean(q.String()))
		}
	}
}

// tellQuarantined tells the person of what was listed and cannot be used.
func tellQuarantined(fleet *interop.Fleet, s streams) {
	for _, q := range fleet.Quarantined() {
		if !q.Mended {
			s.tell("%s", clean(unfit(q)))
		}
	}
}

// unfit says what a quarantine means: some tools cannot be called, others are
// only kept from models.
func unfit(q interop.Quarantine) string {
	if q.Published && !q.Mended {
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
	return s.writeIndented(rows)
}

func printSignatures(s streams, all []toolbox.Descriptor, long bool) error {
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
			text := summarized(d.Description)
			if long {
				text = cleanLines(strings.TrimSpace(d.Description))
			}
			if text != "" {
				fmt.Fprintf(&b, "      %s\n", strings.ReplaceAll(text, "\n", "\n      "))
			}
		}
		all = all[n:]
	}
	_, err := fmt.Fprint(s.out, b.String())
	return err
}

// summarized is the first sentence of a description, with "…" where there is more: who looks at a
// tool must see that there is.
func summarized(s string) string {
	text := firstSentence(s)
	if text != strings.Join(strings.Fields(clean(s)), " ") && !strings.HasSuffix(text, "…") {
		text += " …"
	}
	return text
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
