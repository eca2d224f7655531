package fidelity

import (
	"math/rand/v2"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
)

// TestTenMegabytesPass checks large messages in both directions, over stdio and HTTP on both sides. Only the two ends
// limit the size of a message. Each transport has one era, at random. With INDUS_SOAK it has both, which are all pairings
// of eras.
func TestTenMegabytesPass(t *testing.T) {
	text := tenMegabytes()
	result := `{"content":[{"type":"text","text":"` + text + `","x":1.0}],"y":9007199254740993}`
	params := `{"arguments":{"text":"` + text + `","x":1.0},"_meta":{"io.modelcontextprotocol/HOP":0,"a":1}}`
	wantResult, wantParams := canon([]byte(result)), canon([]byte(params))
	some := fixture.Size(t, 2, 4)
	legacy := rand.IntN(2) // the transport of the legacy era, if each has one
	for i, up := range upstreams()[:4] {
		if some == 2 && up.http != ((up.era == interop.Legacy) == (legacy == 1)) {
			continue
		}
		t.Run(up.name, func(t *testing.T) {
			r := newRig(t, up)
			r.answers(result)
			clients := append(r.clients[:2:2], r.clients[4:]...)
			to, from := clients[i], clients[i^1] // stdio crosses eras for results, HTTP for params
			if up.http {
				to, from = from, to
			}
			if d := diff(wantResult, canon(to.call("fx__fidelity", plain).result)); d != "" {
				t.Errorf("to the %s: %s", to.name, d)
			}
			if d := diff(wantParams, canon(received(t, from.call("fx__echo_raw", params)))); d != "" {
				t.Errorf("from the %s: %s", from.name, d)
			}
		})
	}
}
