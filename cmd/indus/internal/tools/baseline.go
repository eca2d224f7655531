package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/schema"
)

// baselineRow is one finding in a baseline.
type baselineRow struct {
	Server   string      `json:"server"`
	Tool     string      `json:"tool"`
	Provider string      `json:"provider"`
	Rule     schema.Rule `json:"rule"`
	Path     string      `json:"path"`
}

// baseline is findings that nobody wants to see. A nil one leaves out nothing.
type baseline struct {
	ignored []schema.Rule
	known   map[baselineRow]bool // of the file: whether it was met
	news    []baselineRow        // the others
}

// newBaseline reads the rules' names, and the file if there is one.
func newBaseline(rules []string, file string, read func(string) ([]byte, error)) (*baseline, error) {
	b := &baseline{known: map[baselineRow]bool{}}
	for _, name := range rules {
		rule, err := ruleNamed(name)
		if err != nil {
			return nil, err
		}
		b.ignored = append(b.ignored, rule)
	}
	if file == "" {
		return b, nil
	}
	raw, err := read(file)
	if err != nil {
		return nil, err
	}
	var rows struct{ Findings []baselineRow }
	if err := json.Unmarshal(raw, &rows); err != nil || rows.Findings == nil {
		return nil, command.Usagef("%s is no baseline: --write-baseline writes one", file)
	}
	for _, r := range rows.Findings {
		b.known[r] = false
	}
	return b, nil
}

func (b *baseline) ignores(r schema.Rule) bool { return b != nil && slices.Contains(b.ignored, r) }

// leavesOut reports whether a finding is not to be seen.
func (b *baseline) leavesOut(server, tool string, f Finding) bool {
	if b == nil || b.ignores(f.Rule) {
		return b != nil
	}
	r := baselineRow{server, tool, f.Provider, f.Rule, f.Path}
	if _, ok := b.known[r]; ok {
		b.known[r] = true
		return true
	}
	b.news = append(b.news, r)
	return false
}

// gone is how many findings of the file are no more.
func (b *baseline) gone() (n int) {
	for _, met := range b.known {
		if !met {
			n++
		}
	}
	return n
}

// write makes a file of what was found.
func (b *baseline) write(file string) error {
	slices.SortStableFunc(b.news, func(a, b baselineRow) int {
		return strings.Compare(fmt.Sprintf("%+q", a), fmt.Sprintf("%+q", b))
	})
	raw, err := json.MarshalIndent(map[string][]baselineRow{"findings": append([]baselineRow{}, slices.Compact(b.news)...)}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o644)
}
