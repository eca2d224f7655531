package tools

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
)

// lintRow is one finding where several tools' findings stand together, in a baseline for one.
type lintRow struct {
	Server   string      `json:"server"`
	Tool     string      `json:"tool"`
	Provider string      `json:"provider"`
	Rule     schema.Rule `json:"rule"`
	Path     string      `json:"path"`
}

// sieve takes findings out that nobody wants to see.
type sieve struct {
	ignored []schema.Rule
	known   map[lintRow]bool // of a baseline: whether it was met
	all     []lintRow        // that were left
}

// newSieve reads the rules' names, and the baseline if there is one.
func newSieve(rules []string, baseline string, read func(string) ([]byte, error)) (*sieve, error) {
	v := &sieve{known: map[lintRow]bool{}}
	for _, name := range rules {
		rule, err := ruleNamed(name)
		if err != nil {
			return nil, err
		}
		v.ignored = append(v.ignored, rule)
	}
	if baseline == "" {
		return v, nil
	}
	raw, err := read(baseline)
	if err != nil {
		return nil, err
	}
	var file struct{ Findings []lintRow }
	if err := json.Unmarshal(raw, &file); err != nil || file.Findings == nil {
		return nil, command.Usagef("%s is no baseline: --write-baseline writes one", baseline)
	}
	for _, r := range file.Findings {
		v.known[r] = false
	}
	return v, nil
}

// drops reports whether a finding is not to be seen. A nil sieve drops nothing.
func (v *sieve) drops(server, tool string, f Finding) bool {
	if v == nil {
		return false
	}
	r := lintRow{server, tool, f.Provider, f.Rule, f.Path}
	if slices.Contains(v.ignored, f.Rule) {
		return true
	}
	if _, ok := v.known[r]; ok {
		v.known[r] = true
		return true
	}
	v.all = append(v.all, r)
	return false
}

// gone is how many findings of the baseline are no more.
func (v *sieve) gone() (n int) {
	for _, met := range v.known {
		if !met {
			n++
		}
	}
	return n
}

// write makes a baseline of what was found.
func (v *sieve) write(file string) error {
	slices.SortStableFunc(v.all, func(a, b lintRow) int {
		return strings.Compare(fmt.Sprintf("%+q", a), fmt.Sprintf("%+q", b))
	})
	raw, err := json.MarshalIndent(map[string][]lintRow{"findings": append([]lintRow{}, slices.Compact(v.all)...)}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o644)
}

func ruleNamed(name string) (schema.Rule, error) {
	var known []string
	for _, r := range schema.AllRules() {
		known = append(known, string(r))
	}
	if slices.Contains(known, name) {
		return schema.Rule(name), nil
	}
	near := command.DidYouMean(name, known)
	if near == "" {
		near = ": there is " + strings.Join(known, ", ")
	}
	return "", command.Usagef("no rule %q%s", name, near)
}

// explainRule says what a rule asks, and of each provider what it accepts and where that is from.
func explainRule(w io.Writer, name string) error {
	rule, err := ruleNamed(name)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", rule, rule.About())
	for _, p := range schema.Profiles() {
		accepted, source := p.Rules().Accepts(rule), p.Rules().Sources[rule]
		if source.At == "" {
			continue
		}
		fmt.Fprintf(&b, "\n%s (%s)\n", p.Name(), classText(source.Class, source.Date))
		if accepted != "" {
			fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(accepted, "`", ""))
		}
		fmt.Fprintf(&b, "    %s\n", link(source.At))
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func classText(c schema.Class, date string) string {
	return strings.TrimSpace(string(c) + " " + date)
}

// link is a source that can be opened.
func link(source string) string {
	if repo, number, ok := strings.Cut(source, "#"); ok && !strings.Contains(source, "://") {
		return "https://github.com/" + repo + "/issues/" + number
	}
	return source
}

// githubLevel is how bad a finding is.
func githubLevel(f Finding) string {
	switch {
	case f.Ignored:
		return "notice"
	case f.Class == schema.Conservative:
		return "warning"
	}
	return "error"
}

// reported are a tool's findings that the question is about, and that it is quarantined as one more.
func (t *ToolReport) reported(asked bool) []Finding {
	found := t.Refused
	if asked {
		found = nil
	}
	for _, f := range t.Findings {
		if asked || isOwnFinding(f) {
			found = append(found[:len(found):len(found)], f)
		}
	}
	if t.Quarantined != "" {
		found = append(found, Finding{indusProvider, schema.Finding{Rule: "quarantined", Message: t.Quarantined}})
	}
	return found
}

// printMarkdown prints a table of what was found.
func (r *lintReport) printMarkdown(w io.Writer, asked bool) error {
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	var b strings.Builder
	b.WriteString("| | tool | where | rule | | provider | source |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range r.Tools {
		t := &r.Tools[i]
		for _, f := range t.reported(asked) {
			source := ""
			if f.Source != "" {
				source = fmt.Sprintf("[%s](%s)", classText(f.Class, f.Date), link(f.Source))
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", githubLevel(f), cell.Replace(show.Clean(t.Name)), cell.Replace(show.Clean(f.Path)), f.Rule,
				cell.Replace(show.Clean(f.Message)), f.Provider, source)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printGitHub prints workflow commands, which GitHub shows beside a change.
func (r *lintReport) printGitHub(w io.Writer, asked bool, files []string) error {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	var b strings.Builder
	for i := range r.Tools {
		t := &r.Tools[i]
		for _, f := range t.reported(asked) {
			file := ""
			if slices.Contains(files, t.Server) {
				file = "file=" + property.Replace(t.Server) + ","
			}
			message := fmt.Sprintf("%s: %s: %s (%s)", t.Name, placeText(f.Path, f.Rule), f.Message, f.Provider)
			fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", githubLevel(f), file, property.Replace("indus "+string(f.Rule)), text.Replace(show.Clean(message)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printSources says of each rule that was broken where it is from.
func (r *lintReport) printSources(w io.Writer, shown func(Finding) bool) error {
	type cited struct{ provider, rule, class, at string }
	var all []cited
	for i := range r.Tools {
		for _, f := range r.Tools[i].Findings {
			c := cited{f.Provider, string(f.Rule), classText(f.Class, f.Date), link(f.Source)}
			if shown(f) && f.Source != "" && !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nsources; indus mcp lint --explain RULE says more")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range all {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", c.provider, c.rule, c.class, c.at)
	}
	return t.Flush()
}
