package tools

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
	"github.com/spf13/cobra"
)

type lintFlags struct {
	command.ServerFlags
	files, providers, ignore []string
	asJSON, verbose, strict  bool
	baseline, write          string // files to read and to write
	format, explain          string
}

func newLint(s show.Streams) *cobra.Command {
	var f lintFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "lint [SERVER]...", Short: "Check tool schemas against the rules of model providers",
		Long: lintHelp, ValidArgsFunction: f.CompleteServers(math.MaxInt),
	})
	flags := cmd.Flags()
	flags.Var(command.Listed(&f.providers), "provider",
		`P  check for provider P, or several with commas; "all" is every provider without
		strict modes; "client" is MCP clients only. The providers are: `+strings.Join(command.ProfileNames(), ", "))
	flags.Var(command.Repeated(&f.files), "file",
		`FILE  lint a file instead of servers: a tools/list result, an array of tools,
		one tool, or one JSON Schema; "-" is stdin; may be repeated`)
	flags.Var(command.Listed(&f.ignore), "ignore", "RULE  leave out findings of a rule, or of several with commas")
	flags.StringVar(&f.baseline, "baseline", "", "FILE  leave out the findings of a baseline")
	flags.StringVar(&f.write, "write-baseline", "", "FILE  write the findings to a baseline, and do not fail")
	flags.BoolVar(&f.strict, "strict", false, "fail on warnings too")
	flags.StringVar(&f.explain, "explain", "",
		`RULE  print a rule, which providers accept it, and the source; for the name of a
		provider, print all of its rules`)
	flags.StringVar(&f.format, "format", "text", "F  text, json, markdown (a table) or github (workflow commands)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false,
		`print lossless changes too, and warnings that concern only one of several
		providers`)
	flags.BoolVar(&f.asJSON, "json", false,
		`like --format json: print a JSON object: profile (of the mounted tools),
		providers (that were checked), summary, counts, faults, and tools, each with name, server, tool, findings [{provider,
		path, rule, message, source, class, date, ignored}], changes [{path, rule, did, lost, narrowed}], refused (findings
		that are left after the changes) and quarantined (the reason, if it is)`)
	f.Add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(lintFormats, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("ignore", cobra.FixedCompletions(ruleOffers(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("explain", command.CompleteProfiles(ruleOffers()...))
	_ = cmd.RegisterFlagCompletionFunc("provider", command.CompleteProfiles(
		command.EveryProvider+"\tevery provider, strict modes left out", command.ClientProfile+
			"\tfaults for which clients refuse a whole list"))
	return cmd
}

const lintHelp = `Check whether model providers accept the tools of the configured servers, of the named
servers, or in a file. A provider refuses a whole request if one tool breaks its rules.

Without --provider, it shows how indus adapts the tools so that every provider accepts
them: constraints that a schema loses ("lost"), and inputs that a model can no longer
send ("narrowed"). It fails if a tool would be quarantined or still refused. Changes are
no failure.

With --provider, it shows the parts of the unchanged tools that the provider refuses, and
fails if there are any. Use this in the CI of a server, because users without indus get
these refusals. A documented or observed refusal is an error. A feature that the provider
does not list, or ignores, is a warning, which --strict makes a failure.

In both cases, it shows faults for which clients refuse the server's whole list (an error
with --provider). It also warns of invisible characters, and of schemas that cannot be
used to check arguments.

Usage:
  indus mcp lint [FLAG]... [SERVER]...
  indus mcp lint --file tools.json [FLAG]...

A session:
  $ indus mcp lint --mcp servers.json
  everything  13 tools
    everything__get-resource-links
        /properties/count: lost minimum 1
        /properties/count: lost maximum 10
    everything__gzip-file-as-resource
        /properties/data: lost format uri

  13 tools, mounted for universal: 0 as they are, 13 changed (2 with …
  as they are, they would be refused by: gemini 13, …
  $ indus mcp lint --file tools.json --provider anthropic,openai || exit
  tools.json  3 tools
    add_comment
        /anyOf: anyOf cannot stand at the root (anthropic, openai)

  3 tools
    anthropic  refuses 1
    openai     refuses 1
  indus: refused or quarantined: 1 of 3 tools
  $ indus mcp tools --json | indus mcp lint --file - --provider all

Exit codes:
  0    every tool is taken
  1    a tool is refused or quarantined, or a server fails to list its tools
  2    usage: flags, files, and no such SERVER
  3    a server wants authorization
  4    a server cannot be reached
  130  interrupted`

func (f *lintFlags) run(ctx context.Context, args []string, s show.Streams) error {
	if f.explain != "" {
		return explainRule(s, f.explain)
	}
	if f.asJSON {
		f.format = "json"
	}
	if !slices.Contains(lintFormats, f.format) {
		return command.Usagef("no format %q: there is %s", f.format, strings.Join(lintFormats, ", "))
	}
	x, err := f.examiner()
	if err != nil {
		return err
	}
	if x.baseline, err = newBaseline(f.ignore, f.baseline, command.FileReader(ctx, s.In)); err != nil {
		return err
	}
	var mounted *command.Connection
	if f.files != nil {
		if len(args) > 0 || len(f.Paths) > 0 || f.Trust {
			return command.Usagef("--file lints files alone: leave out SERVER, --mcp and --trust")
		}
		mounted, err = f.mountFiles(ctx, x, s)
	} else {
		var servers []config.Server
		if servers, err = f.Choose(ctx, args, command.IsServer, s); err == nil {
			f.Looks = true
			mounted, err = f.Connect(ctx, servers, x.Profile, s)
		}
	}
	if err != nil {
		return err
	}
	defer mounted.Close()
	var down error
	if f.files == nil {
		down = command.ReportDown(mounted.Fleet, s)
	}
	r, err := x.examine(ctx, mounted.Mounted)
	if err != nil {
		return err
	}
	if err := f.print(r, s); err != nil {
		return err
	}
	if n := x.baseline.outdated(); n > 0 {
		s.Reportf("%s of %s no more: write it anew with --write-baseline", show.Count(n, "finding"), f.baseline)
	}
	if f.write != "" {
		return x.baseline.write(f.write)
	}
	return f.verdict(r, down)
}

var lintFormats = []string{"text", "json", "markdown", "github"}

// ruleOffers returns the completions of rules, with their descriptions.
func ruleOffers() []string {
	return show.Names(rule.All(), func(r rule.Rule) string { return string(r) + "\t" + r.About() })
}

// examiner returns an examiner for the named providers. It mounts for a single named provider, otherwise for universal.
func (f *lintFlags) examiner() (*Examiner, error) {
	x := &Examiner{Profile: schema.Universal, providers: command.Providers()}
	if !f.namesProviders() {
		return x, nil
	}
	var err error
	if x.providers, err = command.ProfilesNamed(f.providers); err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(f.providers, command.ClientProfile):
	case len(x.providers) == 1:
		x.Profile = x.providers[0]
	}
	return x, nil
}

func (f *lintFlags) mountFiles(ctx context.Context, x *Examiner, s show.Streams) (*command.Connection, error) {
	read := command.FileReader(ctx, s.In)
	x.bare, x.files = map[string]bool{}, map[string]string{}
	var lists []toolList
	for i, name := range f.files {
		raw, err := read(name)
		if err != nil {
			return nil, err
		}
		if name == "-" {
			name = "stdin"
		}
		l, err := readToolList(name, raw)
		if err != nil {
			return nil, err
		}
		lists = append(lists, l)
		x.bare[listID(i)], x.files[listID(i)] = l.bare, l.source
	}
	mounted := mountLists(ctx, lists, x.Profile)
	return &command.Connection{Mounted: mounted, Closers: []func(){mounted.Close}}, nil
}

func (f *lintFlags) namesProviders() bool { return len(f.providers) > 0 }

func (f *lintFlags) print(r *lintReport, s show.Streams) error {
	var p show.Page
	several := len(r.Providers) > 1
	switch {
	case f.format == "json":
		return s.WriteIndented(r)
	case f.format == "markdown":
		r.writeMarkdown(&p, f.namesProviders())
	case f.format == "github":
		r.writeGitHub(&p, f.namesProviders(), f.files)
	case f.namesProviders():
		writeRemarks(&p, r.Tools, func(t *ToolReport) remarks { return providerRemarks(t, several, f.verbose) })
		r.writeRefusals(&p)
		r.writeSources(&p, func(d Finding) bool { return Refuses(d) || isOwnFinding(d) || !several || f.verbose })
	default:
		writeRemarks(&p, r.Tools, func(t *ToolReport) remarks { return mountRemarks(t, f.verbose) })
		r.writeMounted(&p)
	}
	return s.Print(&p)
}

// verdict returns the final error of lint. down is the fault of a server that is down, or nil.
func (f *lintFlags) verdict(r *lintReport, down error) error {
	bad := 0
	for i := range r.Tools {
		t := &r.Tools[i]
		found := t.Refused
		if f.namesProviders() {
			found = t.Findings
		}
		counts := func(d Finding) bool { return Refuses(d) || f.strict && !d.Ignored }
		if t.Quarantined != "" || slices.ContainsFunc(found, counts) ||
			f.strict && slices.ContainsFunc(t.Findings, isOwnFinding) {
			bad++
		}
	}
	exceeds := func(c Finding) bool { return Refuses(c) && (f.namesProviders() || c.Provider == r.Profile) }
	switch {
	case bad > 0:
		return &command.ExitError{
			Code: command.ExitFault, Err: fmt.Errorf("refused or quarantined: %d of %s", bad, show.Count(len(r.Tools), "tool")),
		}
	case slices.ContainsFunc(r.Counts, exceeds):
		return &command.ExitError{Code: command.ExitFault, Err: errors.New("too many tools for one request")}
	case down != nil:
		return command.Said(down)
	}
	return nil
}
