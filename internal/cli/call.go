package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/validate"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

type callFlags struct {
	configFlags
	whole              string
	asJSON, noValidate bool
}

func newCall(s streams) *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:               "call TOOL [ARGUMENT]...",
		SuggestFor:        []string{"exec", "invoke", "use"},
		Short:             "Call a tool and print what it gives",
		Long:              callHelp,
		ValidArgsFunction: f.completeCall,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("mcp call needs the name of a tool: indus mcp tools lists them")
			}
			if f.whole == "" && cmd.Flags().Changed("args") {
				return usage("--args is empty: no arguments at all are '{}'")
			}
			a, err := parseArguments(args[1:], f.whole, inlet(cmd.Context(), s.in))
			if err != nil && !strings.Contains(args[0], interop.Qualifier) && !strings.Contains(args[1], "=") {
				return usage("%w; a tool has its server in its name: indus mcp call %s", err, shellWord(args[0]+interop.Qualifier+args[1]))
			}
			if err != nil {
				return err
			}
			return f.call(cmd.Context(), args[0], a, s)
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if words := cmd.Flags().Args(); len(words) > 0 {
			s.failed = f.help(cmd.Context(), words[0], s)
		} else {
			s.failed = s.writeHelp(cmd)
		}
	})
	f.add(cmd)
	cmd.Flags().StringVar(&f.whole, "args", "", "all arguments as one JSON object")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the result as the server sent it")
	cmd.Flags().BoolVar(&f.noValidate, "no-validate", false, "send arguments that do not fit the tool's schema too")
	return cmd
}

const callHelp = `Call a tool, by the name that "indus mcp tools" shows, and print what it gives:
text as text, JSON as JSON, images and other media described.

Usage:
  indus mcp call [FLAG]... TOOL [ARGUMENT]...
  indus mcp call TOOL --help                    what does this tool take?

Arguments:
  key=value    typed by the tool's schema: 5 is a number where one is asked for,
               and text where text is allowed
  key:=json    as it is
  {…}          a whole JSON object, as --args takes it
  @file        a whole JSON object from a file
  -            a whole JSON object from stdin
  Keys that are given one by one replace those of a whole object.

  What does not fit the tool's schema is refused before the server is asked.

Flags:
  --args JSON  a whole JSON object
  --json       print the result as the server sent it, byte for byte
  --no-validate
               send arguments that do not fit the schema too: the server judges` + configFlagsHelp + `

A session:
  $ indus mcp call everything__echo message=hi
  Echo: hi
  $ indus mcp call everything__get-sum a=2 b=40
  The sum of 2 and 40 is 42.
  $ indus mcp call everything__get-sum a=2
  indus: everything__get-sum: the arguments do not fit; see -h, or send them with --no-validate
    /: missing required "b" (number)
  $ indus mcp call fs__read_multiple_files 'paths:=["a.txt","b.txt"]'
  $ echo '{"message":"hi"}' | indus mcp call everything__echo -
  $ indus mcp call everything__get-tiny-image --json | jq -r .content[1].data | base64 -d >a.png

` + exitHelp

// mount connects the servers that may have a tool, and finds it. The caller closes
// what it gets.
func (f *callFlags) mount(ctx context.Context, name string, s streams) (*connected, toolbox.Descriptor, error) {
	none := toolbox.Descriptor{}
	mayOwn := func(o interop.Server) bool { return o.MayOwn(name) }
	f.only = func(id string) bool { return mayOwn(interop.Server{ID: id}) }
	c, err := f.load(ctx, s, about(mayOwn))
	if err == nil && len(c.Servers()) == 0 { // what all have helps to say what was meant
		f.only = nil
		c, err = f.read(ctx)
	}
	if err != nil {
		return nil, none, err
	}
	servers, err := owners(c, mayOwn, s)
	if err != nil {
		return nil, none, err
	}
	mounted, err := connect(ctx, servers, schema.Original, s)
	if err != nil {
		return nil, none, err
	}
	tool, err := find(mounted, name)
	if err != nil {
		mounted.Close()
	}
	return mounted, tool, err
}

func (f *callFlags) call(ctx context.Context, name string, a *arguments, s streams) error {
	mounted, tool, err := f.mount(ctx, name, s)
	if err != nil {
		return err
	}
	defer mounted.Close()
	input, err := a.object(tool.Schema)
	if err != nil {
		return err
	}
	for _, doubt := range a.unknown(tool.Schema) {
		s.tell("%s: %s", clean(name), clean(doubt))
	}
	report, stop := watchProgress(s)
	r, err := f.run(ctx, mounted.Box, toolbox.Call{Name: name, Input: input, Progress: report})
	stop()
	if misfit, ok := errors.AsType[*validate.Error](err); ok {
		return s.misfit(name, misfit)
	}
	if err != nil {
		return explain(err)
	}
	if f.asJSON {
		err = s.writeJSON(r.Wire().JSON)
	} else {
		err = s.writeResult(r)
	}
	if err == nil && r.IsError() {
		return &exitError{exitToolFailed, fmt.Errorf("%s: the tool failed", name)}
	}
	return err
}

// run calls the tool: by the door that validates, or the one that leaves that to
// the server.
func (f *callFlags) run(ctx context.Context, box *toolbox.Box, c toolbox.Call) (*toolbox.Result, error) {
	if f.noValidate {
		return box.Do(ctx, c)
	}
	out := box.Run(ctx, c)
	return out.Result, out.Err
}

// misfit tells what is wrong with the arguments, a line each.
func (s streams) misfit(name string, e *validate.Error) error {
	var b strings.Builder
	for line := range strings.Lines(e.Error()) {
		b.WriteString("\n  " + clean(strings.TrimRight(line, "\n")))
	}
	s.tell("%s: the arguments do not fit; see -h, or send them with --no-validate%s", clean(name), b.String())
	return &silentError{exitUsage, &advisedError{e, "indus mcp call " + shellWord(name) + " -h shows what it takes"}}
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
func find(mounted *connected, name string) (toolbox.Descriptor, error) {
	var known []string
	for _, d := range mounted.Box.Snapshot("").Tools {
		if d.Name == name {
			return d, nil
		}
		known = append(known, d.Name)
	}
	if slices.Contains(mounted.Box.Snapshot("").Held, name) {
		return toolbox.Descriptor{}, errors.New(keptBack(name))
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
