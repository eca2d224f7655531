package policies

import (
	"context"
	"strconv"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/policy"
	"github.com/spf13/cobra"
)

type explainFlags struct {
	source
	describe.Query
	action string
	claims []string
	asJSON bool
}

func newExplain(s show.Streams) *cobra.Command {
	var f explainFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use:   "explain --as PRINCIPAL ITEM [ARGUMENT]...",
		Short: "Show the decision of the policies about a request, with the reasons",
		Long:  explainHelp, Args: command.Needs(1, "an item: SERVER/TOOL", ""),
	})
	flags := cmd.Flags()
	flags.StringVar(&f.As, "as", "",
		`PRINCIPAL  the caller, as in User::"…" or as the audit names it: the name of a key
		(indus key add --principal), key:ID, ISSUER#SUBJECT, or local for a caller without authentication`)
	flags.Var(command.Listed(&f.Groups), "group", "G  a group of the caller, or several, with commas")
	flags.StringVar(&f.action, "action", "call",
		"A  call, list, read, get, complete, subscribe, ask, approve or administer")
	flags.StringVar(&f.View, "view", "", "V  the view: a server, or @NAME (default: all servers)")
	flags.StringVar(&f.Client, "client", "", "C  the name that the client gives, such as claude-code")
	flags.StringVar(&f.Era, "era", "modern", "E  modern or legacy")
	flags.StringVar(&f.Address, "address", "", "IP  the address of the client (default: none, as over stdio)")
	flags.Var(command.Listed(&f.claims), "claim",
		`NAME[=false]  an annotation of the tool: readOnly, destructive, idempotent, openWorld;
		or several, with commas`)
	flags.BoolVar(&f.Changed, "changed", false, "the tool differs from its approved definition")
	flags.BoolVar(&f.asJSON, "json", false,
		`print a JSON object: verdict (allow, deny or approve), approve, rates, audit, rules, problems
		and near (permits that do not apply, with missing)`)
	f.add(cmd, true)
	return cmd
}

const explainHelp = `Show the decision of the policies about a request: allow, deny, or approve (the call
waits for a person). Then the rules that decided, with file and line. For a denied
request, also the permits that came closest, and what would have to differ.

ITEM is a tool as SERVER/TOOL or SERVER__TOOL; for --action read or subscribe
SERVER/URI, for get SERVER/PROMPT, for ask and administer SERVER (or @VIEW). Without
arguments, the question is whether some arguments would be permitted.

Usage:
  indus policy explain --as PRINCIPAL ITEM [ARGUMENT]... [FLAG]...

` + arguments.Help + `

No server is started, so key=value is always text here, and the annotations of a tool are those of --claim.

A session:
  $ indus policy explain --as alice --group dev github/merge repo=indus
  deny
  no permit applies
  permit policy.cedar:4 would apply, but:
    the condition context.args.repo == "website" is false

` + exitHelp

func (f *explainFlags) run(ctx context.Context, words []string, s show.Streams) error {
	if f.As == "" {
		return command.Usagef(`--as is missing: name a principal, or "local"`)
	}
	f.Item, f.Action = words[0], policy.Action(f.action)
	if len(words) > 1 {
		a, err := arguments.Parse(words[1:], "", command.FileReader(ctx, s.In))
		if err != nil {
			return err
		}
		if f.Args, err = a.Object(nil); err != nil {
			return err
		}
	}
	f.Claims = map[string]bool{}
	for _, claim := range f.claims {
		name, value, isSet := strings.Cut(claim, "=")
		b, err := strconv.ParseBool(value)
		if isSet && err != nil {
			return command.Usagef("--claim %q: write NAME, NAME=true or NAME=false", claim)
		}
		f.Claims[name] = b || !isSet
	}
	r, err := f.Request()
	if err != nil {
		return command.Usagef("%w", err)
	}
	set, err := f.load(ctx, s)
	if err != nil {
		return err
	}
	explanation := set.Explain(r)
	if f.asJSON {
		return s.WriteIndented(struct {
			Word string `json:"verdict"`
			policy.Explanation
		}{describe.Verdict(explanation.Verdict), explanation})
	}
	var page show.Page
	for _, line := range describe.Explained(explanation, r) {
		page.Printf("%s\n", line)
	}
	return s.Print(&page)
}
