package gateway

import (
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/gateway/internal/methods"
)

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
