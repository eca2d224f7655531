package tools

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/validate"
	"github.com/indusagi/indus/toolbox"
)

// lintReport is what lint found, as --json prints it.
type lintReport struct {
	Profile   string        `json:"profile"`   // what mounting is tried with
	Providers []string      `json:"providers"` // who is asked about the tools as they are
	Tools     []ToolReport  `json:"tools"`
	Counts    []Finding     `json:"counts"` // about how many tools there are
	Faults    []faultReport `json:"faults"` // servers that could not be asked
	Summary   summary       `json:"summary"`
}

// ToolReport is one tool, or a row of a list that is none.
type ToolReport struct {
	Name        string          `json:"name"` // as it is mounted; a file's tool has its own
	Server      string          `json:"server"`
	Tool        string          `json:"tool"`     // its owner's name for it
	Findings    []Finding       `json:"findings"` // in the tool as it is
	Changes     []schema.Change `json:"changes"`  // that mounting makes
	Refused     []Finding       `json:"refused"`  // what is refused even so
	Quarantined string          `json:"quarantined,omitempty"`
}

// Finding is what one provider does not take.
type Finding struct {
	Provider string `json:"provider"`
	schema.Finding
}

type faultReport struct {
	Server string       `json:"server"`
	Kind   interop.Kind `json:"kind"`
	Fault  string       `json:"fault"`
	Try    string       `json:"try"`
}

// summary counts tools. A tool that is not quarantined is either unchanged or changed.
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

// providerCount counts tools by the worst that a provider does with them.
type providerCount struct {
	Provider string `json:"provider"`
	Refused  int    `json:"refused"`
	Dropped  int    `json:"dropped"` // parts of them, in silence
	Warned   int    `json:"warned"`
}

// The levels of findings, as GitHub calls them.
const (
	levelError   = "error"
	levelWarning = "warning" // the provider does not list it
	levelNotice  = "notice"  // the provider drops it
)

func (f Finding) level() string {
	switch {
	case f.Ignored:
		return levelNotice
	case f.Class == schema.Conservative:
		return levelWarning
	}
	return levelError
}

// Refuses reports a finding for which a provider refuses the tool.
func Refuses(f Finding) bool { return f.level() == levelError }

// indusProvider is who warns of what is wrong to no provider and no client.
const indusProvider = "indus"

func isOwnFinding(f Finding) bool {
	return f.Provider == indusProvider || f.Provider == command.ClientProfile
}

func losesMeaning(c schema.Change) bool { return c.Lost != "" || c.Narrowed != "" }

func findingsOf(provider string, found ...schema.Finding) (out []Finding) {
	for _, f := range found {
		out = append(out, Finding{provider, f})
	}
	return out
}

// Examiner examines tools.
type Examiner struct {
	Profile  *schema.Profile   // what they are mounted with
	asked    []*schema.Profile // who is asked about them as they are
	bare     map[string]bool   // servers that are a schema alone
	files    map[string]string // the file that a server is; nil: servers are servers
	baseline *baseline         // of findings that are left out; nil: none
}

// examine looks at everything that is mounted, unless ctx ends.
func (x *Examiner) examine(ctx context.Context, m *interop.Mounted) (*lintReport, error) {
	r := &lintReport{
		Profile: x.Profile.Name(), Providers: command.NamesOf(x.asked),
		Tools: []ToolReport{}, Counts: []Finding{}, Faults: []faultReport{},
	}
	order := map[string]int{}
	for i, st := range m.Fleet.Status() {
		order[st.Server] = i
		if st.Fault != nil && x.files == nil {
			r.Faults = append(r.Faults, faultReport{st.Server, st.Fault.Kind, st.Fault.Error(), st.Fault.Advice()})
		}
	}
	descriptions := ForModels(m.Box)
	for _, d := range m.Box.Snapshot("").Tools {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r.Tools = append(r.Tools, x.Tool(d, descriptions[d.Name]))
	}
	for _, q := range m.Fleet.Quarantined() {
		if q.Published { // then the box has it, with the reason
			continue
		}
		t := newToolReport("", q.Server, q.Tool, q.Reason)
		if q.Tool != "" {
			t.Name = interop.QualifiedName(q.Server, q.Tool)
		}
		r.Tools = append(r.Tools, t)
	}
	slices.SortStableFunc(r.Tools, func(a, b ToolReport) int { return cmp.Compare(order[a.Server], order[b.Server]) })
	r.summarize(x.asked)
	x.counts(r, m.Box)
	for i := range r.Tools { // the tools of files have their own names
		if t := &r.Tools[i]; x.files != nil {
			t.Name, t.Server = t.Tool, x.files[t.Server]
		}
	}
	return r, nil
}

func newToolReport(name, server, tool, quarantined string) ToolReport {
	return ToolReport{
		Name: name, Server: server, Tool: tool, Quarantined: Reason(quarantined),
		Findings: []Finding{}, Changes: []schema.Change{}, Refused: []Finding{},
	}
}

// Tool is one that is mounted, shown to models with that description or not at all.
func (x *Examiner) Tool(d toolbox.Descriptor, description string) ToolReport {
	t := newToolReport(d.Name, d.Server, d.Tool, d.Excluded)
	for _, p := range x.asked {
		for _, f := range schema.Check(d.Schema, p) {
			if f.Rule != schema.RuleSize { // our own bound, for which it is quarantined
				t.Findings = append(t.Findings, Finding{p.Name(), f})
			}
		}
		if !x.bare[d.Server] {
			t.Findings = append(t.Findings, findingsOf(p.Name(), schema.CheckTool(d.Tool, d.Description, p)...)...)
		}
	}
	t.Findings = append(append(t.Findings, checkClients(d.Wire.JSON)...), checkOurs(d)...)
	server := cmp.Or(x.files[d.Server], d.Server)
	t.Findings = slices.DeleteFunc(t.Findings, func(f Finding) bool { return x.baseline.leavesOut(server, d.Tool, f) })
	if d.Excluded != "" {
		return t
	}
	if d.Name != d.Server+interop.Qualifier+d.Tool {
		did := "named it " + d.Name
		if x.files != nil {
			did = "gave it a name that every provider takes"
		}
		t.Changes = append(t.Changes, schema.Change{Rule: schema.RuleName, Did: did})
	}
	t.Changes = append(t.Changes, d.Changes...)
	t.Refused = append(t.Refused, findingsOf(x.Profile.Name(), schema.Check(d.Parameters, x.Profile)...)...)
	if !x.bare[d.Server] {
		t.Refused = append(t.Refused, findingsOf(x.Profile.Name(), schema.CheckTool(d.Name, description, x.Profile)...)...)
	}
	return t
}

// checkClients finds flaws for which a client refuses the whole list of tools. Paths lead into the tool.
func checkClients(tool []byte) (found []Finding) {
	if len(tool) == 0 { // it is no server's
		return nil
	}
	_, flaws := protocol.Mend(tool, true)
	for _, f := range flaws {
		who := ": clients refuse the whole list"
		if f.Legacy {
			who = ": legacy clients refuse the whole list"
		}
		found = append(found, Finding{command.ClientProfile, schema.Finding{
			Path: f.Path, Rule: schema.RuleForm, Message: f.Why + who, Class: schema.Documented,
			Source: "https://github.com/modelcontextprotocol/typescript-sdk/blob/v1.x/src/types.ts",
		}})
	}
	return found
}

// checkOurs finds hidden characters, schemas that grow, and parts of a schema that arguments are not checked against.
func checkOurs(d toolbox.Descriptor) []Finding {
	var unchecked []string
	if v, err := validate.New(d.Schema); err != nil {
		unchecked = []string{"arguments are not checked: " + strings.TrimPrefix(err.Error(), "validate: ")}
	} else {
		for _, note := range v.Notes() {
			unchecked = append(unchecked, "where arguments are checked, "+note)
		}
	}
	found := findingsOf(indusProvider, schema.CheckHidden(d.Description, d.Schema)...)
	found = append(found, findingsOf(indusProvider, schema.CheckGrowth(d.Schema, d.Parameters)...)...)
	for _, message := range unchecked {
		found = append(found, Finding{indusProvider, schema.Finding{
			Rule: schema.RuleUnchecked, Message: message, Class: schema.Conservative,
			Source: "https://pkg.go.dev/github.com/indusagi/indus/schema/validate",
		}})
	}
	return found
}

// Reason is why a tool is quarantined, without the package that found out.
func Reason(why string) string { return strings.TrimPrefix(why, "schema: ") }

// ForModels is the descriptions that models are shown, by the tools' names.
func ForModels(box *toolbox.Box) map[string]string {
	out := map[string]string{}
	for _, d := range box.Descriptors() {
		out[d.Name] = d.Description
	}
	return out
}

// summarize counts the tools.
func (r *lintReport) summarize(asked []*schema.Profile) {
	s := &r.Summary
	s.Tools = len(r.Tools)
	for _, name := range append(command.NamesOf(asked), command.ClientProfile) {
		s.AsTheyAre = append(s.AsTheyAre, providerCount{Provider: name})
	}
	for _, t := range r.Tools {
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
		for i := range s.AsTheyAre {
			c, met := &s.AsTheyAre[i], map[string]bool{}
			for _, f := range t.Findings {
				met[f.level()] = met[f.level()] || f.Provider == c.Provider
			}
			switch {
			case met[levelError]:
				c.Refused++
			case met[levelNotice]:
				c.Dropped++
			case met[levelWarning]:
				c.Warned++
			}
		}
	}
}

// counts asks about the number of tools that a model is shown.
func (x *Examiner) counts(r *lintReport, box *toolbox.Box) {
	shown := r.Summary.Tools - r.Summary.Quarantined
	for _, p := range x.asked {
		if p != x.Profile {
			r.Counts = append(r.Counts, findingsOf(p.Name(), schema.CheckCount(shown, p)...)...)
		}
	}
	r.Counts = append(r.Counts, findingsOf(x.Profile.Name(), box.Findings()...)...)
	r.Counts = slices.DeleteFunc(r.Counts, func(f Finding) bool { return x.baseline.ignores(f.Rule) })
}
