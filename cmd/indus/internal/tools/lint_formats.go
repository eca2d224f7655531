package tools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
)

// reported yields the findings of each tool that belong in the output. A quarantine counts as one more finding.
func (r *lintReport) reported(namesProviders bool) iter.Seq2[*ToolReport, Finding] {
	return func(yield func(*ToolReport, Finding) bool) {
		for i := range r.Tools {
			t := &r.Tools[i]
			found := slices.DeleteFunc(slices.Clone(t.Findings), func(f Finding) bool {
				return !namesProviders && !isOwnFinding(f)
			})
			if !namesProviders {
				found = slices.Concat(t.Refused, found)
			}
			if t.Quarantined != "" {
				found = append(found, Finding{indusProvider, rule.Finding{Rule: "quarantined", Message: t.Quarantined}})
			}
			for _, f := range found {
				if !yield(t, f) {
					return
				}
			}
		}
	}
}

// writeMarkdown writes the findings as a table.
func (r *lintReport) writeMarkdown(p *show.Page, namesProviders bool) {
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace
	p.Printf("| | tool | where | rule | | provider | source |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for t, f := range r.reported(namesProviders) {
		source := ""
		if f.Source != "" {
			source = fmt.Sprintf("[%s](%s)", classText(f.Class, f.Date), sourceURL(f.Source))
		}
		p.Printf("| %s | %s | %s | %s | %s | %s | %s |\n", f.level(), cell(t.Name), cell(f.Path), f.Rule, cell(f.Message),
			f.Provider, source)
	}
}

// writeGitHub writes the findings as workflow commands, which GitHub shows beside a change.
func (r *lintReport) writeGitHub(p *show.Page, namesProviders bool, files []string) {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace
	for t, f := range r.reported(namesProviders) {
		file := ""
		if slices.Contains(files, t.Server) {
			file = "file=" + property(t.Server) + ","
		}
		message := fmt.Sprintf("%s: %s: %s (%s)", t.Name, placeText(f.Path, f.Rule), f.Message, f.Provider)
		p.Printf("::%s %stitle=%s::%s\n", f.level(), file, property("indus "+string(f.Rule)), text(show.Clean(message)))
	}
}

// explainRule prints a rule with the values that each provider accepts, or a provider with all of its rules.
func explainRule(s show.Streams, name string) error {
	var p show.Page
	if profile := schema.ProfileNamed(name); profile != nil {
		p.Printf("%s: %s\n", name, profile.About())
		for _, r := range rule.All() {
			explainSource(&p, string(r), profile, r)
		}
		return s.Print(&p)
	}
	named, err := ruleNamed(name)
	if err != nil {
		return err
	}
	p.Printf("%s: %s\n", named, named.About())
	for _, profile := range schema.Profiles() {
		explainSource(&p, profile.Name(), profile, named)
	}
	return s.Print(&p)
}

// explainSource prints the values that a provider accepts under a rule, with the source.
func explainSource(p *show.Page, title string, profile *schema.Profile, r rule.Rule) {
	accepted, source := profile.Rules().Accepts(r), profile.Rules().Sources[r]
	if source.At == "" {
		return
	}
	p.Printf("\n%s (%s)\n", title, classText(source.Class, source.Date))
	if accepted != "" {
		p.Printf("    %s\n", strings.ReplaceAll(accepted, "`", ""))
	}
	p.Printf("    %s\n", sourceURL(source.At))
}

func ruleNamed(name string) (rule.Rule, error) {
	known := show.Names(rule.All(), func(r rule.Rule) string { return string(r) })
	if slices.Contains(known, name) {
		return rule.Rule(name), nil
	}
	return "", command.Usagef("no rule %q%s", name,
		cmp.Or(command.DidYouMean(name, known), ": there is "+strings.Join(known, ", ")))
}

func classText(c rule.Class, date string) string { return strings.TrimSpace(string(c) + " " + date) }

// sourceURL returns the URL of a source.
func sourceURL(source string) string {
	if repo, number, ok := strings.Cut(source, "#"); ok && !strings.Contains(source, "://") {
		return "https://github.com/" + repo + "/issues/" + number
	}
	return source
}

// baselineRow is one finding in a baseline.
type baselineRow struct {
	Server   string    `json:"server"`
	Tool     string    `json:"tool"`
	Provider string    `json:"provider"`
	Rule     rule.Rule `json:"rule"`
	Path     string    `json:"path"`
}

// baseline holds the findings to leave out. A nil baseline leaves out nothing.
type baseline struct {
	ignored []rule.Rule
	known   map[baselineRow]bool // rows of the file; true if the finding still occurs
	newRows []baselineRow        // findings that are not in the file
}

// newBaseline checks the names of the rules, and reads the file if there is one.
func newBaseline(rules []string, file string, read func(string) ([]byte, error)) (*baseline, error) {
	b := &baseline{known: map[baselineRow]bool{}}
	for _, name := range rules {
		named, err := ruleNamed(name)
		if err != nil {
			return nil, err
		}
		b.ignored = append(b.ignored, named)
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

func (b *baseline) ignores(r rule.Rule) bool { return b != nil && slices.Contains(b.ignored, r) }

// excludes reports whether a finding is left out, and records it.
func (b *baseline) excludes(server, tool string, f Finding) bool {
	if b == nil || b.ignores(f.Rule) {
		return b != nil
	}
	r := baselineRow{server, tool, f.Provider, f.Rule, f.Path}
	if _, ok := b.known[r]; ok {
		b.known[r] = true
		return true
	}
	b.newRows = append(b.newRows, r)
	return false
}

// outdated returns how many findings of the file no longer occur.
func (b *baseline) outdated() (n int) {
	for _, found := range b.known {
		if !found {
			n++
		}
	}
	return n
}

// write writes a new baseline with the findings that were not left out.
func (b *baseline) write(file string) error {
	slices.SortStableFunc(b.newRows, func(a, b baselineRow) int {
		return strings.Compare(fmt.Sprintf("%+q", a), fmt.Sprintf("%+q", b))
	})
	findings := append([]baselineRow{}, slices.Compact(b.newRows)...)
	raw, err := json.MarshalIndent(map[string][]baselineRow{"findings": findings}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o644)
}
