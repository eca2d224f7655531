package tools

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
)

// summary counts tools. Of those that are not quarantined each is either
// unchanged or changed.
type summary struct {
	Tools       int `json:"tools"`
	Unchanged   int `json:"unchanged"`
	Changed     int `json:"changed"`
	Lossy       int `json:"lossy"` // changed, and something is lost or narrowed
	Quarantined int `json:"quarantined"`
	Refused     int `json:"refused"` // as they are mounted
	// AsTheyAre is what each provider that was asked says of the tools as they are.
	AsTheyAre []providerCount `json:"asTheyAre"`
}

// providerCount is how many tools a provider refuses, and of how many it drops parts in
// silence.
type providerCount struct {
	Provider string `json:"provider"`
	Refused  int    `json:"refused"`
	Dropped  int    `json:"dropped"`
	Warned   int    `json:"warned"` // without being refused
}

func summarize(tools []ToolReport, asked []*schema.Profile) summary {
	s := summary{Tools: len(tools)}
	for i := range tools {
		s.add(&tools[i])
	}
	for _, name := range append(command.NamesOf(asked), command.ClientProfile) {
		s.AsTheyAre = append(s.AsTheyAre, takenBy(name, tools))
	}
	return s
}

func (s *summary) add(t *ToolReport) {
	switch {
	case t.Quarantined != "":
		s.Quarantined++
	case len(t.Changes) == 0:
		s.Unchanged++
	default:
		s.Changed++
	}
	if slices.ContainsFunc(t.Changes, losesMeaning) {
		s.Lossy++
	}
	if slices.ContainsFunc(t.Refused, Refuses) {
		s.Refused++
	}
}

func takenBy(provider string, tools []ToolReport) providerCount {
	out := providerCount{Provider: provider}
	for _, t := range tools {
		own := func(f Finding) bool { return f.Provider == provider }
		switch {
		case slices.ContainsFunc(t.Findings, func(f Finding) bool { return own(f) && Refuses(f) }):
			out.Refused++
		case slices.ContainsFunc(t.Findings, func(f Finding) bool { return own(f) && f.Ignored }):
			out.Dropped++
		case slices.ContainsFunc(t.Findings, own):
			out.Warned++
		}
	}
	return out
}

func losesMeaning(c schema.Change) bool { return c.Lost != "" || c.Narrowed != "" }

func Refuses(f Finding) bool { return !f.Ignored && f.Class != schema.Conservative }

// printMounted says in a line what mounting makes of all tools, and in a second
// who would refuse how many without it.
func (r *lintReport) printMounted(w io.Writer) error {
	s := r.Summary
	var b strings.Builder
	fmt.Fprintf(&b, "%s, mounted for %s: %d as they are, %d changed", show.Count(s.Tools, "tool"), r.Profile, s.Unchanged, s.Changed)
	if s.Lossy > 0 {
		fmt.Fprintf(&b, " (%d with a loss)", s.Lossy)
	}
	fmt.Fprintf(&b, ", %d quarantined", s.Quarantined)
	if s.Refused > 0 {
		fmt.Fprintf(&b, ", %d refused even so", s.Refused)
	}
	b.WriteByte('\n')
	var who []string
	for _, t := range s.AsTheyAre {
		if t.Refused > 0 {
			who = append(who, fmt.Sprintf("%s %d", t.Provider, t.Refused))
		}
	}
	if who != nil {
		fmt.Fprintf(&b, "as they are, they would be refused by: %s\n", strings.Join(who, ", "))
	}
	r.writeCounts(&b, func(f Finding) bool { return f.Provider == r.Profile })
	_, err := io.WriteString(w, b.String())
	return err
}

// printTaken says how each provider takes the tools as they are.
func (r *lintReport) printTaken(out io.Writer) error {
	s := r.Summary
	var b strings.Builder
	b.WriteString(show.Count(s.Tools, "tool"))
	if s.Quarantined > 0 {
		fmt.Fprintf(&b, ", %d quarantined", s.Quarantined)
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, t := range s.AsTheyAre {
		if t.Provider == command.ClientProfile && t.Refused == 0 && len(r.Providers) > 0 {
			continue // nobody asked about it
		}
		says := "takes them all"
		switch {
		case t.Refused > 0:
			says = fmt.Sprintf("refuses %d", t.Refused)
		case s.Quarantined > 0:
			says = "takes the rest"
		}
		if t.Dropped > 0 {
			says += fmt.Sprintf(", drops parts of %d", t.Dropped)
		}
		if t.Warned > 0 {
			says += fmt.Sprintf(", warnings for %d", t.Warned)
		}
		fmt.Fprintf(w, "  %s\t%s\n", t.Provider, says)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	r.writeCounts(&b, func(f Finding) bool { return slices.Contains(r.Providers, f.Provider) })
	_, err := io.WriteString(out, b.String())
	return err
}

// writeCounts says of how many tools some providers say that they are too many,
// and what to do.
func (r *lintReport) writeCounts(b *strings.Builder, of func(Finding) bool) {
	var order []string
	who := map[string][]string{}
	for _, f := range r.Counts {
		if !of(f) {
			continue
		}
		if who[f.Message] == nil {
			order = append(order, f.Message)
		}
		who[f.Message] = append(who[f.Message], f.Provider)
	}
	for _, message := range order {
		fmt.Fprintf(b, "%s (%s)\n", show.Clean(message), strings.Join(who[message], ", "))
	}
}
