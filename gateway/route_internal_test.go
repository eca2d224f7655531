package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
)

// A server that does not answer does not hide the resources of the servers after it. If no server has the URI, it is
// unknown.
func TestAServerThatHangsHidesNoOther(t *testing.T) {
	t.Parallel()
	ask := func(ctx context.Context, owner ownName) (json.RawMessage, error) {
		switch owner.server {
		case "hangs":
			<-ctx.Done()
			return nil, ctx.Err()
		case "late":
			return nil, interop.NewFault(interop.Timeout, owner.server, "resources/read", nil)
		case "has":
			return json.RawMessage(`{}`), nil
		}
		return nil, &interop.RPCError{Code: protocol.CodeLegacyNotFound}
	}
	for _, c := range []struct {
		servers []string
		want    string
		err     error
		known   bool
	}{
		{[]string{"hangs", "late", "unknown", "has"}, `{}`, nil, true},
		{append(slices.Repeat([]string{"hangs"}, maxSearched-1), "has"), `{}`, nil, true},
		{[]string{"hangs", "unknown"}, "", errLate, true},
		{[]string{"unknown", "late"}, "", errLate, true},
		{[]string{"unknown", "unknown"}, "", nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var of []ownName
			for _, server := range c.servers {
				of = append(of, ownName{server, "x:y"})
			}
			if raw, err, known := firstReply(t.Context(), of, ask); string(raw) != c.want || err != c.err || known != c.known {
				t.Errorf("%v: %s, %v, %v", c.servers, raw, err, known)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err, _ := firstReply(ctx, of, ask); err == errLate {
				t.Errorf("%v: who asked has gone: %v", c.servers, err)
			}
		})
	}
}

// Most results pass after a scan, which separates results that can contain a link from results that only mention one.
func TestLinksAreSeen(t *testing.T) {
	table := methods.Table()
	for _, test := range []struct {
		method, raw string
		want        bool
	}{
		{"tools/call", `{"content":[{"type":"resource_link","uri":"ui://a"}]}`, true},
		{"tools/call", `{"content":[{"type":"resource","resource":{"URI":"skill:\/\/a"}}]}`, true},
		{"tools/call", `{"content":[{"type":"\u0072esource","resource":{"uri":"indus://a"}}]}`, true},
		{"tools/call", `{"content":[{"type":"resource_link","uri":"u\u0069\u003a//a"}]}`, true},
		{"tools/call", `{"content":[{"type":"\u0072esource","resource":{"uri":"x:1"}}]}`, true}, // two servers may have it
		{"tools/call", `{"content":[{"type":"resource_link","uri":"ui\u003A//a"}]}`, true},
		{"tools/call", `{"content":[{"type":"resource_link","uri":"file:///a"}]}`, false},
		{"tools/call", `{"content":[{"type":"text","text":"ui:// \u003cb\u003e \u00e9 \u0000"}],"structuredContent":{"uri":"ui://a"}}`, false},
		{"resources/read", `{"contents":[{"uri":"ui://a"}]}`, true},
		{"resources/read", `{"contents":[{"uri":"\u0055i://a"}]}`, true},
		{"resources/read", `{"contents":[{"uri":"x:1","text":"\\u003c \ud83d\ude00"}]}`, false},
	} {
		if got := (&view{}).mayLink(table[test.method], json.RawMessage(test.raw)); got != test.want {
			t.Errorf("%s of %s: %v", test.method, test.raw, got)
		}
	}
}
