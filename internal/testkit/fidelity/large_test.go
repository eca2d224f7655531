package fidelity

import "testing"

// TestTenMegabytesPass checks large messages in both directions, once for each pairing of eras,
// over stdio and HTTP on both sides. Only the two ends limit the size of a message.
func TestTenMegabytesPass(t *testing.T) {
	text := tenMegabytes()
	result := `{"content":[{"type":"text","text":"` + text + `","x":1.0}],"y":9007199254740993}`
	params := `{"arguments":{"text":"` + text + `","x":1.0},"_meta":{"io.modelcontextprotocol/HOP":0,"a":1}}`
	wantResult, wantParams := canon([]byte(result)), canon([]byte(params))
	for i, up := range upstreams()[:4] {
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
