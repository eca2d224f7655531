package operation

import "slices"

// Principal says who calls; opaque. "" is the local user.
type Principal string

// Grants are rights.
type Grants struct {
	// Scopes are plain names: "repo:read".
	Scopes []string `json:"scopes,omitempty"`
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
	return list
}

// copy is an identity with a list of its own.
func (i Identity) copy() Identity {
	i.Scopes = slices.Clone(i.Scopes)
	return i
}
