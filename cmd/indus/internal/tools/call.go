package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/validate"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

type callFlags struct {
	command.ServerFlags
	argsJSON           string
	asJSON, noValidate bool
}

func newCall(s show.Streams) *cobra.Command {
	var f callFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "call TOOL [ARGUMENT]...", SuggestFor: []string{"exec", "invoke", "use"},
		Short: "Call a tool and print its result", Long: callHelp, ValidArgsFunction: f.completeCall,
		Args: command.Needs(1, "the name of a tool: indus mcp tools lists them", ""),
	})
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if words := cmd.Flags().Args(); len(words) > 0 {
			s.HelpErr = f.help(cmd.Context(), words[0], s)
		} else {
			s.HelpErr = command.WriteHelp(s, cmd)
		}
	})
	cmd.Flags().StringVar(&f.argsJSON, "args", "", "JSON  a whole JSON object")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, rawJSONHelp)
	cmd.Flags().BoolVar(&f.noValidate, "no-validate", false,
		"send arguments even if they do not fit the schema")
	f.Add(cmd)
	return cmd
}

func (f *callFlags) run(ctx context.Context, args []string, s show.Streams) error {
	a, err := arguments.Parse(args[1:], f.argsJSON, command.FileReader(ctx, s.In))
	isSplit := len(args) > 1 && !strings.Contains(args[0], config.Qualifier) && !strings.Contains(args[1], "=")
	if err != nil && isSplit {
		return command.Usagef("%w; a tool has its server in its name: indus mcp call %s", err,
			show.ShellWord(args[0]+config.Qualifier+args[1]))
	}
	if err != nil {
		return err
	}
	return f.call(ctx, args[0], a, s)
}

const callHelp = `Call a tool, by the name that "indus mcp tools" shows, and print its result:
text as text, JSON as JSON, images and other media described.

Usage:
  indus mcp call [FLAG]... TOOL [ARGUMENT]...
  indus mcp call TOOL --help                    show the arguments of the tool

` + arguments.Help + `

  Arguments that do not fit the tool's schema are refused before the call is sent.

A session:
  $ indus mcp call everything__echo message=hi
  Echo: hi
  $ indus mcp call everything__get-sum a=2 b=40
  The sum of 2 and 40 is 42.
  $ indus mcp call everything__get-sum a=2
  indus: everything__get-sum: the arguments do not fit; see -h, or …
    /: missing required "b" (number)
  $ indus mcp call fs__read_multiple_files 'paths:=["a.txt","b.txt"]'
  $ echo '{"message":"hi"}' | indus mcp call everything__echo -
  $ indus mcp call everything__get-tiny-image --json |
      jq -r .content[1].data | base64 -d >a.png`

// mount connects the servers that may have a tool, and finds the tool. The caller closes the connection.
func (f *callFlags) mount(
	ctx context.Context, name string, s show.Streams,
) (*command.Connection, toolbox.Descriptor, error) {
	servers, err := serversFor(ctx, &f.ServerFlags, name, s)
	if err != nil {
		return nil, toolbox.Descriptor{}, err
	}
	mounted, err := f.Connect(ctx, servers, schema.Original, s)
	if err != nil {
		return nil, toolbox.Descriptor{}, err
	}
	tool, err := findTool(mounted, name, &f.ServerFlags)
	if err != nil {
		mounted.Close()
	}
	return mounted, tool, err
}

// serversFor returns the servers that may own a name, so that a call does not wait for the others. If there are none,
// it returns all servers, so that the error can suggest similar names.
func serversFor(ctx context.Context, f *command.ServerFlags, name string, s show.Streams) ([]config.Server, error) {
	mayOwn := func(o config.Server) bool { return o.MayOwn(name) }
	f.Only = func(id string) bool { return mayOwn(config.Server{ID: id}) }
	c, err := f.Load(ctx, s, command.NotesAbout(mayOwn))
	if err == nil && len(c.Rows)+len(c.Notes) == 0 { // which Load has reported
		return nil, &command.ExitError{Code: command.ExitUsage, Err: errors.New("no servers"), Said: true}
	}
	if err == nil && len(c.Servers()) == 0 { // all servers are needed to suggest names
		f.Only = nil
		c, err = f.ConfigFlags.Read(ctx)
	}
	if err != nil {
		return nil, err
	}
	servers := c.Servers()
	if own := show.Where(servers, mayOwn); len(own) > 0 {
		return own, nil
	}
	if row, ok := command.IdleRow(c, mayOwn); ok {
		return nil, command.NotStarted(row)
	}
	command.ReportHeld(c, s)
	return servers, nil
}

func (f *callFlags) call(ctx context.Context, name string, a *arguments.Input, s show.Streams) error {
	mounted, tool, err := f.mount(ctx, name, s)
	if err != nil {
		return err
	}
	defer mounted.Close()
	name = tool.Name
	input, err := a.Object(tool.Schema)
	if err != nil {
		return err
	}
	for _, warning := range a.Unknown(tool.Schema) {
		s.Reportf("note: %s: %s", name, warning)
	}
	report, stop := watchProgress(s)
	c := toolbox.Call{Name: name, Input: input, Progress: report}
	var r *toolbox.Result
	if f.noValidate { // the server validates
		r, err = mounted.Box.Do(ctx, c)
	} else {
		out := mounted.Box.Run(ctx, c)
		r, err = out.Result, out.Err
	}
	stop()
	if invalid, ok := errors.AsType[*validate.Error](err); ok {
		return reportInvalid(s, name, invalid)
	}
	if err != nil {
		return command.Explain(err)
	}
	if f.asJSON {
		err = s.WriteJSON(r.Wire().JSON)
	} else {
		err = writeResult(s, r)
	}
	if err == nil && r.IsError() {
		return &command.ExitError{Code: command.ExitToolFailed, Err: fmt.Errorf("%s: the tool failed", name)}
	}
	return err
}

// reportInvalid reports each fault in the arguments on its own line.
func reportInvalid(s show.Streams, name string, e *validate.Error) error {
	s.Reportf("%s: the arguments do not fit; see -h, or send them with --no-validate", name)
	for line := range strings.Lines(e.Error()) {
		fmt.Fprintf(s.Err, "  %s\n", show.Clean(strings.TrimRight(line, "\n")))
	}
	return &command.ExitError{
		Code: command.ExitUsage, Err: e, Try: "indus mcp call " + show.ShellWord(name) + " -h shows its arguments",
		Said: true,
	}
}

// findTool returns the tool with a name. If there is none, the error has the reason: the tool is held back, its server
// is down, the tool is quarantined, or no tool has this name.
func findTool(mounted *command.Connection, name string, f *command.ServerFlags) (toolbox.Descriptor, error) {
	shown := mounted.Box.Snapshot("")
	if d, ok := shown.Named(name); ok {
		return d, nil
	}
	if slices.Contains(shown.Held, name) {
		return toolbox.Descriptor{}, errors.New(f.HeldBack(name))
	}
	for _, st := range mounted.Fleet.Status() {
		if st.Fault != nil && (config.Server{ID: st.Server}).MayOwn(name) {
			return toolbox.Descriptor{}, command.Explain(st.Fault)
		}
	}
	for _, q := range mounted.Fleet.Quarantined() {
		if !q.Published && config.QualifiedName(q.Server, q.Tool) == name {
			return toolbox.Descriptor{}, command.Usagef("%s", q.String())
		}
	}
	unknown := &toolbox.UnknownTool{Name: name}
	near := cmp.Or(command.Suggest(unknown.Nearest(shown.Tools)), "; indus mcp tools"+f.RepeatPaths()+" lists them")
	return toolbox.Descriptor{}, command.Usagef("%w%s", unknown, near)
}

// watchProgress shows the progress of a call on a line of stderr: report draws it, stop clears it. If stderr is no
// terminal, report is nil.
func watchProgress(s show.Streams) (report func(toolbox.Progress), stop func()) {
	canvas := s.Canvas()
	if canvas == nil {
		return nil, func() {}
	}
	report = func(p toolbox.Progress) {
		text := fmt.Sprintf("%g", p.Done)
		if p.Total > 0 {
			text += fmt.Sprintf("/%g", p.Total)
		}
		canvas.Draw(func(int) []string { return []string{text + " " + show.Clean(p.Message)} })
	}
	return report, canvas.Clear
}

// writeResult prints a result: text as text, other blocks described, and the structured value unless a block shows it.
func writeResult(s show.Streams, r *toolbox.Result) error {
	for _, b := range r.Blocks() {
		if err := s.WriteText(blockText(b)); err != nil {
			return err
		}
	}
	if structured := r.StructuredBeside(); structured != nil {
		return s.WriteText(show.IndentJSON(structured))
	}
	return nil
}

// blockText returns a block as text. A block of unknown type is returned as JSON.
func blockText(b toolbox.Block) string {
	if text, ok := b.Shown(); ok {
		return text
	}
	if b.JSON != nil {
		return show.IndentJSON(b.JSON)
	}
	return show.IndentJSON(b.Wire.JSON)
}
