// Package listing has a server's list of tools, as the server sent it or as the configuration changes it: rows are
// checked, tools are left out, renamed and described, and receive the names under which they are mounted (see
// [config.QualifiedName]).
//
// Rows are hostile until they are checked. A row that cannot be used is recorded in List.Rejected, and is no error. A
// complete list is immutable, and may be read from any goroutine.
package listing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// Source describes the server of a row.
type Source struct {
	Server, Format string
	Limits         schema.Limits
	RepeatsParams  bool // it receives parameters in headers, and so no tool with invalid ones
}

// Rejected is the same as interop.Quarantine.
type Rejected struct {
	Server, Tool, Reason      string
	Published, Mended, Denied bool
	Rule                      string
}

// List holds one server's tools, as the server listed them or as a configuration changes
// them. Once complete it is immutable.
type List struct {
	Tools    []Tool
	byName   map[string]int // index in Tools, by the server's own name
	Rejected []Rejected
	Changes  uint64 // the number of changes before the time of the request
	Partial  bool   // it comes from FleetOptions.Known; the server may have more tools
	Owner    toolbox.Owner
	Raw      *List          // as the server listed it
	config   *config.Server // applied to raw; nil if none was
}

// New returns an empty list.
func New() *List {
	l := &List{byName: map[string]int{}}
	l.Raw = l
	return l
}

// Tool is a tool of a list.
type Tool struct {
	toolbox.Descriptor
	Params []protocol.ParamHeader // parameters that modern HTTP repeats in headers
}

// Find returns a tool by its server's name. It returns nil if the tool is not listed, or l is
// nil.
func (l *List) Find(name string) *Tool {
	if l == nil {
		return nil
	}
	if i, ok := l.byName[name]; ok {
		return &l.Tools[i]
	}
	return nil
}

func (l *List) reject(server, name, reason string) {
	l.Rejected = append(l.Rejected, Rejected{Server: server, Tool: name, Reason: reason})
}

// Add reads one row of a list, or records the reason why it cannot be used.
func (l *List) Add(row json.RawMessage, from Source) {
	id := from.Server
	members, err := wire.Members(row)
	if err != nil {
		l.reject(id, "", "the row is no object: "+protocol.Printable(string(row), 60))
		return
	}
	if err := wire.Unique(members); err != nil {
		l.reject(id, "", "the row is ambiguous: "+err.Error())
		return
	}
	var name, description string
	var input json.RawMessage
	for _, m := range members {
		switch m.Key {
		case "name":
			name, _ = wire.Unquote(m.Value)
		case "description":
			description, _ = wire.Unquote(m.Value)
		case "inputSchema":
			input = m.Value
		}
	}
	if name == "" {
		l.reject(id, "", "the row has no name: "+protocol.Printable(string(row), 60))
		return
	}
	if first := l.Find(name); first != nil {
		if string(first.Wire.JSON) != string(row) {
			l.reject(id, name, "the server lists this name twice; the first one stands")
		}
		return
	}
	reason := protocol.Unpublishable(input)
	if !utf8.Valid(row) {
		reason = "it is not UTF-8"
	}
	if reason != "" {
		l.reject(id, name, reason)
		return
	}
	t := Tool{Descriptor: toolbox.Descriptor{ // its Name is set by the configuration
		Description: description, Server: id, Tool: name,
		Schema: input, Wire: toolbox.Wire{Format: from.Format, JSON: row},
	}}
	if err := schema.Measure(input, from.Limits); err != nil {
		t.Excluded = err.Error()
		l.Rejected = append(l.Rejected, Rejected{Server: id, Tool: name, Reason: t.Excluded, Published: true})
	} else if t.Params, err = protocol.ParamHeaders(input); err != nil {
		if from.RepeatsParams {
			l.reject(id, name, err.Error())
			return
		}
		t.Params = nil
	}
	if _, flaws := protocol.Mend(row, true); len(flaws) > 0 {
		var reasons []string
		for _, f := range flaws {
			reasons = append(reasons, f.String())
		}
		l.Rejected = append(l.Rejected, Rejected{
			Server: id, Tool: name, Reason: strings.Join(reasons, "; "), Published: true, Mended: true,
		})
	}
	l.byName[name] = len(l.Tools)
	l.Tools = append(l.Tools, t)
}

// WithConfig returns a list with the configuration applied: tools are left out, renamed and described. The rules are
// applied to a server's list only here.
func (l *List) WithConfig(c *config.Server) *List {
	if l == nil || l.config == c {
		return l
	}
	out := &List{
		Raw: l.Raw, config: c, Changes: l.Changes, Owner: l.Raw.Owner, byName: make(map[string]int, len(l.Raw.Tools)),
	}
	taken := make(map[string]string, len(l.Raw.Tools))
	for _, t := range l.Raw.Tools {
		if why := c.Tools.DeniedReason(t.Tool); why != "" {
			out.Rejected = append(out.Rejected, Rejected{Server: c.ID, Tool: t.Tool, Reason: why, Denied: true})
			continue
		}
		t.Name = config.QualifiedName(c.ID, cmp.Or(c.Tools.Rename[t.Tool], t.Tool))
		if first, ok := taken[t.Name]; ok {
			out.reject(c.ID, t.Tool, fmt.Sprintf("its tool %q is mounted as %s", first, t.Name))
			continue
		}
		describe(&t, c.Tools.Describe)
		t.Profile = c.Profile
		taken[t.Name] = t.Tool
		out.byName[t.Tool] = len(out.Tools)
		out.Tools = append(out.Tools, t)
	}
	out.Rejected = append(out.Rejected, problems(l.Raw, c)...)
	return out
}

// describe replaces the description of the tool by the configured one, in the tool object too. All other bytes stay.
func describe(t *Tool, descriptions map[string]string) {
	text, ok := descriptions[t.Tool]
	if !ok {
		return
	}
	quoted := wire.Quote(text)
	row, err := wire.Rewrite(t.Wire.JSON, wire.Edit{Key: "description", Value: quoted})
	if err != nil {
		return // every listed row is an object without duplicate keys
	}
	t.Description, _ = wire.Unquote(quoted) // invalid UTF-8 is replaced
	t.Wire.JSON = row
}

// problems returns the flaws of rows of tools that are not left out. It also returns the rules that match no tool, if
// the server has listed all of its tools.
func problems(raw *List, c *config.Server) []Rejected {
	var out []Rejected
	names := make(map[string]bool, len(raw.Tools))
	for i := range raw.Tools {
		names[raw.Tools[i].Tool] = true
	}
	for _, q := range raw.Rejected {
		if q.Tool != "" {
			names[q.Tool] = true
		}
		if q.Tool == "" || c.Tools.DeniedReason(q.Tool) == "" {
			out = append(out, q)
		}
	}
	if raw.Partial {
		return out
	}
	for _, rule := range unusedRules(&c.Tools, names) {
		out = append(out, Rejected{Server: c.ID, Rule: rule, Reason: "the rule concerns none of its tools"})
	}
	return out
}

// Equal reports whether two lists publish the same tools. A nil list publishes none.
func (l *List) Equal(o *List) bool {
	if l == o || l == nil || o == nil {
		return l == o
	}
	return l.Owner == o.Owner && slices.EqualFunc(l.Tools, o.Tools, func(a, b Tool) bool {
		return a.Equal(b.Descriptor)
	})
}

// AppendRejected appends the quarantined tools of l that all does not contain yet. l may be nil.
func (l *List) AppendRejected(all []Rejected) []Rejected {
	if l == nil {
		return all
	}
	for _, q := range l.Rejected {
		if !slices.Contains(all, q) {
			all = append(all, q)
		}
	}
	return all
}

// unusedRules returns the rules that match none of these tools, as text for a person.
func unusedRules(r *config.ToolRules, tools map[string]bool) (unused []string) {
	add := func(kind string, rules []string, matches func(string) bool) {
		for _, rule := range rules {
			if !matches(rule) {
				unused = append(unused, fmt.Sprintf("%s %q", kind, rule))
			}
		}
	}
	isListed := func(name string) bool { return tools[name] }
	matchesAny := func(p string) bool {
		for name := range tools {
			if protocol.Matches(p, name) {
				return true
			}
		}
		return false
	}
	add("allow", r.Allow, matchesAny)
	add("deny", r.Deny, matchesAny)
	add("rename", slices.Sorted(maps.Keys(r.Rename)), isListed)
	add("describe", slices.Sorted(maps.Keys(r.Describe)), isListed)
	return unused
}
