package operation

import "slices"

// Principal identifies the caller. It is opaque. "" is the local user.
type Principal string

// Grants are the rights of a caller.
type Grants struct {
	// Scopes are plain names: "repo:read".
	Scopes []string `json:"scopes,omitempty"`
}

// Identity is a caller with its rights. The caller is outside the registry or is an operation that calls other
// operations. The zero Identity is the local user without rights.
type Identity struct {
	Principal Principal `json:"principal,omitempty"`
	Grants
}

// Access lists the rights that a call requires. An empty list requires nothing.
type Access struct {
	// ScopesAll lists scopes that are all required.
	ScopesAll []string `json:"scopesAll,omitempty"`
	// ScopesAny lists scopes of which at least one is required.
	ScopesAny []string `json:"scopesAny,omitempty"`
}

// Allows reports whether g satisfies a.
func (a Access) Allows(g Grants) bool { return len(a.missing(g)) == 0 }

// missing returns the scopes that g lacks. If g has none of ScopesAny, it returns all of them.
func (a Access) missing(g Grants) []string {
	granted := func(scope string) bool { return slices.Contains(g.Scopes, scope) }
	list := slices.DeleteFunc(slices.Clone(a.ScopesAll), granted)
	if len(a.ScopesAny) > 0 && !slices.ContainsFunc(a.ScopesAny, granted) {
		list = append(list, a.ScopesAny...)
	}
	return list
}

// copy returns a copy with a separate list of scopes.
func (i Identity) copy() Identity {
	i.Scopes = slices.Clone(i.Scopes)
	return i
}
