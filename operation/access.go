package operation

import "slices"

// Principal says who calls; opaque. "" is the local user.
type Principal string

// Grants are rights.
type Grants struct {
	// Scopes are plain names: "repo:read".
	Scopes []string `json:"scopes,omitempty"`
	// Resources has, by resource, the actions that are allowed on it; "*" allows all.
	Resources map[string][]string `json:"resources,omitempty"`
}

// Identity is a caller and its rights: from outside, or an operation that calls others. The zero
// Identity is the local user, without any.
type Identity struct {
	Principal Principal `json:"principal,omitempty"`
	Grants
}

// Access is what a caller needs in order to call an operation. What is empty is not asked for.
type Access struct {
	// ScopesAll are needed, every one.
	ScopesAll []string `json:"scopesAll,omitempty"`
	// ScopesAny are needed, at least one.
	ScopesAny []string `json:"scopesAny,omitempty"`
	// Resource is what has to be among the caller's, with Action; where that
	// is "", with any action.
	Resource string `json:"resource,omitempty"`
	Action   string `json:"action,omitempty"`
}

// Allows reports whether g is enough.
func (a Access) Allows(g Grants) bool { return len(a.missing(g)) == 0 }

// missing is what g lacks, with each alternative.
func (a Access) missing(g Grants) (list []string) {
	for _, scope := range a.ScopesAll {
		if !slices.Contains(g.Scopes, scope) {
			list = append(list, scope)
		}
	}
	if len(a.ScopesAny) > 0 && !slices.ContainsFunc(a.ScopesAny, func(s string) bool { return slices.Contains(g.Scopes, s) }) {
		list = append(list, a.ScopesAny...)
	}
	if a.Resource != "" && !g.may(a.Action, a.Resource) {
		list = append(list, a.Resource+":"+a.Action)
	}
	return list
}

func (g Grants) may(action, resource string) bool {
	actions := g.Resources[resource]
	if action == "" {
		return len(actions) > 0
	}
	return slices.Contains(actions, action) || slices.Contains(actions, "*")
}

// copy is g with lists of its own.
func (g Grants) copy() Grants {
	g.Scopes = slices.Clone(g.Scopes)
	resources := make(map[string][]string, len(g.Resources))
	for name, actions := range g.Resources {
		resources[name] = slices.Clone(actions)
	}
	g.Resources = resources
	return g
}
