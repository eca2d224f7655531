package control

import (
	"os"
	"testing"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// The policy sees the groups of an identity for a request of its own caller only.
func TestGroupsAreOfTheCaller(t *testing.T) {
	t.Parallel()
	ann := &identity.Identity{Principal: "ann", Groups: []string{"dev"}}
	for caller, want := range map[toolbox.Principal]int{"ann": 1, "bob": 0} {
		q := policyRequest(&gateway.Request{Message: interop.Message{Caller: caller}}, ann)
		if len(q.Principal.Groups) != want {
			t.Errorf("%s has the groups %v", caller, q.Principal.Groups)
		}
	}
}

// Only the servers that the policy permits ask the client.
func TestWhichServersAsk(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/policy.cedar"
	if err := os.WriteFile(file, []byte(`permit(principal, action == Action::"ask", resource == Server::"a");`), 0o600); err != nil {
		t.Fatal(err)
	}
	engine, err := policy.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	c := New(&Options{Policy: func() (*policy.Set, bool) { return engine.Current(), false }})
	_, x, err := c.Begin(t.Context(), &gateway.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]bool{"a": true, "b": false} {
		if got := x.Permits(gateway.ActionAsk, gateway.Item{Kind: gateway.KindServer, Server: server}); got != want {
			t.Errorf("%s may ask: %t", server, got)
		}
	}
}
