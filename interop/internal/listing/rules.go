package listing

import (
	"fmt"
	"maps"
	"slices"

	"github.com/indusagi/indus/internal/protocol"
)

// Rules is the same as interop.ToolRules.
type Rules struct {
	Allow, Deny      []string
	Rename, Describe map[string]string
}

// DeniedReason returns the reason why the rules leave a tool out, or "" if they do not.
func (r *Rules) DeniedReason(tool string) string {
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
func (r *Rules) nameOf(tool string) string {
	if name := r.Rename[tool]; name != "" {
		return name
	}
	return tool
}

// canMountAs reports whether some tool may be mounted under a plain name.
func (r *Rules) canMountAs(name string) bool {
	if r.Rename[name] == "" && r.DeniedReason(name) == "" {
		return true
	}
	for tool, as := range r.Rename {
		if as == name && r.DeniedReason(tool) == "" {
			return true
		}
	}
	return false
}

// unusedRules returns the rules that match none of these tools, as text for a person.
func (r *Rules) unusedRules(tools map[string]bool) (unused []string) {
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
