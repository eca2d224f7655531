package audit

import (
	"context"

	"github.com/indusagi/indus/audit"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

type verifyFlags struct {
	fileFlags
	head   string
	asJSON bool
}

func newVerify(s show.Streams) *cobra.Command {
	var f verifyFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "verify [FILE]", Short: "Find records that are not as they were written", Long: verifyHelp,
		Args: command.AtMost(1, "file"),
	})
	cmd.Flags().StringVar(&f.head, "head", "",
		`HEAD  a head that was kept, such as 812:9f86d0…, or its hash alone: is it still in
		the file?`)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
	f.add(cmd)
	return cmd
}

const verifyHelp = `Find the lines of the audit file and of the files before it that are not as they
were written: altered, missing, out of order, unreadable. Each line has the hash of
the line before it. The last lines have none behind them, so that they can be taken
away unseen, and who may write the file can write all of it anew: keep the head that
verify prints elsewhere, and give it back later. Files that "keep" has removed are
not missing, and records that could not be written are counted.

A session:
  $ indus audit verify
  /var/log/indus/audit.jsonl: 81234 records in 3 files, as they were written
  head 81234:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

Exit codes:
  0    every line is as it was written
  1    some are not, or the file cannot be read
  2    usage: flags and files
  130  interrupted`

func (f *verifyFlags) run(ctx context.Context, args []string, s show.Streams) error {
	head, err := command.ParseHead(f.head, "indus audit verify")
	if err != nil {
		return err
	}
	path, err := f.path(ctx, args)
	if err != nil {
		return err
	}
	r, err := audit.Verify(ctx, path, head)
	if err != nil {
		return err
	}
	v := describe.NewVerification(path, r)
	if err := s.PrintOr(f.asJSON, v, v.Page()); err != nil {
		return err
	}
	if !v.Whole {
		return &command.ExitError{Code: command.ExitFault, Said: true}
	}
	return nil
}
