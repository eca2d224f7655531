package gateway

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
)

// onlyA permits the server a.
type onlyA struct{ PermitAll }

func (onlyA) Permits(_ Action, it Item) bool { return it.Server == "a" }

// Only the servers that the guard permits ask the client. The others may notify it.
func TestWhichServersAsk(t *testing.T) {
	t.Parallel()
	peer := (&exchange{guard: onlyA{}}).askPeer(func(context.Context, interop.Message) (json.RawMessage, error) { return nil, nil })
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

// A request that a guard follows does not leave the gateway unless the guard has admitted it.
func TestWhatIsNotAdmittedIsNotSent(t *testing.T) {
	t.Parallel()
	ctx := context.WithValue(t.Context(), exchangeKey{}, &exchange{guard: onlyA{}, mode: Watches})
	for _, a := range []*Access{nil, {}} {
		if _, err := (&Gateway{}).send(ctx, a, "a", interop.Message{}); err != errNotAdmitted {
			t.Errorf("%v: %v", a, err)
		}
	}
}
