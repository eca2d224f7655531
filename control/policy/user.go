package policy

import "strings"

// localUser is the id of the caller without authentication.
const localUser = "local"

// UserID returns the id of the User entity of a principal. The empty name is "local". The principal of a named key,
// "user:alice", is "alice", unless the rest is "local" or has a ":" or "#". Every other principal keeps its whole name.
// A name without a kind, such as "alice", gets the prefix "other:".
//
// Different principals have different ids, so that no name of a key becomes the id of another kind of principal.
func UserID(principal string) string {
	name, named := strings.CutPrefix(principal, "user:")
	switch {
	case principal == "":
		return localUser
	case named && isPlain(name):
		return name
	case isPlain(principal) || principal == localUser || strings.HasPrefix(principal, otherPrefix):
		return otherPrefix + principal
	default:
		return principal
	}
}

// otherPrefix marks principals whose own name could be mistaken for the name of a key.
const otherPrefix = "other:"

func isPlain(name string) bool {
	return name != "" && name != localUser && !strings.ContainsAny(name, ":#")
}
