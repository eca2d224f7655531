package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
)

const (
	maxPlace    = 80 // of a longer path the end is cut
	maxPlaces   = 4  // further places of one thing are counted
	maxHeads    = 4  // further tools with one thing are counted
	manyShare   = 3  // what so many tools have in common is said once
	maxLines    = 20 // further lines of one group are counted
	maxAccepted = 64 // a longer list of what is accepted is left out
)

// remark is one thing to say of a tool, with every place in it where it is so.
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

// remarks are what there is to say of a tool, each text once.
type remarks []remark

// add adds a remark, or a place to the one of that text.
func (r *remarks) add(place, text string) {
	i := slices.IndexFunc(*r, func(m remark) bool { return m.text == text })
	if i < 0 {
		i, *r = len(*r), append(*r, remark{text: text})
	}
	m := &(*r)[i]
	if place = show.Cut(place, maxPlace); place != "" && !slices.Contains(m.places, place) {
		m.places = append(m.places, place)
	}
}

func (r *remarks) addQuarantine(t *ToolReport) {
	if t.Quarantined != "" {
		r.add("", "quarantined: "+t.Quarantined)
	}
}

func (r *remarks) addChange(c schema.Change) {
	said := []string{c.Did}
	if what, ok := strings.CutPrefix(c.Did, "dropped "); ok && strings.HasPrefix(c.Lost, what) {
		said = []string{"lost " + c.Lost} // or else it is said twice
	} else if c.Lost != "" {
		said = append(said, "lost: "+c.Lost)
	}
	if c.Narrowed != "" {
		said = append(said, "narrowed: "+c.Narrowed)
	}
	r.add(placeText(c.Path, c.Rule), strings.Join(said, "; "))
}

// mountRemarks are about the mounted tool: what is wrong, what is lost, and with all every change.
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

// providerRemarks are about what providers refuse of a tool that nobody rewrites for them. Where there are several
// they are named; what is only dropped is then said where all is wanted.
func providerRemarks(t *ToolReport, several, all bool) (r remarks) {
	r.addQuarantine(t)
	for _, o := range objections(t.Findings) {
		text := o.text()
		refuse, warn := o.who[levelError], o.who[levelWarning]
		if several {
			text += " (" + o.whoText() + ")"
		} else if refuse == nil && warn != nil {
			text = "warning: " + text
		}
		if !several || all || refuse != nil || slices.Contains(warn, indusProvider) {
			r.add(o.place, text)
		}
	}
	return r
}

// placeText is where in a tool something is; "" where what it is says that.
func placeText(path string, rule schema.Rule) string {
	if path == "" && rule != schema.RuleName && rule != schema.RuleDescription {
		return "root"
	}
	return path
}

// objection is what several providers have to say about one place.
type objection struct {
	place, wrong string
	accepted     string              // by each of them there; "" where they differ
	who          map[string][]string // by level
}

func objections(all []Finding) (out []*objection) {
	type key struct {
		place string
		rule  schema.Rule
		wrong string
	}
	known := map[key]*objection{}
	for _, f := range all {
		wrong, accepted, _ := strings.Cut(f.Message, "; ")
		at := key{placeText(f.Path, f.Rule), f.Rule, wrong}
		if at.rule == schema.RuleUnlisted { // one drops or does not list what another refuses
			at.rule = schema.RuleKeyword
		}
		anything := key{place: at.place, rule: at.rule} // whoever drops something has own words for it
		o := known[at]
		if o == nil && f.Ignored {
			o = known[anything]
		}
		if o == nil {
			o = &objection{at.place, wrong, accepted, map[string][]string{}}
			known[at], known[anything] = o, o
			out = append(out, o)
		}
		if o.accepted != accepted {
			o.accepted = ""
		}
		o.who[f.level()] = append(o.who[f.level()], f.Provider)
	}
	return out
}

// text is what is wrong, and what is accepted where that is short.
func (o *objection) text() string {
	if o.accepted == "" || len(o.accepted) > maxAccepted {
		return o.wrong
	}
	return o.wrong + "; " + o.accepted
}

func (o *objection) whoText() string {
	var parts []string
	for _, l := range []struct{ level, before, after string }{{levelError, "", ""}, {levelWarning, "warning: ", ""}, {levelNotice, "", " drops it"}} {
		if names := o.who[l.level]; names != nil {
			parts = append(parts, l.before+strings.Join(names, ", ")+l.after)
		}
	}
	return strings.Join(parts, "; ")
}

// remarkGroup is lines that are about several tools at once.
type remarkGroup struct {
	of    []int // their indices
	lines []string
}

// writeRemarks writes what there is to say of each tool, and nothing of the others.
func writeRemarks(p *show.Page, all []ToolReport, of func(*ToolReport) remarks) {
	for server, tools := range show.GroupBy(all, func(t ToolReport) string { return t.Server }) {
		groups := groupRemarks(tools, of)
		if len(groups) == 0 {
			continue
		}
		p.Printf("%s  %s\n", server, show.Count(len(tools), "tool"))
		for _, g := range groups {
			names := show.Names(g.of, func(i int) string { return cmp.Or(tools[i].Name, "(a row without a name)") })
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

// groupRemarks are first the groups of what many tools have in common, then one a tool.
func groupRemarks(tools []ToolReport, of func(*ToolReport) remarks) []remarkGroup {
	said := make([][]string, len(tools))
	who := map[string][]int{}
	for i := range tools {
		for _, m := range of(&tools[i]) {
			said[i] = append(said[i], m.String())
			who[m.String()] = append(who[m.String()], i)
		}
	}
	var shared, own []remarkGroup
	for i, lines := range said {
		mine := remarkGroup{of: []int{i}}
		for _, line := range lines {
			switch among := who[line]; {
			case len(among) < manyShare:
				mine.lines = append(mine.lines, line)
			case among[0] == i:
				n := slices.IndexFunc(shared, func(g remarkGroup) bool { return slices.Equal(g.of, among) })
				if n < 0 {
					n, shared = len(shared), append(shared, remarkGroup{of: among})
				}
				shared[n].lines = append(shared[n].lines, line)
			}
		}
		if mine.lines != nil {
			own = append(own, mine)
		}
	}
	slices.SortStableFunc(shared, func(a, b remarkGroup) int { return len(b.of) - len(a.of) })
	return append(shared, own...)
}

// writeMounted says what mounting makes of all tools, and which provider would refuse how many without it.
func (r *lintReport) writeMounted(p *show.Page) {
	s := r.Summary
	p.Printf("%s, mounted for %s: %d as they are, %d changed", show.Count(s.Tools, "tool"), r.Profile, s.Unchanged, s.Changed)
	if s.Lossy > 0 {
		p.Printf(" (%d with a loss)", s.Lossy)
	}
	p.Printf(", %d quarantined", s.Quarantined)
	if s.Refused > 0 {
		p.Printf(", %d refused even so", s.Refused)
	}
	who := show.Names(s.AsTheyAre, func(c providerCount) string {
		if c.Refused == 0 {
			return ""
		}
		return fmt.Sprintf("%s %d", c.Provider, c.Refused)
	})
	if who != nil {
		p.Printf("\nas they are, they would be refused by: %s", strings.Join(who, ", "))
	}
	p.Printf("\n")
	r.writeCounts(p, []string{r.Profile})
}

// writeTaken says how each provider takes the tools as they are.
func (r *lintReport) writeTaken(p *show.Page) {
	s := r.Summary
	p.Printf("%s", show.Count(s.Tools, "tool"))
	if s.Quarantined > 0 {
		p.Printf(", %d quarantined", s.Quarantined)
	}
	p.Printf("\n")
	var t show.Table
	for _, c := range s.AsTheyAre {
		if c.Provider == command.ClientProfile && c.Refused == 0 && len(r.Providers) > 0 {
			continue // nobody asked about it
		}
		says := "takes them all"
		switch {
		case c.Refused > 0:
			says = fmt.Sprintf("refuses %d", c.Refused)
		case s.Quarantined > 0:
			says = "takes the rest"
		}
		if c.Dropped > 0 {
			says += fmt.Sprintf(", drops parts of %d", c.Dropped)
		}
		if c.Warned > 0 {
			says += fmt.Sprintf(", warnings for %d", c.Warned)
		}
		t.Add("  "+c.Provider, says)
	}
	p.WriteString(t.String())
	r.writeCounts(p, r.Providers)
}

// writeCounts says for which providers the tools are too many, and what to do.
func (r *lintReport) writeCounts(p *show.Page, of []string) {
	found := show.Where(r.Counts, func(f Finding) bool { return slices.Contains(of, f.Provider) })
	for message, all := range show.GroupBy(found, func(f Finding) string { return f.Message }) {
		p.Printf("%s (%s)\n", message, strings.Join(show.Names(all, func(f Finding) string { return f.Provider }), ", "))
	}
}

// writeSources says of each rule that was broken where it is from.
func (r *lintReport) writeSources(p *show.Page, shown func(Finding) bool) {
	var said []string
	var all show.Table
	for _, t := range r.Tools {
		for _, f := range t.Findings {
			cells := []string{"  " + f.Provider, string(f.Rule), classText(f.Class, f.Date), link(f.Source)}
			if one := strings.Join(cells, " "); shown(f) && f.Source != "" && !slices.Contains(said, one) {
				said = append(said, one)
				all.Add(cells...)
			}
		}
	}
	if said != nil {
		p.Printf("\nsources; indus mcp lint --explain RULE says more\n")
		p.WriteString(all.String())
	}
}
