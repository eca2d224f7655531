package tools

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
)

// reported yields each tool's findings that the question is about, with that it is
// quarantined as one more.
func (r *lintReport) reported(asked bool) iter.Seq2[*ToolReport, Finding] {
	return func(yield func(*ToolReport, Finding) bool) {
		for i := range r.Tools {
			t := &r.Tools[i]
			found := slices.DeleteFunc(slices.Clone(t.Findings), func(f Finding) bool { return !asked && !isOwnFinding(f) })
			if !asked {
				found = slices.Concat(t.Refused, found)
			}
			if t.Quarantined != "" {
				found = append(found, Finding{indusProvider, schema.Finding{Rule: "quarantined", Message: t.Quarantined}})
			}
			for _, f := range found {
				if !yield(t, f) {
					return
				}
			}
		}
	}
}

// writeMarkdown writes a table of what was found.
func (r *lintReport) writeMarkdown(p *show.Page, asked bool) {
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace
	p.Printf("| | tool | where | rule | | provider | source |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for t, f := range r.reported(asked) {
		source := ""
		if f.Source != "" {
			source = fmt.Sprintf("[%s](%s)", classText(f.Class, f.Date), link(f.Source))
		}
		p.Printf("| %s | %s | %s | %s | %s | %s | %s |\n", f.level(), cell(t.Name), cell(f.Path), f.Rule, cell(f.Message), f.Provider, source)
	}
}

// writeGitHub writes workflow commands, which GitHub shows beside a change.
func (r *lintReport) writeGitHub(p *show.Page, asked bool, files []string) {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace
	for t, f := range r.reported(asked) {
		file := ""
		if slices.Contains(files, t.Server) {
			file = "file=" + property(t.Server) + ","
		}
		message := fmt.Sprintf("%s: %s: %s (%s)", t.Name, placeText(f.Path, f.Rule), f.Message, f.Provider)
		p.Printf("::%s %stitle=%s::%s\n", f.level(), file, property("indus "+string(f.Rule)), text(show.Clean(message)))
	}
}

// explain prints a rule with what each provider accepts under it, or a provider with its rules.
func explain(s show.Streams, name string) error {
	var p show.Page
	if profile := schema.ProfileNamed(name); profile != nil {
		p.Printf("%s: %s\n", name, profile.About())
		for _, rule := range schema.AllRules() {
			explainSource(&p, string(rule), profile, rule)
		}
		return s.Print(&p)
	}
	rule, err := ruleNamed(name)
	if err != nil {
		return err
	}
	p.Printf("%s: %s\n", rule, rule.About())
	for _, profile := range schema.Profiles() {
		explainSource(&p, profile.Name(), profile, rule)
	}
	return s.Print(&p)
}

// explainSource prints what a provider accepts under a rule, and where that is from.
func explainSource(p *show.Page, title string, profile *schema.Profile, rule schema.Rule) {
	accepted, source := profile.Rules().Accepts(rule), profile.Rules().Sources[rule]
	if source.At == "" {
		return
	}
	p.Printf("\n%s (%s)\n", title, classText(source.Class, source.Date))
	if accepted != "" {
		p.Printf("    %s\n", strings.ReplaceAll(accepted, "`", ""))
	}
	p.Printf("    %s\n", link(source.At))
}

func ruleNamed(name string) (schema.Rule, error) {
	known := show.Names(schema.AllRules(), func(r schema.Rule) string { return string(r) })
	if slices.Contains(known, name) {
		return schema.Rule(name), nil
	}
	return "", command.Usagef("no rule %q%s", name, cmp.Or(command.DidYouMean(name, known), ": there is "+strings.Join(known, ", ")))
}

func classText(c schema.Class, date string) string { return strings.TrimSpace(string(c) + " " + date) }

// link is a source that can be opened.
func link(source string) string {
	if repo, number, ok := strings.Cut(source, "#"); ok && !strings.Contains(source, "://") {
		return "https://github.com/" + repo + "/issues/" + number
	}
	return source
}
