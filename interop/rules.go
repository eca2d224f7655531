package interop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/schema"
)

// leftOut says why the rules leave a tool out, "" where they do not.
func (r *ToolRules) leftOut(tool string) string {
	for _, p := range r.Deny {
		if matches(p, tool) {
			return fmt.Sprintf("denied by the configuration: %q", p)
		}
	}
	if r.Allow == nil || slices.ContainsFunc(r.Allow, func(p string) bool { return matches(p, tool) }) {
		return ""
	}
	return "not among the tools that the configuration allows"
}

// renamed is what a tool is mounted under the server's name as.
func (r *ToolRules) renamed(tool string) string {
	if name := r.Rename[tool]; name != "" {
		return name
	}
	return tool
}

// mayGive reports whether some tool may be mounted under a plain name.
func (r *ToolRules) mayGive(name string) bool {
	if r.Rename[name] == "" && r.leftOut(name) == "" {
		return true
	}
	for tool, as := range r.Rename {
		if as == name && r.leftOut(tool) == "" {
			return true
		}
	}
	return false
}

// idle is the rules that concern none of these tools, as words for a person.
func (r *ToolRules) idle(tools map[string]bool) []string {
	var out []string
	matchesAny := func(p string) bool {
		for name := range tools {
			if matches(p, name) {
				return true
			}
		}
		return false
	}
	pattern := func(kind string, patterns []string) {
		for _, p := range patterns {
			if !matchesAny(p) {
				out = append(out, fmt.Sprintf("%s %q", kind, p))
			}
		}
	}
	named := func(kind string, by map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(by)) {
			if !tools[name] {
				out = append(out, fmt.Sprintf("%s %q", kind, name))
			}
		}
	}
	pattern("allow", r.Allow)
	pattern("deny", r.Deny)
	named("rename", r.Rename)
	named("describe", r.Describe)
	return out
}

// matches reports whether a pattern stands for a name: "*" for any characters and
// "?" for one, everything else for itself.
func matches(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	star, from := -1, 0 // the last "*", and up to where it has eaten
	i, j := 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(string(p[i:]), "*") == ""
}

// equal reports whether two sets of rules do the same. No Allow at all allows
// everything, an empty one nothing.
func (r *ToolRules) equal(o *ToolRules) bool {
	return (r.Allow == nil) == (o.Allow == nil) && slices.Equal(r.Allow, o.Allow) && slices.Equal(r.Deny, o.Deny) &&
		maps.Equal(r.Rename, o.Rename) && maps.Equal(r.Describe, o.Describe)
}

func (r ToolRules) clone() ToolRules {
	return ToolRules{
		Allow: slices.Clone(r.Allow), Deny: slices.Clone(r.Deny),
		Rename: maps.Clone(r.Rename), Describe: maps.Clone(r.Describe),
	}
}

// shape is what the configuration makes of a server's tools. It is of the server
// and not of a connection to it, and never changes: there is a new one.
type shape struct {
	server  string
	rules   ToolRules
	profile *schema.Profile
	changes ChangePolicy
}

func shapeOf(s Server) *shape {
	return &shape{server: s.ID, rules: s.Tools, profile: s.Profile, changes: s.Changes}
}

// same reports whether two shapes make the same of a listing.
func (s *shape) same(o *shape) bool {
	return s == o || s.server == o.server && s.profile == o.profile && s.changes == o.changes && s.rules.equal(&o.rules)
}

// shaped is a listing as a shape has it: tools are left out, renamed and described
// anew. It is the one place where the rules are applied to what a server lists.
func (l *listing) shaped(by *shape) *listing {
	if l == nil || l.by == by {
		return l
	}
	whole := l.whole
	out := &listing{whole: whole, by: by, at: l.at, owner: whole.owner, byName: make(map[string]int, len(whole.tools))}
	taken := make(map[string]string, len(whole.tools))
	for i := range whole.tools {
		t := whole.tools[i]
		if why := by.rules.leftOut(t.Tool); why != "" {
			out.rejected = append(out.rejected, Quarantine{Server: by.server, Tool: t.Tool, Reason: why, Denied: true})
			continue
		}
		t.Name = QualifiedName(by.server, by.rules.renamed(t.Tool))
		if first, ok := taken[t.Name]; ok {
			out.reject(by.server, t.Tool, fmt.Sprintf("its tool %q is mounted as %s", first, t.Name))
			continue
		}
		by.describe(&t)
		t.Profile = by.profile
		taken[t.Name] = t.Tool
		out.byName[t.Tool] = len(out.tools)
		out.tools = append(out.tools, t)
	}
	out.rejected = append(out.rejected, by.troubles(whole)...)
	return out
}

// describe puts the configuration's description in the place of the owner's, in the
// tool object too: every other byte stays.
func (s *shape) describe(t *tool) {
	text, ok := s.rules.Describe[t.Tool]
	if !ok {
		return
	}
	quoted := wire.Quote(text)
	row, err := wire.Rewrite(t.Wire.JSON, wire.Edit{Key: "description", Value: quoted})
	if err != nil {
		return // no row is listed that is no object, or has a key twice
	}
	t.Description, _ = wire.Unquote(quoted) // what is no UTF-8 is replaced
	t.Wire.JSON = row
}

// troubles is what is wrong with the rows of tools that are not left out, and the
// rules that concern no tool of a server that has said what it has.
func (s *shape) troubles(whole *listing) []Quarantine {
	var out []Quarantine
	names := make(map[string]bool, len(whole.tools))
	for i := range whole.tools {
		names[whole.tools[i].Tool] = true
	}
	for _, q := range whole.rejected {
		if q.Tool != "" {
			names[q.Tool] = true
		}
		if q.Tool == "" || s.rules.leftOut(q.Tool) == "" {
			out = append(out, q)
		}
	}
	if whole.remembered {
		return out
	}
	for _, rule := range s.rules.idle(names) {
		out = append(out, Quarantine{Server: s.server, Rule: rule, Reason: "the rule concerns none of its tools"})
	}
	return out
}

// of is a server with the rules and the profile of the shape.
func (s *shape) of(server Server) Server {
	server.Tools, server.Profile, server.Changes = s.rules, s.profile, s.changes
	return server
}

// adopt makes a shape the endpoint's, and what is listed like it.
func (e *Endpoint) adopt(s *shape) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shape, e.list = s, e.list.shaped(s)
}
