package policies

import (
	"context"
	"errors"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/policy"
	"github.com/spf13/cobra"
)

// New returns the command policy.
func New(s show.Streams) *cobra.Command {
	return command.NewGroup(cobra.Command{
		Use: "policy", SuggestFor: []string{"policies", "cedar", "rules"},
		Short: "What callers of indus serve may do", Long: policyHelp,
	}, newCheck(s), newExplain(s), newTest(s))
}

const policyHelp = `Check and explain the rules for what callers of "indus serve" may do. They are Cedar policies, in a
file or in the *.cedar files of a directory, which the configuration names:

  "policy": "policy.cedar"

Without policies every caller may do everything. With them, a request that no permit
covers is denied.

A session:
  $ cat policy.cedar
  permit(principal in Group::"dev", action == Action::"call",
         resource in Server::"github");
  @approve("other")
  permit(principal, action == Action::"call",
         resource == Tool::"github/merge");
  $ indus policy check policy.cedar
  indus: 2 rules are valid
  $ indus policy explain --policy policy.cedar --as alice github/merge
  approve
  with some arguments
  an approval by another person
  permit policy.cedar:3

` + exitHelp

const exitHelp = `Exit codes:
  0    ok
  1    the policies cannot be used, or an expectation of indus policy test fails
  2    usage: flags, files that cannot be read, and no policy in the configuration
  130  interrupted`

// source holds the flags that select the policies.
type source struct {
	command.ConfigFlags
	path string
}

func (f *source) add(cmd *cobra.Command, withPath bool) {
	if withPath {
		cmd.Flags().StringVar(&f.path, "policy", "",
			`PATH  the file or directory of policies (default: the one of the configuration)`)
	}
	cmd.Flags().Var(command.Listed(&f.Paths), "mcp",
		`PATH  the configuration that names the policies (default: the working directory, then the user's own files)`)
}

// load returns the policies.
func (f *source) load(ctx context.Context, s show.Streams) (*policy.Set, error) {
	path := f.path
	if path == "" {
		c, err := f.ReadDry(ctx)
		if err == nil && (c.Policy == nil || c.Policy.Broken) { // also if it does not count in a project's file
			for _, n := range c.Notes {
				if strings.Contains(n.Reason, "policy") || c.Policy != nil && n.File == c.Policy.File && n.Row == 0 {
					s.Reportf("%s", n)
				}
			}
		}
		switch {
		case err != nil:
			return nil, err
		case c.Policy == nil:
			return nil, command.Usagef(`the configuration names no policies: name a file, or write "policy" into the ` +
				`configuration`)
		case c.Policy.Broken:
			return nil, &command.ExitError{Code: command.ExitFault,
				Err: errors.New(`the configuration's "policy" cannot be read`)}
		}
		path = c.Policy.Path
	}
	set, err := policy.Load(path)
	if err != nil {
		return nil, report(err, s)
	}
	return set, nil
}

// report reports each problem of the policies on a line.
func report(err error, s show.Streams) error {
	problems, isList := err.(interface{ Unwrap() []error })
	if !isList {
		return &command.ExitError{Code: command.ExitFault, Err: err}
	}
	for _, problem := range problems.Unwrap() {
		s.Reportf("%s", problem)
	}
	return &command.ExitError{Code: command.ExitFault, Err: err, Said: true}
}
