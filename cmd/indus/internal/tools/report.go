package tools

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
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

// Examiner knows with which eyes tools are looked at.
type Examiner struct {
	Profile *schema.Profile   // what they are mounted with
	asked   []*schema.Profile // who is asked about them as they are
	bare    map[string]bool   // servers that are a schema alone
	owners  map[string]string // what a server is called; nil: by its id
	sieve   *sieve            // nil: all findings are wanted
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
		if st.Fault != nil && x.owners == nil {
			r.Faults = append(r.Faults, faultReport{st.Server, st.Fault.Kind, st.Fault.Error(), st.Fault.Advice()})
		}
	}
	shown := ForModels(m.Box)
	for _, d := range m.Box.Snapshot("").Tools {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r.Tools = append(r.Tools, x.Tool(d, shown[d.Name]))
	}
	for _, q := range m.Fleet.Quarantined() {
		if !q.Published { // or else the box has it, with the reason
			r.Tools = append(r.Tools, rejectedTool(q))
		}
	}
	slices.SortStableFunc(r.Tools, func(a, b ToolReport) int { return cmp.Compare(order[a.Server], order[b.Server]) })
	r.Summary = summarize(r.Tools, x.asked)
	x.counts(r, m.Box)
	x.rename(r)
	return r, nil
}

// Tool is one that is mounted, shown to models with that description or not at all.
func (x *Examiner) Tool(d toolbox.Descriptor, description string) ToolReport {
	t := ToolReport{
		Name: d.Name, Server: d.Server, Tool: d.Tool, Quarantined: Reason(d.Excluded),
		Findings: []Finding{}, Changes: []schema.Change{}, Refused: []Finding{},
	}
	for _, p := range x.asked {
		t.Findings = appendFindings(t.Findings, p, providerFindings(schema.Check(d.Schema, p)))
		if !x.bare[d.Server] {
			t.Findings = appendFindings(t.Findings, p, schema.CheckTool(d.Tool, d.Description, p))
		}
	}
	t.Findings = append(append(t.Findings, checkClients(d.Wire.JSON)...), checkOurs(d)...)
	t.Findings = slices.DeleteFunc(t.Findings, func(f Finding) bool { return x.sieve.drops(x.owner(d.Server), d.Tool, f) })
	if d.Excluded != "" {
		return t
	}
	if c, ok := x.renamed(d); ok {
		t.Changes = append(t.Changes, c)
	}
	t.Changes = append(t.Changes, d.Changes...)
	t.Refused = appendFindings(t.Refused, x.Profile, schema.Check(d.Parameters, x.Profile))
	if !x.bare[d.Server] {
		t.Refused = appendFindings(t.Refused, x.Profile, schema.CheckTool(d.Name, description, x.Profile))
	}
	return t
}

// owner is what a server is called.
func (x *Examiner) owner(server string) string {
	if name, ok := x.owners[server]; ok {
		return name
	}
	return server
}

// indusProvider is who warns of what is wrong to no provider and no client.
const indusProvider = "indus"

func isOwnFinding(f Finding) bool {
	return f.Provider == indusProvider || f.Provider == command.ClientProfile
}

// checkOurs finds what no reader sees, and what arguments are not checked against.
func checkOurs(d toolbox.Descriptor) []Finding {
	found := schema.CheckHidden(d.Description, d.Schema)
	unchecked := func(message string) {
		found = append(found, schema.Finding{
			Rule: schema.RuleUnchecked, Message: message, Class: schema.Conservative,
			Source: "https://pkg.go.dev/github.com/indusagi/indus/schema/validate",
		})
	}
	if v, err := validate.New(d.Schema); err != nil {
		unchecked("arguments are not checked: " + strings.TrimPrefix(err.Error(), "validate: "))
	} else {
		for _, note := range v.Notes() {
			unchecked("where arguments are checked, " + note)
		}
	}
	var out []Finding
	for _, f := range found {
		out = append(out, Finding{indusProvider, f})
	}
	return out
}

// renamed is that a tool is not mounted under its own name.
func (x *Examiner) renamed(d toolbox.Descriptor) (schema.Change, bool) {
	if d.Name == d.Server+interop.Qualifier+d.Tool {
		return schema.Change{}, false
	}
	did := "gave it a name that every provider takes"
	if x.owners == nil {
		did = "named it " + d.Name
	}
	return schema.Change{Rule: schema.RuleName, Did: did}, true
}

// rejectedTool is a row that is no tool.
func rejectedTool(q interop.Quarantine) ToolReport {
	t := ToolReport{
		Server: q.Server, Tool: q.Tool, Quarantined: Reason(q.Reason),
		Findings: []Finding{}, Changes: []schema.Change{}, Refused: []Finding{},
	}
	if q.Tool != "" {
		t.Name = interop.QualifiedName(q.Server, q.Tool)
	}
	return t
}

// Reason is why a tool is quarantined, without the package that found out.
func Reason(why string) string { return strings.TrimPrefix(why, "schema: ") }

// providerFindings is what a provider finds. That a schema is beyond our own bounds is why
// it is quarantined, and says nothing about them.
func providerFindings(found []schema.Finding) []schema.Finding {
	return slices.DeleteFunc(found, func(f schema.Finding) bool { return f.Rule == schema.RuleSize })
}

func appendFindings(to []Finding, p *schema.Profile, found []schema.Finding) []Finding {
	for _, f := range found {
		to = append(to, Finding{p.Name(), f})
	}
	return to
}

// ForModels is the descriptions that models are shown, by the tools' names.
func ForModels(box *toolbox.Box) map[string]string {
	out := map[string]string{}
	for _, d := range box.Descriptors() {
		out[d.Name] = d.Description
	}
	return out
}

// counts asks about the number of tools that a model is shown.
func (x *Examiner) counts(r *lintReport, box *toolbox.Box) {
	shown := r.Summary.Tools - r.Summary.Quarantined
	for _, p := range x.asked {
		if p != x.Profile {
			r.Counts = appendFindings(r.Counts, p, schema.CheckCount(shown, p))
		}
	}
	r.Counts = appendFindings(r.Counts, x.Profile, box.Findings())
	if x.sieve != nil {
		r.Counts = slices.DeleteFunc(r.Counts, func(f Finding) bool { return slices.Contains(x.sieve.ignored, f.Rule) })
	}
}

// rename gives the tools of files their own names, and those of the files.
func (x *Examiner) rename(r *lintReport) {
	if x.owners == nil {
		return
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		t.Name, t.Server = t.Tool, x.owners[t.Server]
	}
}
