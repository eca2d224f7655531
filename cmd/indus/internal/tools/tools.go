package tools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

// Commands returns the commands about tools, prompts and resources.
func Commands(s show.Streams) []*cobra.Command {
	return []*cobra.Command{
		newTools(s), newCall(s), newLint(s), newPrompts(s), newPrompt(s), newResources(s), newRead(s), newComplete(s),
	}
}

type toolsFlags struct {
	command.ServerFlags
	asJSON, schema, original, long bool
	provider                       string
}

func newTools(s show.Streams) *cobra.Command {
	var f toolsFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "tools [SERVER|TOOL]", Aliases: []string{"tool"}, Short: "List the tools of every server, or of one",
		Long: toolsHelp,
		Args: command.AtMost(1, "SERVER"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if offers, d := f.CompleteServers(1)(cmd, args, typed); len(offers) > 0 || len(args) > 0 {
				return offers, d
			}
			return completeTool(&f.ServerFlags, cmd, typed)
		},
	})
	cmd.Flags().BoolVar(&f.long, "long", false, `print whole descriptions; otherwise "…" marks omitted text`)
	cmd.Flags().BoolVar(&f.schema, "schema", false, "print each tool as a model gets it")
	cmd.Flags().StringVar(&f.provider, "provider", "",
		`P  with --schema, the provider to adapt the schema for (default: universal, which
		every provider accepts); "original" changes nothing; indus mcp lint -h lists all`)
	cmd.Flags().BoolVar(&f.original, "original", false,
		"with --schema, print the server's own schema too, and the changes")
	cmd.Flags().BoolVar(&f.asJSON, "json", false,
		`print a JSON array with one object per tool: name, server and tool, which is the tool as
		its server wrote it; with --schema name, server, description, parameters, changes [{path, rule, did, lost, narrowed}],
		with --original original, and quarantined, the reason if the tool is held back from models`)
	f.Add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("provider", command.CompleteProfiles())
	return cmd
}

const toolsHelp = `List the tools of every configured server, or of one: the name of each,
its arguments (a "?" marks optional ones) and its description. Faults of servers, and
tools that cannot be used, are reported on stderr.

With --schema, it prints each tool as a model gets it: its name, its description, and
the schema of its parameters, adapted for the model's provider.

Usage:
  indus mcp tools [FLAG]... [SERVER|TOOL]
  indus mcp tools --schema [--provider P] [--original] [FLAG]... [SERVER|TOOL]

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
  3    the one SERVER, or every server, requires authorization
  4    the one SERVER, or every server, cannot be reached
  130  interrupted`

func (f *toolsFlags) run(ctx context.Context, words []string, s show.Streams) error {
	p, err := f.profile()
	if err != nil {
		return err
	}
	servers, err := f.Choose(ctx, words, command.OwnsTool, s)
	if err != nil {
		return err
	}
	mounted, err := f.Connect(ctx, servers, p, s)
	if err != nil {
		return err
	}
	defer mounted.Close()
	down := command.ReportDown(mounted.Fleet, s)
	command.ReportQuarantined(mounted.Fleet, false, s)
	shown := mounted.Box.Snapshot("")
	if len(shown.Held) > 0 {
		s.Reportf("%s", f.HeldBack(shown.Held...))
	}
	all := shown.Tools
	if len(all) == 0 && down != nil {
		return command.Said(down)
	}
	if len(words) > 0 && !slices.Contains(command.IDs(servers), words[0]) {
		one, err := findTool(mounted, words[0], &f.ServerFlags)
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
	counted := func(tools []toolbox.Descriptor) string { return show.Count(len(tools), "tool") }
	return printByServer(s, servers, all, func(d toolbox.Descriptor) string { return d.Server }, counted,
		func(d toolbox.Descriptor) (string, string) {
			title := arguments.ToolSignature(d)
			if own := d.OwnName(); own != "" {
				title += "  " + show.MediaLabel("named", own)
			}
			if f.long {
				return title, show.CleanLines(strings.TrimSpace(d.Description))
			}
			return title, show.Summary(d.Description)
		})
}

// profile returns the profile of the shown schemas. Without --schema, tools are shown as received.
func (f *toolsFlags) profile() (*schema.Profile, error) {
	switch {
	case f.schema && f.provider == "":
		return schema.Universal, nil
	case f.schema:
		return command.ProfileNamed(f.provider)
	case f.provider != "" || f.original:
		return nil, command.Usagef("--provider and --original are about schemas: add --schema")
	}
	return schema.Original, nil
}

// printToolsJSON prints each tool as received from its server.
func printToolsJSON(s show.Streams, all []toolbox.Descriptor) error {
	type row struct {
		Name   string          `json:"name"`
		Server string          `json:"server"`
		Tool   json.RawMessage `json:"tool"`
	}
	rows := make([]row, len(all))
	for i, d := range all {
		rows[i] = row{d.Name, d.Server, d.Wire.JSON}
	}
	return s.WriteIndented(rows)
}

// printByServer prints a list by server: the server with a count, then a title and a text for each row. If there are no
// rows, it reports that of the servers.
func printByServer[T any](
	s show.Streams, servers []config.Server, all []T, server func(T) string, counted func([]T) string,
	row func(T) (title, text string),
) error {
	if len(all) == 0 && len(servers) > 0 {
		s.Reportf("%s: %s", show.List(command.IDs(servers), show.MaxNamed, "servers"), counted(nil))
	}
	var p show.Page
	for id, group := range show.GroupBy(all, server) {
		if p.Len() > 0 {
			p.Printf("\n")
		}
		p.Printf("%s  %s\n", id, counted(group))
		for _, r := range group {
			title, text := row(r)
			p.Printf("  %s\n", title)
			for line := range strings.Lines(text) {
				p.Printf("      %s\n", strings.TrimRight(line, "\n"))
			}
		}
	}
	return s.Print(&p)
}

// shownTool is a tool as a model sees it, in the output of --json.
type shownTool struct {
	Name        string          `json:"name"`
	Server      string          `json:"server"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // null if the tool is hidden from models
	Original    json.RawMessage `json:"original,omitempty"`
	Changes     []schema.Change `json:"changes"`
	Quarantined string          `json:"quarantined,omitempty"`
}

// printSchemas prints tools of a box as models see them.
func (f *toolsFlags) printSchemas(s show.Streams, box *toolbox.Box, p *schema.Profile, all []toolbox.Descriptor) error {
	descriptions := ForModels(box)
	shown := make([]shownTool, len(all))
	for i, d := range all {
		shown[i] = shownTool{
			Name: d.Name, Server: d.Server, Description: descriptions[d.Name], Parameters: d.Parameters,
			Changes: append([]schema.Change{}, d.Changes...), Quarantined: Reason(d.Excluded),
		}
		if f.original {
			shown[i].Original = d.Schema
		}
	}
	if f.asJSON {
		return s.WriteIndented(shown)
	}
	var out show.Page
	for i, t := range shown {
		if i > 0 {
			out.Printf("\n")
		}
		t.write(&out, p)
	}
	return s.Print(&out)
}

// write writes a tool for a person.
func (t shownTool) write(out *show.Page, p *schema.Profile) {
	out.Printf("%s\n", t.Name)
	for line := range strings.Lines(strings.TrimSpace(show.CleanLines(t.Description))) {
		out.Printf("    %s\n", strings.TrimRight(line, " \t\n"))
	}
	block := func(raw json.RawMessage) { // on its own lines, and safe for a terminal
		out.WriteString("    " + strings.ReplaceAll(show.IndentJSON(show.EscapeHarmful(raw)), "\n", "\n    ") + "\n")
	}
	if t.Quarantined != "" {
		out.Printf("  no model is shown it: %s\n", t.Quarantined)
	} else {
		out.Printf("  parameters (%s)\n", p.Name())
		block(t.Parameters)
	}
	if t.Original == nil {
		return
	}
	out.Printf("  original\n")
	block(t.Original)
	var done remarks
	for _, c := range t.Changes {
		done.addChange(c)
	}
	for i, m := range done {
		if i == 0 {
			out.Printf("  changes\n")
		}
		out.Printf("    %s\n", m)
	}
}
