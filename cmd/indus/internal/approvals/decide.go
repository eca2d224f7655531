package approvals

import (
	"context"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/approval"
	"github.com/spf13/cobra"
)

type allowFlags struct{ yes bool }

func newAllow(c *command.ClusterFlags, s show.Streams) *cobra.Command {
	var f allowFlags
	cmd := command.New(s, withBook(c, f.run), cobra.Command{
		Use: "allow ID", Aliases: []string{"yes"}, Short: "Allow one call to run once", Long: allowHelp,
		Args: needsID(), ValidArgsFunction: completeIDs(false),
	})
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not show the call and ask")
	return cmd
}

const allowHelp = `Allow one call to run once. On a terminal, the call is shown first, and you are asked.
The caller has to send it again, in 10 minutes unless "indus serve" has another time.

A session:
  $ indus approvals allow 7K2F --yes
  indus: allowed 7K2F: merge of github, for user:ann until 2026-07-28 15:15:31

` + exitHelp

func (f *allowFlags) run(ctx context.Context, b *openBook, args []string, s show.Streams) error {
	if !f.yes {
		item, err := b.Item(ctx, args[0])
		if err != nil {
			return b.itemError(err)
		}
		if item.State == approval.Waiting { // otherwise Decide has the error
			p := newPerson(s)
			if p == nil {
				return command.Usagef("no terminal to ask on: look at it with indus approvals show %s%s, and allow it with --yes",
					item.ID, b.flags.RepeatPaths())
			}
			answer, err := p.ask(ctx, b, &item)
			if err != nil {
				return err
			}
			if answer != answerYes {
				s.Reportf("not allowed: %s still waits; indus approvals deny %[1]s%s denies it", item.ID, b.flags.RepeatPaths())
				return nil
			}
		}
	}
	return decide(ctx, b, args[0], approval.Decision{Allow: true}, s)
}

func newDeny(c *command.ClusterFlags, s show.Streams) *cobra.Command {
	var reason string
	run := func(ctx context.Context, b *openBook, args []string, s show.Streams) error {
		return decide(ctx, b, args[0], approval.Decision{Reason: reason}, s)
	}
	cmd := command.New(s, withBook(c, run), cobra.Command{
		Use: "deny ID", Aliases: []string{"no", "refuse"}, Short: "Deny one call", Long: denyHelp,
		Args: needsID(), ValidArgsFunction: completeIDs(false),
	})
	cmd.Flags().StringVar(&reason, "reason", "", "TEXT  the reason, which the caller gets")
	return cmd
}

const denyHelp = `Deny one call. If the caller sends it again before the denial expires, it is denied
with the same reason.

A session:
  $ indus approvals deny 7K2F --reason "not on a Friday"
  indus: denied 7K2F: merge of github, for user:ann until 2026-07-28 15:15:31

` + exitHelp

// decide stores a decision of the operating system's user, and reports it.
func decide(ctx context.Context, b *openBook, id string, d approval.Decision, s show.Streams) error {
	d.Channel = approval.ByOperator
	item, err := b.Decide(ctx, id, d)
	if err != nil {
		return b.itemError(err)
	}
	s.Reportf("%s", describe.Decided(&item))
	return nil
}
