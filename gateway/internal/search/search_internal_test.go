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
	reply := func(ctx context.Context, server string) (json.RawMessage, error) {
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
		winner  int
	}{
		{[]string{"hangs", "late", "unknown", "has"}, `{}`, nil, 3},
		{append(slices.Repeat([]string{"hangs"}, Max-1), "has"), `{}`, nil, Max - 1},
		{[]string{"hangs", "unknown"}, "", errLate, -1},
		{[]string{"unknown", "late"}, "", errLate, -1},
		{[]string{"unknown", "unknown"}, "", nil, -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			ask := func(ctx context.Context, i int) (json.RawMessage, error) { return reply(ctx, c.servers[i]) }
			raw, winner, err := First(t.Context(), len(c.servers), ask)
			if string(raw) != c.want || err != c.err || winner != c.winner {
				t.Errorf("%v: %s, %v, %v", c.servers, raw, err, winner)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, _, err := First(ctx, len(c.servers), ask); err == errLate {
				t.Errorf("%v: who asked has gone: %v", c.servers, err)
			}
		})
	}
}
