package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/interoptest"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// Servers of twenty tools connect at the same time. The cost of each event must not grow with the number of servers.
func BenchmarkServersComeUp(b *testing.B) {
	for _, n := range []int{10, 50} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			servers, configs := make([]*interoptest.Server, n), make([]config.Server, n)
			for i := range servers {
				var tools []toolbox.Tool
				for j := range 20 {
					tools = append(tools, toolbox.Tool{
						Name: fmt.Sprintf("tool_%02d", j), Description: "A tool of which there are many.",
						Schema: []byte(`{"type":"object","properties":{"path":{"type":"string","description":"Where."},"lines":{"type":"integer"}},"required":["path"]}`),
						Run:    func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) { return nil, nil },
					})
				}
				servers[i] = interoptest.NewServer(fmt.Sprintf("s%02d", i), tools...)
				defer servers[i].Close()
				configs[i] = servers[i].Config()
			}
			for b.Loop() {
				l := ledger.Ledger{}
				a := ledger.Attach(b.Context(), l, configs, &ledger.Options{Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: interoptest.Endpoints(servers...)}, Wait: -1}})
				if err := a.Fleet.Settle(b.Context()); err != nil {
					b.Fatal(err)
				}
				if got := len(a.Snapshot("").Tools); got != 20*n {
					b.Fatalf("%d tools", got)
				}
				a.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "us/server")
		})
	}
}
