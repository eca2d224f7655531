package history

import (
	"context"
	"slices"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/chain"
	"github.com/indusagi/indus/ledger"
	"github.com/spf13/cobra"
)

type verifyFlags struct {
	command.HistoryFlags
	head   string
	asJSON bool
}

func newVerify(s show.Streams) *cobra.Command {
	var f verifyFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "verify", Short: "Check the ledger for altered or missing lines", Long: verifyHelp,
	})
	cmd.Flags().StringVar(&f.head, "head", "",
		`HEAD  check that the ledger still has this head, such as 812:9f86d0…, or its hash
		alone`)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
	f.Add(cmd)
	return cmd
}

const verifyHelp = `Check the ledger and its archives for lines that are altered, missing, out of order or
unreadable. Each line has the hash of the line before it. This does not show whether the
last lines were removed, or whether the whole file was written again. To detect that,
store the head that verify prints somewhere else, and pass it with --head later.

A session:
  $ indus mcp verify
  ledger.jsonl: 812 entries of 31 runs, as they were written
  head 812:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

Exit codes:
  0    every line is as it was written
  1    some are not, or the ledger cannot be read
  2    usage: flags and files
  4    the cluster cannot be reached
  130  interrupted`

// verification is the result of verify in the output of --json.
type verification struct {
	File    string          `json:"file"`
	Entries int             `json:"entries"`
	Runs    int             `json:"runs"`
	Head    ledger.Head     `json:"head"`
	Whole   bool            `json:"whole"`
	Damage  []ledger.Damage `json:"damage"`
}

func (f *verifyFlags) run(ctx context.Context, _ []string, s show.Streams) error {
	head, err := command.ParseHead(f.head, "indus mcp verify")
	if err != nil {
		return err
	}
	h, err := f.Open(ctx, s)
	if err != nil {
		return err
	}
	defer h.Close()
	entries, err := h.History(ctx)
	if err != nil {
		return command.LedgerError(err)
	}
	r, err := h.Verify(ctx, head)
	if err != nil {
		return command.LedgerError(err)
	}
	v := verification{File: h.Name, Entries: r.Entries, Head: r.Head, Damage: append([]ledger.Damage{}, r.Damage...)}
	for _, e := range entries { // an approval alone is not a run
		if e.Op == ledger.Begin {
			v.Runs++
		}
	}
	for _, d := range h.Damage() { // a torn line, cut when the file was opened, was never a stored entry
		if d.Kind == ledger.Torn && !slices.Contains(v.Damage, d) {
			v.Damage = append(v.Damage, d)
		}
	}
	v.Whole = chain.Intact(v.Damage)
	if err := s.PrintOr(f.asJSON, v, v.page()); err != nil {
		return err
	}
	if !v.Whole {
		return &command.ExitError{Code: command.ExitFault, Said: true}
	}
	return nil
}

func (v *verification) page() *show.Page {
	p := &show.Page{}
	p.Printf("%s: %s of %s, %s\n", v.File, show.Count(v.Entries, "entry"), show.Count(v.Runs, "run"),
		command.WholeText(v.Whole))
	if v.Entries > 0 {
		p.Printf("head %d:%s\n", v.Head.Seq, v.Head.Hash)
	}
	command.AddDamage(p, v.Damage)
	return p
}
