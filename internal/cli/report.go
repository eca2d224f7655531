package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/validate"
	"github.com/indusagi/indus/toolbox"
)

// report is what lint found, as --json prints it.
type report struct {
	Profile   string        `json:"profile"`   // what mounting is tried with
	Providers []string      `json:"providers"` // who is asked about the tools as they are
	Tools     []toolReport  `json:"tools"`
	Counts    []finding     `json:"counts"` // about how many tools there are
	Faults    []faultReport `json:"faults"` // servers that could not be asked
	Summary   summary       `json:"summary"`
}

// toolReport is one tool, or a row of a list that is none.
type toolReport struct {
	Name        string          `json:"name"` // as it is mounted; a file's tool has its own
	Server      string          `json:"server"`
	Tool        string          `json:"tool"`     // its owner's name for it
	Findings    []finding       `json:"findings"` // in the tool as it is
	Changes     []schema.Change `json:"changes"`  // that mounting makes
	Refused     []finding       `json:"refused"`  // what is refused even so
	Quarantined string          `json:"quarantined,omitempty"`
}

// finding is what one provider does not take.
type finding struct {
	Provider string `json:"provider"`
	schema.Finding
}

type faultReport struct {
	Server string       `json:"server"`
	Kind   interop.Kind `json:"kind"`
	Fault  string       `json:"fault"`
	Try    string       `json:"try"`
}

// examiner knows with which eyes tools are looked at.
type examiner struct {
	profile *schema.Profile   // what they are mounted with
	asked   []*schema.Profile // who is asked about them as they are
	bare    map[string]bool   // servers that are a schema alone
	owners  map[string]string // what a server is called; nil: by its id
	sieve   *sieve            // nil: all findings are wanted
}

// examine looks at everything that is mounted, unless ctx ends.
func (x *examiner) examine(ctx context.Context, m *interop.Mounted) (*report, error) {
	r := &report{
		Profile: x.profile.Name(), Providers: namesOf(x.asked),
		Tools: []toolReport{}, Counts: []finding{}, Faults: []faultReport{},
	}
	order := map[string]int{}
	for i, st := range m.Fleet.Status() {
		order[st.Server] = i
		if st.Fault != nil && x.owners == nil {
			r.Faults = append(r.Faults, faultReport{st.Server, st.Fault.Kind, st.Fault.Error(), st.Fault.Advice()})
		}
	}
	shown := forModels(m.Box)
	for _, d := range m.Box.Snapshot("").Tools {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r.Tools = append(r.Tools, x.tool(d, shown[d.Name]))
	}
	for _, q := range m.Fleet.Quarantined() {
		if !q.Published { // or else the box has it, with the reason
			r.Tools = append(r.Tools, rejected(q))
		}
	}
	slices.SortStableFunc(r.Tools, func(a, b toolReport) int { return cmp.Compare(order[a.Server], order[b.Server]) })
	r.Summary = summarize(r.Tools, x.asked)
	x.counts(r, m.Box)
	x.rename(r)
	return r, nil
}

// tool is one that is mounted, shown to models with that description or not at all.
func (x *examiner) tool(d toolbox.Descriptor, description string) toolReport {
	t := toolReport{
		Name: d.Name, Server: d.Server, Tool: d.Tool, Quarantined: reason(d.Excluded),
		Findings: []finding{}, Changes: []schema.Change{}, Refused: []finding{},
	}
	for _, p := range x.asked {
		t.Findings = appendFindings(t.Findings, p, theirs(schema.Check(d.Schema, p)))
		if !x.bare[d.Server] {
			t.Findings = appendFindings(t.Findings, p, schema.CheckTool(d.Tool, d.Description, p))
		}
	}
	t.Findings = append(append(t.Findings, checkClients(d.Wire.JSON)...), checkOurs(d)...)
	t.Findings = slices.DeleteFunc(t.Findings, func(f finding) bool { return x.sieve.drops(x.owner(d.Server), d.Tool, f) })
	if d.Excluded != "" {
		return t
	}
	if c, ok := x.renamed(d); ok {
		t.Changes = append(t.Changes, c)
	}
	t.Changes = append(t.Changes, d.Changes...)
	t.Refused = appendFindings(t.Refused, x.profile, schema.Check(d.Parameters, x.profile))
	if !x.bare[d.Server] {
		t.Refused = appendFindings(t.Refused, x.profile, schema.CheckTool(d.Name, description, x.profile))
	}
	return t
}

// owner is what a server is called.
func (x *examiner) owner(server string) string {
	if name, ok := x.owners[server]; ok {
		return name
	}
	return server
}

// ours is who warns of what is wrong to no provider and no client.
const ours = "indus"

func isOurs(f finding) bool { return f.Provider == ours || f.Provider == clientProfile }

// checkOurs finds what no reader sees, and what arguments are not checked against.
func checkOurs(d toolbox.Descriptor) []finding {
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
	var out []finding
	for _, f := range found {
		out = append(out, finding{ours, f})
	}
	return out
}

// renamed is that a tool is not mounted under its own name.
func (x *examiner) renamed(d toolbox.Descriptor) (schema.Change, bool) {
	if d.Name == d.Server+interop.Qualifier+d.Tool {
		return schema.Change{}, false
	}
	did := "gave it a name that every provider takes"
	if x.owners == nil {
		did = "named it " + d.Name
	}
	return schema.Change{Rule: schema.RuleName, Did: did}, true
}

// rejected is a row that is no tool.
func rejected(q interop.Quarantine) toolReport {
	t := toolReport{
		Server: q.Server, Tool: q.Tool, Quarantined: reason(q.Reason),
		Findings: []finding{}, Changes: []schema.Change{}, Refused: []finding{},
	}
	if q.Tool != "" {
		t.Name = interop.QualifiedName(q.Server, q.Tool)
	}
	return t
}

// reason is why a tool is quarantined, without the package that found out.
func reason(why string) string { return strings.TrimPrefix(why, "schema: ") }

// theirs is what a provider finds. That a schema is beyond our own bounds is why
// it is quarantined, and says nothing about them.
func theirs(found []schema.Finding) []schema.Finding {
	return slices.DeleteFunc(found, func(f schema.Finding) bool { return f.Rule == schema.RuleSize })
}

func appendFindings(to []finding, p *schema.Profile, found []schema.Finding) []finding {
	for _, f := range found {
		to = append(to, finding{p.Name(), f})
	}
	return to
}

// forModels is the descriptions that models are shown, by the tools' names.
func forModels(box *toolbox.Box) map[string]string {
	out := map[string]string{}
	for _, d := range box.Descriptors() {
		out[d.Name] = d.Description
	}
	return out
}

// counts asks about the number of tools that a model is shown.
func (x *examiner) counts(r *report, box *toolbox.Box) {
	shown := r.Summary.Tools - r.Summary.Quarantined
	for _, p := range x.asked {
		if p != x.profile {
			r.Counts = appendFindings(r.Counts, p, schema.CheckCount(shown, p))
		}
	}
	r.Counts = appendFindings(r.Counts, x.profile, box.Findings())
	if x.sieve != nil {
		r.Counts = slices.DeleteFunc(r.Counts, func(f finding) bool { return slices.Contains(x.sieve.ignored, f.Rule) })
	}
}

// rename gives the tools of files their own names, and those of the files.
func (x *examiner) rename(r *report) {
	if x.owners == nil {
		return
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		t.Name, t.Server = t.Tool, x.owners[t.Server]
	}
}
