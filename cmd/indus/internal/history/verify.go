package history

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
	"github.com/spf13/cobra"
)

type verifyFlags struct {
	command.LedgerFlags
	head   string
	asJSON bool
}

func newVerify(s show.Streams) *cobra.Command {
	var f verifyFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "verify", Short: "Find lines of the ledger that are not as they were written", Long: verifyHelp,
	})
	cmd.Flags().StringVar(&f.head, "head", "",
		`HEAD  a head that was kept, such as 812:9f86d0…, or its hash alone: is it still in
		the ledger?`)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
	f.Add(cmd)
	return cmd
}

const verifyHelp = `Find the lines of the ledger and its archives that are not as they were written:
altered, missing, out of order, unreadable. Each line has the hash of the line
before it. The last lines have none behind them, so that they can be taken away
unseen, and who may write the file can write all of it anew: keep the head that
verify prints elsewhere, and give it back later.

A session:
  $ indus mcp verify
  /home/me/.local/state/indus/ledger.jsonl: 812 entries of 31 runs, as they were written
  head 812:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

Exit codes:
  0    every line is as it was written
  1    some are not, or the ledger cannot be read
  2    usage: flags and files
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
	head, err := readHead(f.head)
	if err != nil {
		return err
	}
	file, path, err := f.Open(ctx)
	if err != nil {
		return err
	}
	entries, err := file.History(ctx)
	if err != nil {
		return err
	}
	if f.head != "" && head.Seq == 0 {
		for _, e := range entries {
			if e.Hash == head.Hash {
				head.Seq = e.Seq
			}
		}
	}
	r, err := file.Verify(ctx, head)
	if err != nil {
		return err
	}
	v := verification{File: path, Entries: r.Entries, Head: r.Head, Damage: append([]ledger.Damage{}, r.Damage...)}
	for _, e := range entries { // an approval alone is not a run
		if e.Op == ledger.Begin {
			v.Runs++
		}
	}
	if f.head != "" && head.Seq == 0 {
		v.Damage = append(v.Damage, ledger.Damage{Kind: ledger.Missing, Why: "no entry has the hash that was kept"})
	}
	for _, d := range file.Damage() { // a torn line, cut when the file was opened, was never a stored entry
		if d.Kind == ledger.Torn && !slices.Contains(v.Damage, d) {
			v.Damage = append(v.Damage, d)
		}
	}
	v.Whole = !slices.ContainsFunc(v.Damage, func(d ledger.Damage) bool { return d.Kind != ledger.Torn })
	if err := v.print(f.asJSON, s); err != nil {
		return err
	}
	if !v.Whole {
		return &command.ExitError{Code: command.ExitFault, Said: true}
	}
	return nil
}

// readHead parses SEQ:HASH, or a hash alone.
func readHead(text string) (ledger.Head, error) {
	if text == "" {
		return ledger.Head{}, nil
	}
	seq, hash, ok := strings.Cut(text, ":")
	if !ok {
		seq, hash = "0", text
	}
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil || ok && n == 0 || len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return ledger.Head{}, command.Usagef("--head %q is no head: write it as indus mcp verify prints it, SEQ:HASH", text)
	}
	return ledger.Head{Seq: n, Hash: hash}, nil
}

func (v *verification) print(asJSON bool, s show.Streams) error {
	if asJSON {
		return s.WriteIndented(v)
	}
	state, entries := "as they were written", fmt.Sprintf("%d entries", v.Entries)
	if !v.Whole {
		state = "not all as they were written"
	}
	if v.Entries == 1 {
		entries = "1 entry"
	}
	var p show.Page
	p.Printf("%s: %s of %s, %s\n", v.File, entries, show.Count(v.Runs, "run"), state)
	if v.Entries > 0 {
		p.Printf("head %d:%s\n", v.Head.Seq, v.Head.Hash)
	}
	for _, d := range v.Damage {
		if d.Line == 0 {
			p.Printf("%s: %s\n", d.Kind, d.Why)
		} else {
			p.Printf("%s\n", d)
		}
	}
	return s.Print(&p)
}
