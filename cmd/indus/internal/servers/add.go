package servers

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

type addFlags struct {
	scopeFlags
	env, headers    []string
	cwd, transport  string
	timeout, idle   string
	lazy            bool
	profile         string
	inherit         bool
	allow, deny     []string
	set             []string
	disabled, force bool

	from, kind, registry string
	write                bool
	locks                bool

	box        newBox
	defaultBox bool   // no flag decides on the sandbox
	unboxed    string // why the row has none then
}

func newAdd(s show.Streams) *cobra.Command {
	var f addFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use:        "add [NAME] {URL | -- COMMAND [ARG]... | --from ENTRY}",
		SuggestFor: []string{"install", "new", "configure", "init"},
		Short:      "Write a server into a configuration file", Long: addHelp,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) < 2 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
	})
	flags := cmd.Flags()
	flags.VarP(command.Repeated(&f.env), "env", "e",
		`NAME=VALUE  a variable of the command's environment; NAME alone takes it
		from the environment of indus; may be repeated`)
	flags.VarP(command.Repeated(&f.headers), "header", "H", "'NAME: VALUE'  a header of the requests; may be repeated")
	flags.Var(command.Repeated(&f.allow), "allow", "PATTERN  use only tools that match, like 'read_*'; may be repeated")
	flags.Var(command.Repeated(&f.deny), "deny", "PATTERN  use all tools except the ones that match; may be repeated")
	flags.StringVar(&f.cwd, "cwd", "",
		`DIR  where the command is started (default: a project's in the project, any other in
		an empty directory of its own); in a project, a server of your own then waits for approval: give it
		'${workspaceFolder}', the project, as an argument instead`)
	flags.BoolVar(&f.inherit, "inherit-env", false,
		"give the command the whole environment, not only PATH, HOME and the locale")
	flags.StringVar(&f.transport, "transport", "",
		"T  stdio, http or sse (default: stdio for a command, and for a URL http, which falls back to sse)")
	flags.StringVar(&f.timeout, "timeout", "",
		"T  how long a request may take: 90s for each step, or by step, as in connect=30s,list=30s,call=5m,total=10m")
	flags.BoolVar(&f.lazy, "lazy", false, "indus serve starts it when it is first needed")
	flags.StringVar(&f.idle, "idle", "", "TIME  indus serve ends it when it was not used for this time, such as 10m")
	flags.StringVar(&f.profile, "profile", "", `P  how its tools' schemas are adapted for a model, one of `+
		strings.Join(command.ProfileNames(), ", "))
	f.box.addTo(cmd, `the reach of a command: package (default: its own files, the system's, and the
		registries of npx and uvx), strict (no host) or off (no limit): see indus mcp sandbox`)
	flags.Var(command.Repeated(&f.set), "set", `FIELD=VALUE  any field that docs/configuration.md has for a server:
		per=principal, instances=4, maxConcurrent=8, oauth.clientId=me, oauth.scopes='read write', oauth=false,
		forwardHeaders=X-Request-Id,X-Trace-Id, tools.rename.list_issues=issues; Tab completes fields; may be repeated`)
	flags.StringVar(&f.from, "from", "", `ENTRY  an entry of a registry, io.github.user/server@1.0.0 or without its
		version: see indus mcp find; --env gives the values that it needs`)
	flags.StringVar(&f.kind, "kind", "", "KIND  which package or remote of the entry: npm, pypi, oci, mcpb, http or sse")
	flags.StringVar(&f.registry, "registry", "", registryHelp)
	flags.BoolVar(&f.write, "write", false, "write the row of an entry without asking")
	flags.BoolVar(&f.locks, "lock", false, "lock the version of its package: see indus mcp lock")
	flags.BoolVar(&f.disabled, "disabled", false, "write it switched off")
	flags.BoolVar(&f.force, "force", false, "replace a server of that name")
	f.addJSON(cmd, editJSONHelp)
	f.addWriting(cmd)
	_ = cmd.RegisterFlagCompletionFunc("set", completeFields)
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("profile", command.CompleteProfiles())
	transports := []string{string(config.KindStdio), string(config.KindHTTP), string(config.KindSSE)}
	_ = cmd.RegisterFlagCompletionFunc("transport",
		cobra.FixedCompletions(transports, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

const addHelp = `Write a server into a configuration file, which keeps its comments and its order.
Nothing is started.

Usage:
  indus mcp add NAME [FLAG]... -- COMMAND [ARG]...
  indus mcp add NAME [FLAG]... URL
  indus mcp add [NAME] [FLAG]... --from ENTRY

Flags:
  --*

Secrets:
  ${VAR} in a value is replaced with the variable VAR each time the server starts,
  ${file:~/token} with the contents of a file, and ${cmd:pass show github} with the
  output of a program. In a shell, write them in single quotes.

An entry that this command writes into a project's file is approved. Later changes to
it need approval: see indus mcp approve.

A session:
  $ indus mcp add everything -- npx -y @modelcontextprotocol/server-everything
  indus: added everything at /home/me/.config/indusvx/mcp.json:3
  indus: everything runs in the sandbox "package": indus mcp sandbox test …
  indus: try it: indus mcp tools everything, or where it fails …
  $ indus mcp add github https://api.githubcopilot.com/mcp/ \
      --header 'Authorization: Bearer ${GITHUB_TOKEN}' \
      --deny 'delete_*' --project
  $ indus mcp add linear https://mcp.linear.app/mcp --set per=principal
  $ indus mcp add --from io.github.domdomegg/airtable-mcp-server
  io.github.domdomegg/airtable-mcp-server@1.7.3 of https://registry.…
  {
    "command": "npx",
    "args": ["-y", "airtable-mcp-server@1.7.3"],
    "env": {"AIRTABLE_API_KEY": "${AIRTABLE_API_KEY}"},
    "$from": "io.github.domdomegg/airtable-mcp-server@1.7.3",
    "sandbox": "package"
  }
  write airtable-mcp-server? [y/N] y

Exit codes:
  0    ok
  1    the file changed at the same moment: try again; or an entry cannot be used
  2    usage: flags, arguments and files; nothing was written
  4    a registry cannot be reached
  130  interrupted`

func (f *addFlags) run(ctx context.Context, args []string, s show.Streams) error {
	d, err := f.definition(ctx, args, s)
	if err != nil {
		return err
	}
	if f.locks { // it must not start before it is locked
		d.JSON = withLock(d.JSON)
	}
	path := ""
	verb, unset := "added", []mcpconfig.Note(nil)
	e, err := editFile(ctx, s, true, func() (string, error) { path, err = f.path(); return path, err },
		func(e *mcpconfig.Edit) error {
			if line := e.Line(d.ID); line > 0 {
				verb = "replaced"
				if !f.force {
					return command.Usagef("there is a server %q at %s:%d; --force replaces it", d.ID, path, line)
				}
			}
			var wrong []mcpconfig.Note
			for {
				if err := e.Set(d); err != nil {
					return err
				}
				wrong, unset = e.Check(d.ID, dryOptions())
				if len(wrong) == 0 || !f.isDefaultBox(d) || !isAboutBox(wrong[0]) {
					break
				}
				f.unboxed, d.JSON = command.JoinHint(wrong[0].Reason, wrong[0].Hint), withBox(d.JSON, "")
			}
			if len(wrong) > 0 { // unset variables are in unset only
				return command.Usagef("%s: %s", d.ID, command.JoinHint(wrong[0].Reason, wrong[0].Hint))
			}
			if f.disabled {
				return e.Enable(d.ID, false)
			}
			return nil
		})
	if err != nil {
		return err
	}
	s.Reportf("%s %s at %s:%d", verb, d.ID, path, e.Line(d.ID))
	if f.unboxed != "" {
		s.Reportf("%s has no sandbox: %s", d.ID, f.unboxed)
	} else if f.isDefaultBox(d) {
		s.Reportf(`%s runs in the sandbox "package": indus mcp sandbox test %s shows refused connections`, d.ID,
			show.ShellWord(d.ID)+f.repeatFlags())
	}
	for _, n := range unset {
		s.Reportf("%s: %s", d.ID, command.JoinHint(n.Reason, n.Hint))
	}
	reportPlainSecrets(d, path, s)
	if config.QualifiedName(d.ID, "t") != d.ID+config.Qualifier+"t" {
		s.Reportf("%s: its tools get names with a hash in them; a name of letters, digits, - and single _ keeps them plain",
			d.ID)
	}
	if f.locks {
		l := lockFlags{scopeFlags: scopeFlags{file: path, cmd: f.cmd}}
		if err := l.lock(ctx, d.ID, s); err != nil {
			s.Reportf("%s does not start before it is locked: indus mcp lock %s%s", d.ID, show.ShellWord(d.ID), f.repeatFlags())
			return err
		}
	}
	if err := f.finish(ctx, d.ID, path, e.Line(d.ID), s); err != nil {
		return err
	}
	return f.printEdited(ctx, editResult{Server: d.ID, Did: verb, Changed: true, File: path, Line: e.Line(d.ID)}, s)
}

// isDefaultBox reports whether a row has a sandbox that no flag names.
func (f *addFlags) isDefaultBox(d mcpconfig.Definition) bool {
	return f.defaultBox && boxOf(d.JSON) != nil
}

// finish approves the written row if it needs approval, and reports the state of the server and the next step.
func (f *addFlags) finish(ctx context.Context, id, path string, line int, s show.Streams) error {
	c, err := mcpconfig.Read(ctx, nil, dryOptions())
	if err != nil {
		return err
	}
	for _, r := range c.Rows {
		if r.Server.ID != id || r.Line != line || !command.SameFile(r.File, path) {
			continue
		}
		switch r.State {
		case mcpconfig.Held:
			if r.Project != "" {
				s.Reportf("%s: it %s; approve it in each project where you want it: indus mcp approve %s%s", id, r.Reason,
					show.ShellWord(id), f.repeatFlags())
				return nil
			}
			if r, err = c.Resolve(ctx, r); err == nil {
				err = mcpconfig.Approve(dryOptions(), r)
			}
			if err != nil {
				return err
			}
		case mcpconfig.Skipped:
			if r.Scope == mcpconfig.Project {
				s.Reportf("once that is set, approve it: indus mcp approve %s", show.ShellWord(id))
			}
			return nil
		case mcpconfig.Shadowed:
			s.Reportf("%s: not the one that counts: %s", id, r.Reason)
			return nil
		}
	}
	if f.disabled {
		s.Reportf("switch it on: indus mcp enable %s%s", show.ShellWord(id), f.repeatFlags())
		return nil
	}
	name := show.ShellWord(id) + f.repeatFlags()
	s.Reportf("try it: indus mcp tools %s, or where it fails indus mcp doctor %s", name, name)
	return nil
}

// definition returns the server that the command line describes.
func (f *addFlags) definition(ctx context.Context, args []string, s show.Streams) (mcpconfig.Definition, error) {
	d := mcpconfig.Definition{}
	if err := f.box.check(); err != nil {
		return d, err
	}
	for _, word := range slices.Concat(args, f.env, f.headers, f.allow, f.deny, f.set, []string{f.cwd}) {
		if !utf8.ValidString(word) {
			return d, command.Usagef("an argument is not UTF-8, as configuration files are")
		}
	}
	if f.from != "" {
		return f.fromRegistry(ctx, args, s)
	}
	for _, flag := range []string{"kind", "registry", "write"} {
		if f.cmd.Flags().Changed(flag) {
			return d, command.Usagef("--%s is for --from ENTRY", flag)
		}
	}
	name, address, words, err := addArguments(args, f.cmd.ArgsLenAtDash())
	if err != nil {
		return d, err
	}
	var row wire.Object
	if address != "" {
		row, err = f.urlRow(address)
	} else {
		row, err = f.commandRow(words)
	}
	if err != nil {
		return d, err
	}
	d.ID = name
	d.JSON, err = f.withSettings(row.Text("transport", f.transport))
	return d, err
}

// withSettings returns a row with the fields of the flags for any server.
func (f *addFlags) withSettings(row wire.Object) (json.RawMessage, error) {
	if f.timeout != "" {
		row = row.Raw("timeout", timeoutJSON(f.timeout))
	}
	if f.lazy {
		row = row.Raw("lazy", []byte("true"))
	}
	if f.idle != "" {
		row = row.Raw("idle", timeoutJSON(f.idle))
	}
	tools := wire.Object{}.Raw("allow", listOrNone(f.allow)).Raw("deny", listOrNone(f.deny))
	row = row.Raw("tools", objectOrNone(tools)).Text("profile", f.profile)
	out, err := setFields(row.JSON(), f.set)
	if err != nil {
		return nil, err
	}
	f.defaultBox = f.box.word == "" && boxOf(out) == nil
	out, f.unboxed, err = f.box.choose(out)
	return out, err
}

// addArguments splits the arguments into NAME, URL and COMMAND.
func addArguments(args []string, dash int) (name, address string, words []string, err error) {
	switch {
	case len(args) == 0 || dash == 0:
		return "", "", nil, command.Usagef(
			"mcp add needs a name and a server: indus mcp add NAME -- COMMAND, or indus mcp add NAME URL")
	case !isServerName(args[0]):
		return "", "", nil, command.Usagef("%q is no name for a server", args[0])
	case dash > 1:
		return "", "", nil, command.Usagef("%q is too many before --: only the name goes there", args[1])
	case len(args) == 1:
		return "", "", nil, command.Usagef("mcp add %s needs a server: -- and its command, or its URL", args[0])
	case dash == 1 && command.IsURL(args[1]):
		return "", "", nil, command.Usagef("a URL takes no -- before it: indus mcp add %s %s", show.ShellWord(args[0]), "URL")
	case dash == 1:
		return args[0], "", args[1:], nil
	case len(args) == 2 && isHost(args[1]):
		return "", "", nil, command.Usagef("%q is no URL, did you mean https://%s? A command goes after --", args[1], args[1])
	case !command.IsURL(args[1]):
		return "", "", nil, command.Usagef("%q is no URL; a command goes after --: indus mcp add %s -- %s …", args[1],
			show.ShellWord(args[0]), show.ShellWord(args[1]))
	case len(args) > 2:
		return "", "", nil, command.Usagef("%q is too many: nothing goes after a URL", args[2])
	}
	return args[0], args[1], nil, nil
}

// isServerName reports whether a name is not blank and has only visible characters.
func isServerName(s string) bool {
	return strings.TrimSpace(s) != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return text.KindOf(r) != text.Plain
	})
}

// isHost reports whether s looks like a URL without its scheme.
func isHost(s string) bool {
	host, _, _ := strings.Cut(s, "/")
	name, port, _ := strings.Cut(host, ":")
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil || strings.Contains(strings.Trim(name, "."), ".") && strings.Contains(s, "/")
}

func (f *addFlags) urlRow(address string) (wire.Object, error) {
	for _, name := range []string{"env", "cwd", "inherit-env"} {
		if f.cmd.Flags().Changed(name) {
			return nil, command.Usagef("--%s is for a command, and a URL is not started", name)
		}
	}
	var headers wire.Object
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, command.Usagef("--header takes 'NAME: VALUE'")
		}
		headers = headers.Raw(name, wire.Quote(strings.TrimSpace(value)))
	}
	return wire.Object{}.Text("url", address).Raw("headers", objectOrNone(headers)), nil
}

func (f *addFlags) commandRow(words []string) (wire.Object, error) {
	if len(f.headers) > 0 {
		return nil, command.Usagef("--header is for a URL, and a command is not called over HTTP")
	}
	program, err := words[0], error(nil)
	if strings.ContainsAny(program, `/\`) {
		if program, err = f.filePath(program); err != nil {
			return nil, err
		}
	}
	var env wire.Object
	for _, v := range f.env {
		name, value, err := envValue(v)
		if err != nil {
			return nil, err
		}
		env = env.Raw(name, wire.Quote(value))
	}
	cwd := f.cwd
	if cwd != "" {
		cwd, err = f.filePath(cwd)
	}
	row := wire.Object{}.Raw("command", wire.Quote(program)).Raw("args", listOrNone(words[1:])).
		Raw("env", objectOrNone(env)).Text("cwd", cwd)
	if f.inherit {
		row = row.Raw("inheritEnv", []byte("true"))
	}
	return row, err
}

// envValue reads NAME=VALUE of --env. NAME alone stands for the variable of that name.
func envValue(flag string) (name, value string, err error) {
	name, value, ok := strings.Cut(flag, "=")
	switch {
	case name == "":
		err = command.Usagef("--env takes NAME=VALUE, or NAME alone")
	case !ok && text.NameLength(name) != len(name): // without the text, which may hold a value
		err = command.Usagef("--env takes NAME=VALUE, or NAME alone; a name has letters, digits and _")
	case !ok:
		value = "${" + name + "}"
	}
	return name, value, err
}

// filePath returns a path from the command line as the file needs it. A project's file resolves relative paths against
// the working directory. Other files do not, so the path becomes absolute.
func (f *addFlags) filePath(path string) (string, error) {
	if f.project || filepath.IsAbs(path) || strings.HasPrefix(path, "~") || strings.Contains(path, "${") {
		return path, nil
	}
	return filepath.Abs(path)
}

// timeoutJSON returns the value of a timeout flag as JSON: one value for all steps, or an object.
func timeoutJSON(flag string) json.RawMessage {
	if ms, err := strconv.Atoi(flag); err == nil {
		return json.RawMessage(strconv.Itoa(ms))
	}
	if !strings.Contains(flag, "=") {
		return wire.Quote(flag)
	}
	var steps wire.Object
	for part := range strings.SplitSeq(flag, ",") {
		step, value, _ := strings.Cut(part, "=")
		steps = steps.Raw(strings.TrimSpace(step), timeoutJSON(strings.TrimSpace(value)))
	}
	return steps.JSON()
}
