package policies

import (
	"context"
	"fmt"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/policy"
	"github.com/spf13/cobra"
)

type checkFlags struct {
	source
	asJSON, strict bool
}

func newCheck(s show.Streams) *cobra.Command {
	var f checkFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "check [PATH]", Short: "Check policies, and find rules without effect", Long: checkHelp,
		Args: command.AtMost(1, "file or directory"),
	})
	f.add(cmd, false)
	cmd.Flags().BoolVar(&f.strict, "strict", false, "fail for a finding too")
	cmd.Flags().BoolVar(&f.asJSON, "json", false,
		"print a JSON object: rules (their number), findings [{id, file, line, effect, text}]")
	return cmd
}

const checkHelp = `Parse a file or directory of policies, and check it against the schema of indus: a
misspelt attribute is an error with line and column. Without a path, the policies of
the configuration are checked.

It also finds rules that are probably not meant as they are written. A finding is no
error, unless --strict is set:

  - a permit whose whole scope is forbidden without a condition
  - a condition that is constant, or whose parts contradict each other
  - a rule that repeats another rule
  - a permit of Action::"list" on tools, prompts and resources
  - a forbid that uses an argument without testing that it is present
  - a URI, or a part of one, that no request has: it is not in canonical form

It does not find every rule that can never apply.

A session:
  $ indus policy check policy.cedar
  policy.cedar:3: never applies: context.era cannot be "modern" and "legacy"
  indus: 3 rules are valid, 1 finding

` + exitHelp

func (f *checkFlags) run(ctx context.Context, words []string, s show.Streams) error {
	if len(words) > 0 {
		f.path = words[0]
	}
	set, err := f.load(ctx, s)
	if err != nil {
		return err
	}
	findings := append([]policy.Finding{}, set.Check()...)
	var page show.Page
	for _, finding := range findings {
		page.Printf("%s\n", finding)
	}
	err = s.PrintOr(f.asJSON, struct {
		Rules    int              `json:"rules"`
		Findings []policy.Finding `json:"findings"`
	}{set.Len(), findings}, &page)
	if err != nil {
		return err
	}
	for _, note := range set.Unnamed() {
		s.Reportf("note: %s", note)
	}
	text := fmt.Sprintf("%d rules are valid", set.Len())
	switch set.Len() {
	case 0:
		text = "there is no rule: every request is denied"
	case 1:
		text = "1 rule is valid"
	}
	if len(findings) > 0 {
		text += ", " + show.Count(len(findings), "finding")
	}
	s.Reportf("%s", text)
	if len(findings) > 0 && f.strict {
		return &command.ExitError{Code: command.ExitFault, Said: true}
	}
	return nil
}
