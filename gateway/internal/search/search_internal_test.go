package search

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
)

// A server that does not answer does not hide the resources of the servers after it. If no server has the URI, it is
// unknown.
func TestAServerThatHangsHidesNoOther(t *testing.T) {
	t.Parallel()
	ask := func(ctx context.Context, server string) (json.RawMessage, error) {
		switch server {
		case "hangs":
			<-ctx.Done()
			return nil, ctx.Err()
		case "late":
			return nil, interop.NewFault(interop.Timeout, server, "resources/read", nil)
		case "has":
			return json.RawMessage(`{}`), nil
		}
		return nil, &interop.RPCError{Code: protocol.CodeLegacyNotFound}
	}
	for _, c := range []struct {
		servers []string
		want    string
		err     error
		first   int
	}{
		{[]string{"hangs", "late", "unknown", "has"}, `{}`, nil, 3},
		{append(slices.Repeat([]string{"hangs"}, MaxServers-1), "has"), `{}`, nil, MaxServers - 1},
		{[]string{"hangs", "unknown"}, "", errLate, 0},
		{[]string{"unknown", "late"}, "", errLate, 1},
		{[]string{"unknown", "unknown"}, "", nil, -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			askOne := func(ctx context.Context, i int) (json.RawMessage, error) { return ask(ctx, c.servers[i]) }
			n := len(c.servers)
			if raw, first, err := First(t.Context(), n, askOne); string(raw) != c.want || err != c.err || first != c.first {
				t.Errorf("%v: %s, %v, %v", c.servers, raw, err, first)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, _, err := First(ctx, n, askOne); err == errLate {
				t.Errorf("%v: who asked has gone: %v", c.servers, err)
			}
		})
	}
}
