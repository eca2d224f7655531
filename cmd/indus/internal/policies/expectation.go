package policies

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/spf13/cobra"
)

// maxExpectations is the size of the largest file of expectations.
const maxExpectations = 16 << 20

type testFlags struct {
	source
	asJSON bool
}

func newTest(s show.Streams) *cobra.Command {
	var f testFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "test FILE", Short: "Check expectations about what the policies decide", Long: testHelp,
		Args: command.Needs(1, "a file of expectations", "file"),
	})
	f.add(cmd, true)
	cmd.Flags().BoolVar(&f.asJSON, "json", false,
		"print a JSON array, an object for each expectation: line, want, got, rules, problems, ok")
	return cmd
}

const testHelp = `Check a file of expectations about what the policies decide. Use this in CI. The
file ("-" is stdin) has one JSON object a line; lines that begin with // are comments:

  {"as": "ann", "item": "git/merge", "want": "approve:other"}
  {"as": "bob", "item": "fs/ls", "args": {"path": "/"}, "want": "deny"}

want is allow, deny or approve, or approve:caller, approve:other or approve:either.
Optional are action (call), args (without them: could some arguments be permitted?),
view, client, era, address, time, claims ({"readOnly": true}), changed, and rule: the
id of a rule, or FILE:LINE, that must have decided. See indus policy explain -h.

A session:
  $ indus policy test policy.test.jsonl
  policy.test.jsonl:2: want deny, got allow by policy.cedar:3
  indus: 2 expectations, 1 failed

` + exitHelp

// expectation is one line of the file.
type expectation struct {
	describe.Query
	Want string `json:"want"`
	Rule string `json:"rule"`
}

// result is the outcome of an expectation.
type result struct {
	Line     int      `json:"line"`
	Want     string   `json:"want"`
	Got      string   `json:"got"`
	Rules    []string `json:"rules"`
	Problems []string `json:"problems,omitempty"`
	OK       bool     `json:"ok"`
}

func (f *testFlags) run(ctx context.Context, words []string, s show.Streams) error {
	text, err := atomicfile.ReadNamed(ctx, words[0], s.In, maxExpectations)
	if err != nil {
		return command.AsUsage(err)
	}
	set, err := f.load(ctx, s)
	if err != nil {
		return err
	}
	results := []result{}
	failed := 0
	var page show.Page
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		r, err := check(set, line)
		if err != nil {
			return command.Usagef("%s:%d: %w", words[0], i+1, err)
		}
		r.Line = i + 1
		results = append(results, r)
		if !r.OK {
			failed++
			page.Printf("%s:%d: %s\n", words[0], r.Line, r)
		}
	}
	if len(results) == 0 {
		return command.Usagef("%s has no expectation: see indus policy test -h", words[0])
	}
	if err := s.PrintOr(f.asJSON, results, &page); err != nil {
		return err
	}
	outcome := show.Count(len(results), "expectation")
	if failed == 0 {
		s.Reportf("%s, all hold", outcome)
		return nil
	}
	s.Reportf("%s, %d failed", outcome, failed)
	return &command.ExitError{Code: command.ExitFault, Said: true}
}

// check decides about one expectation.
func check(set *policy.Set, line string) (result, error) {
	var e expectation
	decoder := json.NewDecoder(bytes.NewReader([]byte(line)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return result{}, err
	}
	if decoder.More() {
		return result{}, fmt.Errorf("more than one JSON object: write one a line")
	}
	known := []string{"allow", "deny", "approve", "approve:caller", "approve:other", "approve:either"}
	if !slices.Contains(known, e.Want) {
		return result{}, fmt.Errorf("want %q is unknown: there are %s", e.Want, strings.Join(known, ", "))
	}
	if e.As == "" {
		return result{}, fmt.Errorf(`"as" is missing: name a principal, or "local"`)
	}
	request, err := e.Request()
	if err != nil {
		return result{}, err
	}
	verdict := set.Decide(request)
	r := result{Want: e.Want, Got: describe.Verdict(verdict), Rules: idsOf(verdict.Rules), Problems: verdict.Problems}
	if strings.Contains(e.Want, ":") && verdict.Approve != policy.NoApproval {
		r.Got += ":" + string(verdict.Approve)
	}
	decided := e.Rule == "" || slices.ContainsFunc(verdict.Rules, func(rule policy.Rule) bool {
		return rule.ID == e.Rule || fmt.Sprintf("%s:%d", rule.File, rule.Line) == e.Rule
	})
	if !decided {
		r.Want += " by " + e.Rule
	}
	r.OK = r.Got == e.Want && decided
	return r, nil
}

// String returns a failed expectation as a line.
func (r result) String() string {
	text := "want " + r.Want + ", got " + r.Got
	if len(r.Rules) > 0 {
		text += " by " + strings.Join(r.Rules, ", ")
	}
	if len(r.Problems) > 0 {
		text += " (" + strings.Join(r.Problems, "; ") + ")"
	}
	return text
}

// idsOf returns the ids of rules, never nil.
func idsOf(rules []policy.Rule) []string {
	ids := show.Names(rules, func(r policy.Rule) string { return r.ID })
	return slices.Compact(append([]string{}, ids...))
}
