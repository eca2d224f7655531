package gateway

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/internal/protocol"
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

// Only the servers that the policy permits ask the client. The others may notify it.
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
	g := &Gateway{opts: Options{Control: Control{Policy: func() (*policy.Set, bool) { return engine.Current(), false }}}}
	peer := (&rights{gateway: g}).askPeer(func(context.Context, interop.Message) (json.RawMessage, error) { return nil, nil })
	for _, m := range []interop.Message{
		{Server: "a", Method: protocol.MethodElicit}, {Server: "b", Method: protocol.MethodElicit},
		{Server: "b", Method: protocol.NoteProgress},
	} {
		refused := m.Server == "b" && m.Method == protocol.MethodElicit
		if _, err := peer(t.Context(), m); (err != nil) != refused {
			t.Errorf("%s of %s: %v", m.Method, m.Server, err)
		}
	}
}
