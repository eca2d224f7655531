package approvals

import (
	"context"
	"errors"
	"fmt"

	"github.com/indusagi/indus/approval"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

// New returns the command approvals. Without a sub-command it is "approvals ls".
func New(s show.Streams) *cobra.Command {
	cmd := command.NewGroup(cobra.Command{
		Use: "approvals", Aliases: []string{"approval"}, SuggestFor: []string{"approve", "allow", "grants"},
		Short: "Calls that wait for the approval of a person", Long: approvalsHelp,
	}, newLs(s), newShow(s), newAllow(s), newDeny(s), newWatch(s))
	var f listFlags
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), nil, s) }
	f.add(cmd)
	return cmd
}

const approvalsHelp = `Calls to "indus serve" that wait for the approval of a person, because a rule of the
policy with @approve covers them. Without a command, list them.

An approval is good for one run of one call: the same caller, client, view, tool and
arguments, byte for byte, while the tool is as it was. The caller sends the call again
to use it. You may decide each of them, because the file of approvals is yours.

A session:
  $ indus approvals
  ID    STATE    SERVER  TOOL   CALLER      VIEW     EXPIRES              ARGUMENTS
  7K2F  waiting  github  merge  user:alice  @review  2026-07-28 15:14:05  {"pull":42}
  $ indus approvals allow 7K2F --yes
  indus: allowed 7K2F: merge of github, for user:alice until 2026-07-28 15:15:31

` + exitHelp

const exitHelp = `Exit codes:
  0    ok
  1    the file of approvals cannot be read or written
  2    usage: flags, and an approval that does not wait
  130  interrupted`

// openBook returns the approvals of the user. "indus serve" uses the same file.
func openBook() (*approval.Book, error) {
	path := command.ApprovalsPath()
	if path == "" {
		return nil, fileError(errors.New("there is no place for them: set $HOME or $XDG_STATE_HOME"))
	}
	book, err := approval.Open(path, nil)
	return book, fileError(err)
}

// fileError returns an error about the file of approvals.
func fileError(err error) error {
	if err == nil {
		return nil
	}
	return &command.ExitError{Code: command.ExitFault, Err: fmt.Errorf("approvals: %w", err)}
}

// itemError returns an error about one approval.
func itemError(err error) error {
	for _, usage := range []error{
		approval.ErrUnknown, approval.ErrExpired, approval.ErrDecided, approval.ErrRequester, approval.ErrNotCaller,
	} {
		if errors.Is(err, usage) {
			return command.AsUsage(err)
		}
	}
	return fileError(err)
}

// completeIDs completes the IDs of approvals: of all, or of those that wait.
func completeIDs(all bool) cobra.CompletionFunc {
	return command.Complete(1, func(ctx context.Context) []string {
		book, err := openBook()
		if err != nil {
			return nil
		}
		items, _ := book.List(ctx, &approval.Filter{All: all})
		return show.Names(items, func(i approval.Item) string {
			return i.ID + "\t" + show.Clean(i.Server+" "+i.Tool)
		})
	})
}

// needsID refuses a command line without an ID.
func needsID() cobra.PositionalArgs {
	return command.Needs(1, `the ID of an approval; "indus approvals" lists them`, "ID")
}
