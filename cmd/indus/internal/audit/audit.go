package audit

import (
	"context"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/audit"
	"github.com/spf13/cobra"
)

// fileFlags selects the audit file.
type fileFlags struct{ command.ConfigFlags }

func (f *fileFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(command.Listed(&f.Paths), "mcp",
		`PATH  the configuration of "indus serve", which names the audit file (default: the
		working directory, then the user's own files)`)
}

// path returns the file that the arguments or the configuration name.
func (f *fileFlags) path(ctx context.Context, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	c, err := f.ReadDry(ctx)
	if err != nil {
		return "", err
	}
	switch {
	case c.Audit == nil:
		return "", command.Usagef(
			`no configuration has "audit": name a file, indus audit FILE, or write "audit": "audit.jsonl" into your mcp.json`)
	case c.Audit.Broken:
		for _, n := range c.Notes {
			if strings.Contains(n.Reason, "audit") || n.File == c.Audit.File {
				return "", command.Usagef("%s", n)
			}
		}
		return "", command.Usagef(`%s: "audit" cannot be read: name a file, indus audit FILE`, c.Audit.File)
	}
	return c.Audit.Path, nil
}

// listFlags selects records, and the form in which they are shown.
type listFlags struct {
	fileFlags
	query          describe.AuditQuery
	filter         audit.Filter
	top            string
	limit          int
	follow, asJSON bool
}

// New returns the command audit.
func New(s show.Streams) *cobra.Command {
	var f listFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "audit [FILE]", SuggestFor: []string{"records", "requests"},
		Short: "Who called which tool when, and with which result", Long: auditHelp, Args: command.AtMost(1, "file"),
	})
	flags := cmd.Flags()
	flags.StringVar(&f.query.Principal, "principal", "", `NAME  only requests of this caller, such as user:alice, or
		local`)
	flags.StringVar(&f.query.Tool, "tool", "", "NAME  only this tool or prompt, by the server's own name, or this URI")
	flags.StringVar(&f.query.Server, "server", "", "ID  only this server")
	flags.StringVar(&f.query.View, "view", "", `VIEW  only this view: a server, @NAME, or * for the view of everything`)
	flags.StringVar(&f.query.Client, "client", "", "NAME  only this client program, such as claude-code")
	flags.StringVar(&f.query.Outcome, "outcome", "",
		"OUTCOME  only requests with this outcome: allowed, denied, deferred or error")
	flags.StringVar(&f.query.Since, "since", "", "TIME  only requests from TIME on")
	flags.StringVar(&f.query.Until, "until", "", "TIME  only requests before TIME")
	flags.StringVar(&f.query.Approval, "approval", "", "ID  only requests of this approval")
	flags.StringVar(&f.query.Trace, "trace", "", "ID  only requests of this trace")
	flags.IntVarP(&f.limit, "lines", "n", 100, `N  the number of newest records, or of rows of --top
		(default: 100; 0 is all)`)
	flags.BoolVar(&f.follow, "follow", false, "go on with new records until Ctrl-C")
	flags.StringVar(&f.top, "top", "", `KEY  count records by tool, principal, server, client, view, method,
		outcome or error`)
	flags.BoolVar(&f.asJSON, "json", false, "print JSON Lines: the records as the file has them; with --top the rows")
	f.add(cmd)
	cmd.AddCommand(newVerify(s))
	return cmd
}

const auditHelp = `Print who called which tool, prompt or resource of indus serve, when, and with which
result. The newest record is the last. The records are written if the configuration has "audit", and
are read from the file on this machine: each replica of a cluster has a file of its own. Each "indus
serve --stdio" writes a file beside it, such as audit-process-4711.k3x9mq2vw7ra4.jsonl, and all are
read together. A request is recorded before it is answered.

Usage:
  indus audit [FLAG]... [FILE]            the records (default: the configured file)
  indus audit --top KEY [FLAG]... [FILE]  counts, bytes and durations by that key
  indus audit verify [FLAG]... [FILE]     find records that are not as they were written

Flags:
  --*
` + command.TimesHelp + `

A session:
  $ indus audit -n 3
  2026-07-28 15:04:05  allowed   ann  tools/call git/create_issue  34ms
  2026-07-28 15:04:09  denied    bob  tools/call git/delete_repo  p.cedar:12
  2026-07-28 15:04:11  deferred  bob  tools/call fs/write_file  approval 7K2F
  $ indus audit --top tool --since 1d
  TOOL                 COUNT  ERRORS  DENIED  BYTES IN  BYTES OUT  P50   P95
  github/create_issue  812    3       0       415744    3325952    31ms  220ms

Exit codes:
  0    ok
  1    the records cannot be read
  2    usage: flags and files
  130  interrupted`

// check refuses flags that exclude each other, and completes the filter.
func (f *listFlags) check() error {
	switch {
	case f.limit < 0:
		return command.Usagef("-n %d: a number of records is 0, which is all, or more", f.limit)
	case f.top != "" && f.follow:
		return command.Exclude("--top", "--follow")
	case f.top != "" && topKeys[f.top] == nil:
		return command.Usagef("--top %q: write tool, principal, server, client, view, method, outcome or error", f.top)
	}
	filter, err := f.query.Filter(time.Now())
	if err != nil {
		return command.AsUsage(err)
	}
	f.filter = filter
	if f.top == "" {
		f.filter.Last = f.limit
	}
	return nil
}

func (f *listFlags) run(ctx context.Context, args []string, s show.Streams) error {
	if err := f.check(); err != nil {
		return err
	}
	path, err := f.path(ctx, args)
	if err != nil {
		return err
	}
	if f.top != "" {
		return f.printTop(ctx, path, s)
	}
	each := func(r *audit.Record) error { return f.print(r, s) }
	if f.follow {
		return audit.Follow(ctx, path, &f.filter, each)
	}
	damaged, err := audit.Read(ctx, path, &f.filter, each)
	reportDamaged(damaged, s)
	return err
}

func reportDamaged(damaged int, s show.Streams) {
	if damaged > 0 {
		s.Reportf("%s left out: damaged; see indus audit verify", show.Count(damaged, "line"))
	}
}

func (f *listFlags) print(r *audit.Record, s show.Streams) error {
	if f.asJSON {
		return s.WriteJSON(r.Line())
	}
	var p show.Page
	p.Printf("%s  %s  %s  %s", show.Time(r.At), show.Pad(string(r.Outcome), 8),
		show.Pad(show.Clean(r.Principal), 12), describe.Request(r))
	if r.Duration > 0 {
		p.Printf("  %s", describe.Duration(r.Duration))
	}
	for _, detail := range describe.Details(r) {
		p.Printf("  %s", detail)
	}
	p.WriteString("\n")
	return s.Print(&p)
}

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

const verifyHelp = `Check the audit file and the files before it for lines that are altered, missing, out of
order or unreadable. Each line has the hash of the line before it. This does not show
whether the last lines were removed, or whether the whole file was written again. To
detect that, store the head that verify prints somewhere else, and pass it with --head
later. Files that "keep" removed are not missing. Records that could not be written are
counted.

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
	v, err := verifyLogs(ctx, path, head)
	if err != nil {
		return err
	}
	if err := s.PrintOr(f.asJSON, v, v.Page()); err != nil {
		return err
	}
	if !v.Whole {
		return &command.ExitError{Code: command.ExitFault, Said: true}
	}
	return nil
}

// verifyLogs verifies a log and the logs of processes beside it. A head may be in any of them.
func verifyLogs(ctx context.Context, path string, head audit.Head) (v *describe.Verification, err error) {
	paths, err := audit.Logs(path)
	if err != nil {
		return nil, err
	}
	reports := make([]*audit.Report, len(paths))
	for i, p := range paths {
		if reports[i], err = audit.Verify(ctx, p); err != nil {
			return nil, err
		}
	}
	if head != (audit.Head{}) {
		holder, held := 0, (*audit.Report)(nil) // the log in which the head is, or should be
		for i, p := range paths {
			r, err := audit.Verify(ctx, p, head)
			if err != nil {
				return nil, err
			}
			if i == 0 || len(r.Damage) == len(reports[i].Damage) {
				holder, held = i, r
			}
		}
		reports[holder] = held
	}
	v = describe.NewVerification(paths[0], reports[0])
	for i := range paths[1:] {
		v.Add(describe.NewVerification(paths[i+1], reports[i+1]))
	}
	return v, nil
}
