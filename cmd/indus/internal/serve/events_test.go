package serve_test

import (
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/serve"
	"github.com/indusagi/indus/interop"
)

// TestOneServerDrownsNoOther checks that reports about a server that keeps changing pause, while reports about other
// servers continue.
func TestOneServerDrownsNoOther(t *testing.T) {
	t.Parallel()
	var told strings.Builder
	tell := serve.TellEvents(&told)
	ready := func(server string, tools int) interop.Event {
		return interop.Event{
			Kind: interop.ServerListed, Server: server, Status: interop.EndpointStatus{Server: server, Tools: tools},
		}
	}
	for n := range 1000 {
		tell(ready("loud", n))
	}
	tell(ready("quiet", 3))
	const most = 100
	if n := strings.Count(told.String(), "indus: loud: ready"); n != most {
		t.Errorf("%d lines are about it, and not %d", n, most)
	}
	if n := strings.Count(told.String(), "indus: loud: more messages about it are suppressed"); n != 1 {
		t.Errorf("it was told %d times that there are more", n)
	}
	if !strings.HasSuffix(told.String(), "\nindus: quiet: ready, 3 tools (MCP , 0s)\n") {
		t.Errorf("of the other nothing is told:\n%s", told.String()[max(0, told.Len()-200):])
	}
}
