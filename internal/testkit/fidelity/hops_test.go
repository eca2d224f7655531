package fidelity

import (
	"fmt"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestTwoHops checks indus mounted by indus, over every kind of connection between them.
func TestTwoHops(t *testing.T) {
	for _, up := range []upstream{upstreams()[0], upstreams()[3]} {
		t.Run(up.name, func(t *testing.T) {
			first := newRig(t, up)
			hung := 0
			for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
				for _, kind := range []string{"HTTP", "pipe"} {
					t.Run(fmt.Sprintf("%s, %s", kind, era), func(t *testing.T) {
						twoHops(t, first.behind(t, kind, era), &hung)
					})
				}
			}
		})
	}
}

// behind returns a rig that uses the host of r as its server.
func (r *rig) behind(t *testing.T, kind string, era interop.Era) *rig {
	next := &rig{T: t, up: r.up, Server: r.Server, result: r.result}
	opts := interop.EndpointOptions{Era: era}
	if kind == "pipe" {
		in, out := r.connect()
		opts.Transport = &mcp.IOTransport{Reader: out, Writer: in}
	}
	next.publish(next.mount("two", config.HTTP{URL: r.url}, opts))
	return next
}

func twoHops(t *testing.T, r *rig, hung *int) {
	const report = `{"x":{` + oddValues + `},"progressToken":$TOKEN,"progress":1}`
	const failure = `{"code":-5,"message":"no luck","data":{` + oddValues + `}}`
	r.answers(kitchenSink)
	r.each(t, func(t *testing.T, c *client) {
		check := func(what, want, got string) {
			t.Helper()
			if d := diff(want, got); d != "" {
				t.Errorf("%s: %s", what, d)
			}
		}
		result := c.call("two__fx__fidelity", plain).result
		check("result", canon([]byte(kitchenSink)), canon(result))
		checkHop(t, c, result)
		for name, params := range argumentCases() {
			check(name, canon([]byte(params)), canon(received(t, c.call("two__fx__echo_raw", params))))
		}
		got := c.call("two__fx__say", `{"_meta":{"io.modelcontextprotocol/HOP":0,"progressToken":"t"},`+sayArguments(
			`{"jsonrpc":"2.0","method":"notifications/progress","params":`+report+`}`,
			`{"jsonrpc":"2.0","id":$ID,"error":`+failure+`}`)+`}`)
		if len(got.notes) != 1 {
			t.Fatalf("%d reports", len(got.notes))
		}
		check("report", canon([]byte(report)), canon(got.notes[0]))
		check("token", `"t"`, string(lookup(compact(got.notes[0]), "progressToken")))
		check("error", string(compact([]byte(failure))), string(compact(got.error)))
		*hung++
		x, id := r.hang(c, "two__fx__hang", *hung)
		x.cancel()
		r.Wait(r.up.word() + id)
	})
	listed(t, r, "two__fx__fidelity")
}
