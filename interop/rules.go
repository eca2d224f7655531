package interop

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/schema"
)

// deniedReason returns the reason why the rules leave a tool out, or "" if they do not.
func (r *ToolRules) deniedReason(tool string) string {
	for _, p := range r.Deny {
		if protocol.Matches(p, tool) {
			return fmt.Sprintf("denied by the configuration: %q", p)
		}
	}
	if r.Allow == nil || slices.ContainsFunc(r.Allow, func(p string) bool { return protocol.Matches(p, tool) }) {
		return ""
	}
	return "not among the tools that the configuration allows"
}

// nameOf returns the name of a tool after renaming, without the server's prefix.
func (r *ToolRules) nameOf(tool string) string {
	if name := r.Rename[tool]; name != "" {
		return name
	}
	return tool
}

// canMountAs reports whether some tool may be mounted under a plain name.
func (r *ToolRules) canMountAs(name string) bool {
	if r.Rename[name] == "" && r.deniedReason(name) == "" {
		return true
	}
	for tool, as := range r.Rename {
		if as == name && r.deniedReason(tool) == "" {
			return true
		}
	}
	return false
}

// unusedRules returns the rules that match none of these tools, as text for a person.
func (r *ToolRules) unusedRules(tools map[string]bool) (unused []string) {
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

func (r ToolRules) clone() ToolRules {
	return ToolRules{
		Allow: slices.Clone(r.Allow), Deny: slices.Clone(r.Deny),
		Rename: maps.Clone(r.Rename), Describe: maps.Clone(r.Describe),
	}
}

// toolConfig is the part of a server's configuration that does not affect how it is reached: its tools, and when it is
// connected. It belongs to the server, not to a connection, and is immutable.
type toolConfig struct {
	server  string
	rules   ToolRules
	profile *schema.Profile
	changes ChangePolicy
	lazy    *bool // as in Server
	idle    time.Duration
	pool    Pool
}

func toolConfigOf(s Server) *toolConfig {
	return &toolConfig{
		server: s.ID, rules: s.Tools, profile: s.Profile, changes: s.Changes, lazy: s.Lazy, idle: s.Idle, pool: s.Pool,
	}
}

// applyTo returns a server with this configuration of its tools.
func (c *toolConfig) applyTo(server Server) Server {
	server.Tools, server.Profile, server.Changes = c.rules, c.profile, c.changes
	server.Lazy, server.Idle, server.Pool = c.lazy, c.idle, c.pool
	return server
}

// withConfig returns a list with the configuration applied: tools are left out, renamed and described. The rules are
// applied to a server's list only here.
func (l *listing) withConfig(c *toolConfig) *listing {
	if l == nil || l.config == c {
		return l
	}
	out := &listing{
		raw: l.raw, config: c, changes: l.changes, owner: l.raw.owner, byName: make(map[string]int, len(l.raw.tools)),
	}
	taken := make(map[string]string, len(l.raw.tools))
	for _, t := range l.raw.tools {
		if why := c.rules.deniedReason(t.Tool); why != "" {
			out.rejected = append(out.rejected, Quarantine{Server: c.server, Tool: t.Tool, Reason: why, Denied: true})
			continue
		}
		t.Name = QualifiedName(c.server, c.rules.nameOf(t.Tool))
		if first, ok := taken[t.Name]; ok {
			out.reject(c.server, t.Tool, fmt.Sprintf("its tool %q is mounted as %s", first, t.Name))
			continue
		}
		c.describe(&t)
		t.Profile = c.profile
		taken[t.Name] = t.Tool
		out.byName[t.Tool] = len(out.tools)
		out.tools = append(out.tools, t)
	}
	out.rejected = append(out.rejected, c.problems(l.raw)...)
	return out
}

// describe replaces the description of the tool by the configured one, in the tool object too. All other bytes stay.
func (c *toolConfig) describe(t *listedTool) {
	text, ok := c.rules.Describe[t.Tool]
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
func (c *toolConfig) problems(raw *listing) []Quarantine {
	var out []Quarantine
	names := make(map[string]bool, len(raw.tools))
	for i := range raw.tools {
		names[raw.tools[i].Tool] = true
	}
	for _, q := range raw.rejected {
		if q.Tool != "" {
			names[q.Tool] = true
		}
		if q.Tool == "" || c.rules.deniedReason(q.Tool) == "" {
			out = append(out, q)
		}
	}
	if raw.partial {
		return out
	}
	for _, rule := range c.rules.unusedRules(names) {
		out = append(out, Quarantine{Server: c.server, Rule: rule, Reason: "the rule concerns none of its tools"})
	}
	return out
}

// configure sets the configuration of the endpoint, and applies it to the current list.
func (e *Endpoint) configure(c *toolConfig) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.config, e.list = c, e.list.withConfig(c)
}
