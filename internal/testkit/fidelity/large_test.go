package fidelity

import "testing"

// TestTenMegabytesPass in either direction, for each pairing of eras, over stdio
// and HTTP on both sides.
func TestTenMegabytesPass(t *testing.T) {
	text := tenMegabytes()
	result := `{"content":[{"type":"text","text":"` + text + `","x":1.0}],"y":9007199254740993}`
	params := `{"arguments":{"text":"` + text + `","x":1.0},"_meta":{"io.modelcontextprotocol/HOP":0,"a":1}}`
	wantResult, wantParams := canon([]byte(result)), canon([]byte(params))
	for _, up := range upstreams()[:4] {
		t.Run(up.name, func(t *testing.T) {
			r := newRig(t, up)
			r.answers(result)
			for _, c := range append(r.clients[:2:2], r.clients[4:]...) {
				if d := diff(wantResult, canon(c.call("fx__fidelity", plain).result)); d != "" {
					t.Errorf("to the %s: %s", c.name, d)
				}
				if d := diff(wantParams, canon(received(t, c.call("fx__echo_raw", params)))); d != "" {
					t.Errorf("from the %s: %s", c.name, d)
				}
			}
		})
	}
}
