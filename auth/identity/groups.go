package identity

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// AdminGroup is the group whose members may administer the server, unless a policy decides that.
const AdminGroup = "admin"

// The beginnings of groups that are made of roles and scopes. No group of an API key or of the claim groups begins with
// them, so that a role or a scope is never equal to a group.
const (
	rolePrefix  = "role:"
	scopePrefix = "scope:"
)

const (
	// maxGroups bounds the groups of one identity. Entra sends at most 200 groups in a token.
	maxGroups = 1000
	// maxGroup bounds the name of a group of a token, in bytes, without its prefix.
	maxGroup = 255
)

// groupsIn returns the groups of a token with these scopes. Roles of applications (resource_access of Keycloak) do not
// count, because their names belong to other applications. A token with too many groups or with a group that is no text
// is refused: without this group, a policy that forbids something to its members would not apply.
func groupsIn(claims map[string]any, scopes []string) ([]string, error) {
	realm, _ := claims["realm_access"].(map[string]any)
	var out []string
	for _, source := range []struct {
		prefix string
		names  []string
	}{
		{"", namesIn(claims["groups"])}, {rolePrefix, namesIn(claims["roles"])}, {rolePrefix, namesIn(realm["roles"])},
		{scopePrefix, scopes},
	} {
		for _, name := range source.names {
			if len(name) > maxGroup || strings.ContainsRune(name, utf8.RuneError) {
				return nil, &invalidReason{
					fmt.Sprintf("a group, role or scope of the bearer token is no text of at most %d bytes", maxGroup),
				}
			}
			if source.prefix == "" && (strings.HasPrefix(name, rolePrefix) || strings.HasPrefix(name, scopePrefix)) {
				return nil, &invalidReason{"a group of the bearer token has the name of a role or scope: " +
					"it begins with " + rolePrefix + " or " + scopePrefix}
			}
			out = append(out, source.prefix+name)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > maxGroups {
		return nil, &invalidReason{fmt.Sprintf("the bearer token has %d groups, roles and scopes, more than %d",
			len(out), maxGroups)}
	}
	return out, nil
}

// namesIn returns the names in a claim: the strings of an array, or one string. Other values do not count.
func namesIn(claim any) (out []string) {
	list, ok := claim.([]any)
	if !ok {
		list = []any{claim}
	}
	for _, one := range list {
		if name, _ := one.(string); name != "" {
			out = append(out, name)
		}
	}
	return out
}
