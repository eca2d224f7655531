package tools

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
	"github.com/indusagi/indus/schema/validate"
	"github.com/indusagi/indus/toolbox"
)

// lintReport is the result of lint in the output of --json.
type lintReport struct {
	Profile   string        `json:"profile"`   // profile of the mount
	Providers []string      `json:"providers"` // providers that check the unchanged tools
	Tools     []ToolReport  `json:"tools"`
	Counts    []Finding     `json:"counts"` // on the number of tools
	Faults    []faultReport `json:"faults"` // servers that are down
	Summary   lintSummary   `json:"summary"`
}

// ToolReport is the report on a tool, or on a listed row that is not a tool.
type ToolReport struct {
	Name        string          `json:"name"` // mounted name; for a file, the tool's own name
	Server      string          `json:"server"`
	Tool        string          `json:"tool"`     // the server's name for it
	Findings    []Finding       `json:"findings"` // in the unchanged tool
	Changes     []schema.Change `json:"changes"`  // made by mounting
	Refused     []Finding       `json:"refused"`  // that remain after the changes
	Quarantined string          `json:"quarantined,omitempty"`
}

// Finding is a finding of one provider.
type Finding struct {
	Provider string `json:"provider"`
	rule.Finding
}

type faultReport struct {
	Server string       `json:"server"`
	Kind   interop.Kind `json:"kind"`
	Fault  string       `json:"fault"`
	Try    string       `json:"try"`
}

// lintSummary counts tools. A tool that is not quarantined is either unchanged or changed.
type lintSummary struct {
	Tools       int `json:"tools"`
	Unchanged   int `json:"unchanged"`
	Changed     int `json:"changed"`
	Lossy       int `json:"lossy"` // changed, and something is lost or narrowed
	Quarantined int `json:"quarantined"`
	Refused     int `json:"refused"` // after the changes
	// AsTheyAre counts, for each provider, the unchanged tools with findings.
	AsTheyAre []providerCount `json:"asTheyAre"`
}

// providerCount counts tools by their worst finding of a provider.
type providerCount struct {
	Provider string `json:"provider"`
	Refused  int    `json:"refused"`
	Dropped  int    `json:"dropped"` // the provider silently ignores a part
	Warned   int    `json:"warned"`
}

// The levels of findings, with the names that GitHub uses.
const (
	levelError   = "error"
	levelWarning = "warning" // the provider does not list the part as accepted
	levelNotice  = "notice"  // the provider silently drops the part
)

func (f Finding) level() string {
	switch {
	case f.Ignored:
		return levelNotice
	case f.Class == rule.Conservative:
		return levelWarning
	}
	return levelError
}

// Refuses reports whether a provider refuses the tool because of a finding.
func Refuses(f Finding) bool { return f.level() == levelError }

// indusProvider is the provider of findings that concern no real provider and no client.
const indusProvider = "indus"

func isOwnFinding(f Finding) bool {
	return f.Provider == indusProvider || f.Provider == command.ClientProfile
}

func losesMeaning(c schema.Change) bool { return c.Lost != "" || c.Narrowed != "" }

func findingsOf(provider string, found ...rule.Finding) (out []Finding) {
	for _, f := range found {
		out = append(out, Finding{provider, f})
	}
	return out
}

// Examiner checks tools against providers, clients and the rules of indus.
type Examiner struct {
	Profile   *schema.Profile   // profile of the mount
	providers []*schema.Profile // providers that check the unchanged tools
	bare      map[string]bool   // by server: its only tool is a bare schema
	files     map[string]string // by server: the file with its tools; nil for real servers
	baseline  *baseline         // findings to leave out; nil for none
}

// examine examines all mounted tools. It returns an error if ctx ends.
func (x *Examiner) examine(ctx context.Context, m *interop.Mounted) (*lintReport, error) {
	r := &lintReport{
		Profile: x.Profile.Name(), Providers: command.NamesOf(x.providers),
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
		if q.Published { // the box has it, with the reason
			continue
		}
		t := newToolReport("", q.Server, q.Tool, q.Reason)
		if q.Tool != "" {
			t.Name = config.QualifiedName(q.Server, q.Tool)
		}
		r.Tools = append(r.Tools, t)
	}
	slices.SortStableFunc(r.Tools, func(a, b ToolReport) int { return cmp.Compare(order[a.Server], order[b.Server]) })
	r.summarize(x.providers)
	x.addCounts(r, m.Box)
	for i := range r.Tools { // tools of files keep their own names
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

// Tool examines a mounted tool. description is the text for models, or "" if models do not see the tool.
func (x *Examiner) Tool(d toolbox.Descriptor, description string) ToolReport {
	t := newToolReport(d.Name, d.Server, d.Tool, d.Excluded)
	for _, p := range x.providers {
		for _, f := range schema.Check(d.Schema, p) {
			if f.Rule != rule.Size { // a bound of indus, which quarantines the tool
				t.Findings = append(t.Findings, Finding{p.Name(), f})
			}
		}
		if !x.bare[d.Server] {
			t.Findings = append(t.Findings, findingsOf(p.Name(), schema.CheckTool(d.Tool, d.Description, p)...)...)
		}
	}
	t.Findings = append(append(t.Findings, checkClients(d.Wire.JSON)...), checkIndus(d)...)
	server := cmp.Or(x.files[d.Server], d.Server)
	t.Findings = slices.DeleteFunc(t.Findings, func(f Finding) bool { return x.baseline.excludes(server, d.Tool, f) })
	if d.Excluded != "" {
		return t
	}
	if d.Name != d.Server+config.Qualifier+d.Tool {
		did := "named it " + d.Name
		if x.files != nil {
			did = "gave it a name that every provider takes"
		}
		t.Changes = append(t.Changes, schema.Change{Rule: rule.Name, Did: did})
	}
	t.Changes = append(t.Changes, d.Changes...)
	t.Refused = append(t.Refused, findingsOf(x.Profile.Name(), schema.Check(d.Parameters, x.Profile)...)...)
	if !x.bare[d.Server] {
		t.Refused = append(t.Refused, findingsOf(x.Profile.Name(), schema.CheckTool(d.Name, description, x.Profile)...)...)
	}
	return t
}

// checkClients returns the flaws for which a client refuses the whole list of tools. Paths begin at the tool.
func checkClients(tool []byte) (found []Finding) {
	if len(tool) == 0 { // not from a server
		return nil
	}
	_, flaws := protocol.Mend(tool, true)
	for _, f := range flaws {
		suffix := ": clients refuse the whole list"
		if f.Legacy {
			suffix = ": legacy clients refuse the whole list"
		}
		found = append(found, Finding{command.ClientProfile, rule.Finding{
			Path: f.Path, Rule: rule.Form, Message: f.Why + suffix, Class: rule.Documented,
			Source: "https://github.com/modelcontextprotocol/typescript-sdk/blob/v1.x/src/types.ts",
		}})
	}
	return found
}

// checkIndus returns findings on hidden characters, on schemas that grow, and on parts of schemas that are not checked.
func checkIndus(d toolbox.Descriptor) []Finding {
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
		found = append(found, Finding{indusProvider, rule.Finding{
			Rule: rule.Unchecked, Message: message, Class: rule.Conservative,
			Source: "https://pkg.go.dev/github.com/indusagi/indus/schema/validate",
		}})
	}
	return found
}

// Reason removes the name of the package from the reason of a quarantine.
func Reason(why string) string { return strings.TrimPrefix(why, "schema: ") }

// ForModels returns the descriptions that models see, by the names of the tools.
func ForModels(box *toolbox.Box) map[string]string {
	out := map[string]string{}
	for _, d := range box.Descriptors() {
		out[d.Name] = d.Description
	}
	return out
}

func (r *lintReport) summarize(providers []*schema.Profile) {
	s := &r.Summary
	s.Tools = len(r.Tools)
	for _, name := range append(command.NamesOf(providers), command.ClientProfile) {
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

// addCounts adds the findings on the number of tools that a model sees.
func (x *Examiner) addCounts(r *lintReport, box *toolbox.Box) {
	shown := r.Summary.Tools - r.Summary.Quarantined
	for _, p := range x.providers {
		if p != x.Profile {
			r.Counts = append(r.Counts, findingsOf(p.Name(), schema.CheckCount(shown, p)...)...)
		}
	}
	r.Counts = append(r.Counts, findingsOf(x.Profile.Name(), box.Findings()...)...)
	r.Counts = slices.DeleteFunc(r.Counts, func(f Finding) bool { return x.baseline.ignores(f.Rule) })
}
