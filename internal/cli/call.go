package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

func newCall(s streams) *cobra.Command {
	var flags configFlags
	var whole string
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "call TOOL [ARGUMENT]...",
		Short:             "Call a tool and print what it gives",
		Long:              callHelp,
		ValidArgsFunction: flags.completeServers(interop.Qualifier, cobra.ShellCompDirectiveNoSpace),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("mcp call needs the name of a tool: indus mcp tools lists them")
			}
			if whole == "" && cmd.Flags().Changed("args") {
				return usage("--args is empty: no arguments at all are '{}'")
			}
			a, err := parseArguments(args[1:], whole, inlet(cmd.Context(), s.in))
			if err != nil {
				return err
			}
			return call(cmd.Context(), &flags, args[0], a, asJSON, s)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&whole, "args", "", "all arguments as one JSON object")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as the server sent it")
	return cmd
}

const callHelp = `Call a tool, by the name that "indus mcp tools" shows, and print what it gives:
text as text, JSON as JSON, images and other media described.

Usage:
  indus mcp call [FLAG]... TOOL [ARGUMENT]...

Arguments:
  key=value    typed by the tool's schema: 5 is a number where one is asked for,
               and text where text is allowed
  key:=json    as it is
  @file        a whole JSON object from a file
  -            a whole JSON object from stdin
  Keys that are given one by one replace those of a whole object.

Flags:
  --args JSON  a whole JSON object
  --json       print the result as the server sent it, byte for byte` + configFlagsHelp + `

A session:
  $ indus mcp call everything__echo message=hi
  Echo: hi
  $ indus mcp call everything__get-sum a=2 b=40
  The sum of 2 and 40 is 42.
  $ indus mcp call fs__read_multiple_files 'paths:=["a.txt","b.txt"]'
  $ echo '{"message":"hi"}' | indus mcp call everything__echo -
  $ indus mcp call everything__get-tiny-image --json | jq -r .content[1].data | base64 -d >a.png

` + exitHelp

func call(ctx context.Context, flags *configFlags, name string, a *arguments, asJSON bool, s streams) error {
	mayOwn := func(o interop.Server) bool { return o.MayOwn(name) }
	c, err := flags.load(ctx, s, about(mayOwn))
	if err != nil {
		return err
	}
	servers, err := owners(c, mayOwn, s)
	if err != nil {
		return err
	}
	mounted, err := connect(ctx, servers, s)
	if err != nil {
		return err
	}
	defer mounted.Close()
	tool, err := find(mounted, name)
	if err != nil {
		return err
	}
	input, err := a.object(tool.Schema)
	if err != nil {
		return err
	}
	for _, doubt := range a.doubts(tool.Schema, input) {
		s.tell("%s: %s", clean(name), clean(doubt))
	}
	report, stop := watchProgress(s)
	out := mounted.Box.Run(ctx, toolbox.Call{Name: name, Input: input, Progress: report})
	stop()
	if out.Err != nil {
		return explain(out.Err)
	}
	if asJSON {
		err = s.writeJSON(out.Result.Wire().JSON)
	} else {
		err = s.writeResult(out.Result)
	}
	if err == nil && out.IsError {
		return &exitError{exitToolFailed, fmt.Errorf("%s: the tool failed", name)}
	}
	return err
}

// owners are the servers that may have a tool: one call need not wait for all
// of them. Where none may they are all of them, for the names that are near.
func owners(c *mcpconfig.Config, mayOwn func(interop.Server) bool, s streams) ([]interop.Server, error) {
	all := c.Servers()
	may := slices.DeleteFunc(slices.Clone(all), func(o interop.Server) bool { return !mayOwn(o) })
	if len(may) > 0 {
		return may, nil
	}
	if row, ok := idle(c, mayOwn); ok {
		return nil, notStarted(row)
	}
	tellHeld(c, s)
	return all, nil
}

// find is the tool of that name, or why there is none: its server is down, it
// cannot be used, or the name is not quite right.
func find(mounted *interop.Mounted, name string) (toolbox.Descriptor, error) {
	var known []string
	for _, d := range mounted.Box.Snapshot("").Tools {
		if d.Name == name {
			return d, nil
		}
		known = append(known, d.Name)
	}
	for _, st := range mounted.Fleet.Status() {
		if st.Fault != nil && (interop.Server{ID: st.Server}).MayOwn(name) {
			return toolbox.Descriptor{}, explain(st.Fault)
		}
	}
	for _, q := range mounted.Fleet.Quarantined() {
		if !q.Published && interop.QualifiedName(q.Server, q.Tool) == name {
			return toolbox.Descriptor{}, usage("%s", q.String())
		}
	}
	near := didYouMean(name, known)
	if near == "" {
		near = "; indus mcp tools lists them"
	}
	return toolbox.Descriptor{}, usage("%w%s", &toolbox.UnknownTool{Name: name}, near)
}
