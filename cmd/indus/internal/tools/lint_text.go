package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
)

const (
	maxPlace    = 80 // characters of a path; the rest is cut
	maxPlaces   = 4  // places in a remark; more are counted
	maxHeads    = 4  // tools in a heading; more are counted
	minShared   = 3  // a remark on so many tools is written once
	maxLines    = 20 // lines of a group; more are counted
	maxAccepted = 64 // characters; a longer list of accepted values is left out
)

// remark is a text about a tool, with the places in the tool to which it applies.
type remark struct {
	text   string
	places []string
}

func (m remark) String() string {
	if len(m.places) == 0 {
		return m.text
	}
	return show.List(m.places, maxPlaces, "places") + ": " + m.text
}

// remarks holds the remarks on a tool. No two have the same text.
type remarks []remark

// add adds a remark. If a remark with this text exists, it adds the place to that remark.
func (r *remarks) add(place, text string) {
	i := slices.IndexFunc(*r, func(m remark) bool { return m.text == text })
	if i < 0 {
		i, *r = len(*r), append(*r, remark{text: text})
	}
	m := &(*r)[i]
	place = show.Cut(place, maxPlace)
	if place != "" && !slices.Contains(m.places, place) {
		m.places = append(m.places, place)
	}
}

func (r *remarks) addQuarantine(t *ToolReport) {
	if t.Quarantined != "" {
		r.add("", "quarantined: "+t.Quarantined)
	}
}

func (r *remarks) addChange(c schema.Change) {
	parts := []string{c.Did}
	if what, ok := strings.CutPrefix(c.Did, "dropped "); ok && strings.HasPrefix(c.Lost, what) {
		parts = []string{"lost " + c.Lost} // "dropped" would repeat it
	} else if c.Lost != "" {
		parts = append(parts, "lost: "+c.Lost)
	}
	if c.Narrowed != "" {
		parts = append(parts, "narrowed: "+c.Narrowed)
	}
	r.add(placeText(c.Path, c.Rule), strings.Join(parts, "; "))
}

// mountRemarks returns the remarks on a mounted tool: faults and losses, and with all every change.
func mountRemarks(t *ToolReport, all bool) (r remarks) {
	r.addQuarantine(t)
	for _, o := range objections(t.Refused) {
		r.add(o.place, "refused even so: "+o.text())
	}
	for _, c := range t.Changes {
		if all || losesMeaning(c) {
			r.addChange(c)
		}
	}
	for _, f := range t.Findings {
		switch f.Provider {
		case indusProvider:
			r.add(placeText(f.Path, f.Rule), "warning: "+f.Message)
		case command.ClientProfile:
			r.add(f.Path, f.Message)
		}
	}
	return r
}

// providerRemarks returns the objections of providers to an unchanged tool. If several is true, remarks name the
// providers, and only with all are warnings of providers and dropped parts included.
func providerRemarks(t *ToolReport, several, all bool) (r remarks) {
	r.addQuarantine(t)
	for _, o := range objections(t.Findings) {
		text := o.text()
		refuse, warn := o.providers[levelError], o.providers[levelWarning]
		if several {
			text += " (" + o.providersText() + ")"
		} else if refuse == nil && warn != nil {
			text = "warning: " + text
		}
		if !several || all || refuse != nil || slices.Contains(warn, indusProvider) {
			r.add(o.place, text)
		}
	}
	return r
}

// placeText returns the place of a finding in a tool. It is "" if the rule implies the place.
func placeText(path string, broken rule.Rule) string {
	if path == "" && broken != rule.Name && broken != rule.Description {
		return "root"
	}
	return path
}

// objection collects the findings of several providers on one place.
type objection struct {
	place, fault string
	accepted     string              // accepted values; "" if the providers differ
	providers    map[string][]string // providers by level
}

func objections(all []Finding) (out []*objection) {
	type key struct {
		place string
		rule  rule.Rule
		fault string
	}
	known := map[key]*objection{}
	for _, f := range all {
		fault, accepted, _ := strings.Cut(f.Message, "; ")
		at := key{placeText(f.Path, f.Rule), f.Rule, fault}
		if at.rule == rule.Unlisted { // some providers refuse a keyword, and others drop it or do not list it
			at.rule = rule.Keyword
		}
		anything := key{place: at.place, rule: at.rule} // messages on dropped parts differ
		o := known[at]
		if o == nil && f.Ignored {
			o = known[anything]
		}
		if o == nil {
			o = &objection{at.place, fault, accepted, map[string][]string{}}
			known[at], known[anything] = o, o
			out = append(out, o)
		}
		if o.accepted != accepted {
			o.accepted = ""
		}
		o.providers[f.level()] = append(o.providers[f.level()], f.Provider)
	}
	return out
}

// text returns the fault, and the accepted values if they are short.
func (o *objection) text() string {
	if o.accepted == "" || len(o.accepted) > maxAccepted {
		return o.fault
	}
	return o.fault + "; " + o.accepted
}

func (o *objection) providersText() string {
	var parts []string
	for _, l := range []struct{ level, before, after string }{
		{levelError, "", ""}, {levelWarning, "warning: ", ""}, {levelNotice, "", " drops it"},
	} {
		if names := o.providers[l.level]; names != nil {
			parts = append(parts, l.before+strings.Join(names, ", ")+l.after)
		}
	}
	return strings.Join(parts, "; ")
}

// remarkGroup holds lines that apply to the same tools.
type remarkGroup struct {
	tools []int // indices of the tools
	lines []string
}

// writeRemarks writes the remarks on each tool. It leaves out tools without remarks.
func writeRemarks(p *show.Page, all []ToolReport, remarksOf func(*ToolReport) remarks) {
	for server, tools := range show.GroupBy(all, func(t ToolReport) string { return t.Server }) {
		groups := groupRemarks(tools, remarksOf)
		if len(groups) == 0 {
			continue
		}
		p.Printf("%s  %s\n", server, show.Count(len(tools), "tool"))
		for _, g := range groups {
			names := show.Names(g.tools, func(i int) string { return cmp.Or(tools[i].Name, "(a row without a name)") })
			heading := show.List(names, maxHeads, "tools")
			if len(names) == len(tools) && len(names) > 1 {
				heading = "all " + show.Count(len(names), "tool")
			}
			p.Printf("  %s\n", heading)
			shown := g.lines
			if len(shown) > maxLines+1 {
				shown = shown[:maxLines]
			}
			for _, line := range shown {
				p.Printf("      %s\n", line)
			}
			if more := len(g.lines) - len(shown); more > 0 {
				p.Printf("      and %d more; --json has them all\n", more)
			}
		}
		p.Printf("\n")
	}
}

// groupRemarks returns the groups of lines that many tools share, and then a group for each tool.
func groupRemarks(tools []ToolReport, remarksOf func(*ToolReport) remarks) []remarkGroup {
	texts := make([][]string, len(tools))
	toolsOf := map[string][]int{}
	for i := range tools {
		for _, m := range remarksOf(&tools[i]) {
			texts[i] = append(texts[i], m.String())
			toolsOf[m.String()] = append(toolsOf[m.String()], i)
		}
	}
	var shared, own []remarkGroup
	for i, lines := range texts {
		toolGroup := remarkGroup{tools: []int{i}}
		for _, line := range lines {
			switch sharers := toolsOf[line]; {
			case len(sharers) < minShared:
				toolGroup.lines = append(toolGroup.lines, line)
			case sharers[0] == i:
				n := slices.IndexFunc(shared, func(g remarkGroup) bool { return slices.Equal(g.tools, sharers) })
				if n < 0 {
					n, shared = len(shared), append(shared, remarkGroup{tools: sharers})
				}
				shared[n].lines = append(shared[n].lines, line)
			}
		}
		if toolGroup.lines != nil {
			own = append(own, toolGroup)
		}
	}
	slices.SortStableFunc(shared, func(a, b remarkGroup) int { return len(b.tools) - len(a.tools) })
	return append(shared, own...)
}

// writeMounted writes the result of mounting all tools, and how many tools each provider would refuse without it.
func (r *lintReport) writeMounted(p *show.Page) {
	s := r.Summary
	p.Printf("%s, mounted for %s: %d as they are, %d changed", show.Count(s.Tools, "tool"), r.Profile, s.Unchanged,
		s.Changed)
	if s.Lossy > 0 {
		p.Printf(" (%d with a loss)", s.Lossy)
	}
	p.Printf(", %d quarantined", s.Quarantined)
	if s.Refused > 0 {
		p.Printf(", %d refused even so", s.Refused)
	}
	refusals := show.Names(s.AsTheyAre, func(c providerCount) string {
		if c.Refused == 0 {
			return ""
		}
		return fmt.Sprintf("%s %d", c.Provider, c.Refused)
	})
	if refusals != nil {
		p.Printf("\nas they are, they would be refused by: %s", strings.Join(refusals, ", "))
	}
	p.Printf("\n")
	r.writeCounts(p, []string{r.Profile})
}

// writeRefusals writes how many of the unchanged tools each provider refuses.
func (r *lintReport) writeRefusals(p *show.Page) {
	s := r.Summary
	p.Printf("%s", show.Count(s.Tools, "tool"))
	if s.Quarantined > 0 {
		p.Printf(", %d quarantined", s.Quarantined)
	}
	p.Printf("\n")
	var t show.Table
	for _, c := range s.AsTheyAre {
		if c.Provider == command.ClientProfile && c.Refused == 0 && len(r.Providers) > 0 {
			continue // it was not selected
		}
		verdict := "takes them all"
		switch {
		case c.Refused > 0:
			verdict = fmt.Sprintf("refuses %d", c.Refused)
		case s.Quarantined > 0:
			verdict = "takes the rest"
		}
		if c.Dropped > 0 {
			verdict += fmt.Sprintf(", drops parts of %d", c.Dropped)
		}
		if c.Warned > 0 {
			verdict += fmt.Sprintf(", warnings for %d", c.Warned)
		}
		t.Add("  "+c.Provider, verdict)
	}
	p.WriteString(t.String())
	r.writeCounts(p, r.Providers)
}

// writeCounts writes the findings on the number of tools, with their providers.
func (r *lintReport) writeCounts(p *show.Page, providers []string) {
	found := show.Where(r.Counts, func(f Finding) bool { return slices.Contains(providers, f.Provider) })
	for message, findings := range show.GroupBy(found, func(f Finding) string { return f.Message }) {
		p.Printf("%s (%s)\n", message, strings.Join(show.Names(findings, func(f Finding) string { return f.Provider }), ", "))
	}
}

// writeSources writes the source of each broken rule once.
func (r *lintReport) writeSources(p *show.Page, shown func(Finding) bool) {
	var seen []string
	var all show.Table
	for _, t := range r.Tools {
		for _, f := range t.Findings {
			cells := []string{"  " + f.Provider, string(f.Rule), classText(f.Class, f.Date), sourceURL(f.Source)}
			if one := strings.Join(cells, " "); shown(f) && f.Source != "" && !slices.Contains(seen, one) {
				seen = append(seen, one)
				all.Add(cells...)
			}
		}
	}
	if seen != nil {
		p.Printf("\nsources; indus mcp lint --explain RULE explains a rule\n")
		p.WriteString(all.String())
	}
}
