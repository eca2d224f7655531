package gateway

import (
	"testing"

	"github.com/indusagi/indus/identity"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// The policy sees the groups of an identity for a request of its own caller only.
func TestGroupsAreOfTheCaller(t *testing.T) {
	t.Parallel()
	ctx := identity.NewContext(t.Context(), &identity.Identity{Principal: "ann", Groups: []string{"dev"}})
	for caller, want := range map[toolbox.Principal]int{"ann": 1, "bob": 0} {
		q := (&view{}).policyRequest(ctx, interop.Message{Caller: caller})
		if len(q.Principal.Groups) != want {
			t.Errorf("%s has the groups %v", caller, q.Principal.Groups)
		}
	}
}
