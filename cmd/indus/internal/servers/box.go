package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

// newSandbox returns the command mcp sandbox.
func newSandbox(s show.Streams) *cobra.Command {
	return command.NewGroup(cobra.Command{
		Use: "sandbox", SuggestFor: []string{"box", "confine"},
		Short: "Limit what a server can reach", Long: sandboxHelp,
	}, newBoxTest(s), newBoxAllow(s), newBoxRun(s), newBoxAttack(s))
}

const sandboxHelp = `Limit the files, hosts, ports and sockets that a server can reach. "sandbox" in its
row has them: "strict" (its own files, the system's and a home of its own, no host),
"package" (the registries of npx, uvx and the like too), or an object. It needs Linux
and a user other than root. docs/sandbox.md begins with the ways that stay open.

A session:
  $ indus mcp sandbox allow fs --base strict --read ~/docs
  indus: + sandbox: {"base":"strict","read":["/home/me/docs"]}
  indus: changed fs at /home/me/.config/indusvx/mcp.json:4
  $ indus mcp sandbox test fs
  fs  strict +1 path  14 tools
  $ indus mcp ls

Exit codes:
  0    ok
  1    fault
  2    usage: flags, files, and no such NAME
  130  interrupted`

// boxRules are the flags that add to a sandbox.
type boxRules struct {
	base                               string
	read, write, hosts, listen, socket []string
}

func (f *boxRules) addTo(cmd *cobra.Command, base string) {
	flags := cmd.Flags()
	flags.StringVar(&f.base, "base", "", "BASE  "+base)
	flags.Var(command.Repeated(&f.hosts), "host", "HOST:PORT  a host to which it can connect; may be repeated")
	flags.Var(command.Repeated(&f.read), "read", "PATH  a file or directory that it can read; may be repeated")
	flags.Var(command.Repeated(&f.write), "write", "PATH  a file or directory that it can change; may be repeated")
	flags.Var(command.Repeated(&f.listen), "listen", "PORT  a TCP port that it can open, 0 for any; may be repeated")
	flags.Var(command.Repeated(&f.socket), "socket", "PATH  a Unix socket to which it can connect; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("base", cobra.FixedCompletions(boxWords[:2], cobra.ShellCompDirectiveNoFileComp))
}

// added returns a sandbox as it is written, with what the flags add. box is the sandbox so far, a word or an object.
func (f *boxRules) added(box json.RawMessage) (json.RawMessage, error) {
	if f.base != "" && !slices.Contains(boxWords[:2], f.base) {
		return nil, command.Usagef("--base %s is unknown: it is strict or package", f.base)
	}
	object := box
	if word, isWord := wire.Unquote(box); isWord {
		object = wire.Object{}.Text("base", word).JSON()
	}
	lists := map[string][]json.RawMessage{}
	for key, texts := range map[string][]string{"read": f.read, "write": f.write, "hosts": f.hosts, "sockets": f.socket} {
		for _, t := range texts {
			lists[key] = append(lists[key], wire.Quote(t))
		}
	}
	for _, port := range f.listen {
		lists["listen"] = append(lists["listen"], json.RawMessage(port))
	}
	if f.base != "" {
		edited, err := wire.Rewrite(object, wire.Edit{Key: "base", Value: wire.Quote(f.base)})
		if err != nil {
			return nil, err
		}
		object = edited
	}
	for _, key := range []string{"read", "write", "hosts", "listen", "sockets"} {
		if lists[key] == nil {
			continue
		}
		there, _ := wire.Elements(memberOf(object, key))
		for _, value := range lists[key] {
			if !slices.ContainsFunc(there, func(o json.RawMessage) bool { return string(o) == string(value) }) {
				there = append(there, value)
			}
		}
		list, err := json.Marshal(there)
		if err != nil {
			return nil, command.Usagef("--listen takes a port")
		}
		if object, err = wire.Rewrite(object, wire.Edit{Key: key, Value: list}); err != nil {
			return nil, err
		}
	}
	if members, _ := wire.Members(object); len(members) == 1 && members[0].Key == "base" {
		return members[0].Value, nil
	}
	return object, nil
}

type allowFlags struct {
	scopeFlags
	boxRules
}

func newBoxAllow(s show.Streams) *cobra.Command {
	var f allowFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "allow NAME", SuggestFor: []string{"add", "set"},
		Short: "Let a server in a sandbox reach more", Long: boxAllowHelp,
		Args: command.Needs(1, "the name of a server: indus mcp ls shows them all", "NAME"),
		ValidArgsFunction: command.Complete(1, func(ctx context.Context) []string {
			c, err := f.scopeFlags.read(ctx)
			if err != nil {
				return nil
			}
			return f.ids(c, func(r mcpconfig.Row) bool { return r.Kind == config.KindStdio })
		}),
	})
	f.addTo(cmd, "strict or package: the sandbox of a server that has none, or in place of its base")
	f.addJSON(cmd, editJSONHelp)
	f.addNarrowing(cmd)
	return cmd
}

const boxAllowHelp = `Add to "sandbox" in the row of a server, in the file where it is configured. The
difference is shown, and the file's comments stay. With --base, a server without a sandbox
gets one. If the file belongs to a project, the server then waits for approval, and your
own "sandboxProject" must allow the sandbox.

A session:
  $ indus mcp sandbox allow github --host api.github.com:443
  indus: - sandbox: "package"
  indus: + sandbox: {"base":"package","hosts":["api.github.com:443"]}
  indus: changed github at /home/me/.config/indusvx/mcp.json:4

Exit codes:
  0    ok` + changeExitHelp

func (f *allowFlags) run(ctx context.Context, args []string, s show.Streams) error {
	name := args[0]
	var diff []string
	row, err := f.change(ctx, name, s, func(e *mcpconfig.Edit) error {
		d, ok := e.Definition(name)
		if !ok || !hasMember(d.JSON, "command") {
			return command.Usagef("%s is no command: only a process has a sandbox", name)
		}
		before := boxOf(d.JSON)
		if before == nil || string(before) == `"off"` || string(before) == "null" {
			if before = nil; f.base == "" {
				return command.Usagef("%s has no sandbox of its own: give it one with --base package, or --base strict", name)
			}
		}
		for _, paths := range [][]string{f.boxRules.read, f.write, f.socket} {
			for i, p := range paths {
				var err error
				if paths[i], err = (&addFlags{scopeFlags: f.scopeFlags}).filePath(p); err != nil {
					return err
				}
			}
		}
		so := before
		if so == nil {
			so = json.RawMessage("{}")
		}
		after, err := f.added(so)
		if err != nil {
			return err
		}
		changed, err := wire.Rewrite(d.JSON, wire.Edit{Key: boxField, Value: after})
		if err != nil {
			return err
		}
		diff = differingMembers(d.JSON, changed)
		if err := e.Set(mcpconfig.Definition{ID: name, JSON: changed}); err != nil {
			return err
		}
		if wrong, _ := e.Check(name, dryOptions()); len(wrong) > 0 && wrong[0].State == mcpconfig.Skipped {
			return command.Usagef("%s: %s", name, command.JoinHint(wrong[0].Reason, wrong[0].Hint))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, line := range diff {
		s.Reportf("%s", line)
	}
	if len(diff) == 0 {
		s.Reportf("%s has it already, at %s:%d", name, row.File, row.Line)
	} else {
		s.Reportf("changed %s at %s:%d", name, row.File, row.Line)
	}
	c, err := f.scopeFlags.read(ctx)
	if err != nil {
		return err
	}
	if r, ok := c.Find(name, f.inScope); ok && r.State == mcpconfig.Held {
		s.Reportf("it waits for approval: indus mcp approve %s", show.ShellWord(name))
	}
	return f.printEdited(ctx, editResult{
		Server: name, Did: "changed", Changed: len(diff) > 0, File: row.File, Line: row.Line,
	}, s)
}

type boxTestFlags struct {
	command.ServerFlags
	asJSON bool
}

func newBoxTest(s show.Streams) *cobra.Command {
	var f boxTestFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "test NAME", SuggestFor: []string{"check", "try"},
		Short: "Start a server in its sandbox, and show refused connections", Long: boxTestHelp,
		Args:              command.Needs(1, "the name of a server: indus mcp ls shows them all", "NAME"),
		ValidArgsFunction: f.CompleteServers(1),
	})
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print a JSON object: server, box, sandbox, tools, denied, fault, try")
	f.Add(cmd)
	return cmd
}

const boxTestHelp = `Start a server in its sandbox, list its tools, and show which connections were refused.
Files that it may not read fail inside of the server: the end of its stderr is shown if it
does not start. No tool is called.

A session:
  $ indus mcp sandbox test github
  github  package  26 tools
    github: connect to t.example.com:443: not in its sandbox. Add it: …

Exit codes:
  0    the server starts and lists its tools
  1    it does not
  2    usage: flags, files, no such NAME, and a server without a sandbox
  130  interrupted`

// boxReport is the output of sandbox test.
type boxReport struct {
	Server  string          `json:"server"`
	Box     string          `json:"box"`
	Sandbox *config.Sandbox `json:"sandbox"`
	Tools   int             `json:"tools"`
	Denied  []string        `json:"denied"`
	Fault   string          `json:"fault,omitempty"`
	Try     string          `json:"try,omitempty"`
}

func (f *boxTestFlags) run(ctx context.Context, args []string, s show.Streams) error {
	servers, err := f.Choose(ctx, args, command.IsServer, s)
	if err != nil {
		return err
	}
	server := servers[0]
	t, _ := server.Transport.(config.Stdio)
	if t.Sandbox == nil {
		return command.Usagef("%s has no sandbox: indus mcp sandbox allow %s --base package gives it one", server.ID,
			show.ShellWord(server.ID))
	}
	e := interop.NewEndpoint(server, nil)
	defer e.Close()
	var listed []toolbox.Descriptor
	failed := e.Open(ctx)
	if failed == nil {
		listed, failed = e.Tools(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r := boxReport{Server: server.ID, Box: command.BoxInForce(t.Sandbox), Sandbox: t.Sandbox, Tools: len(listed),
		Denied: append([]string{}, e.Denied()...)}
	if fault := e.Status().Fault; fault != nil {
		r.Fault, r.Try = fault.Error(), fault.Advice()
	} else if failed != nil {
		r.Fault = failed.Error()
	}
	var p show.Page
	p.Printf("%s  %s  %s\n", r.Server, r.Box, show.Count(r.Tools, "tool"))
	for _, line := range slices.Concat(command.BoxLines(t.Sandbox), r.Denied) {
		p.Printf("  %s\n", strings.TrimSpace(line))
	}
	if err := s.PrintOr(f.asJSON, r, &p); err != nil || failed == nil {
		return err
	}
	return &command.ExitError{Err: fmt.Errorf("%w", failed), Try: r.Try}
}
