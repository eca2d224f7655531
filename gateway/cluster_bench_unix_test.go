//go:build unix

package gateway_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
)

// BenchmarkCluster calls a tool over HTTP with an API key and a limit, without a cluster and with one in turn. It reports
// both times, their ratio, and the messages to NATS for each call with a cluster.
func BenchmarkCluster(b *testing.B) {
	server := natsserver.Start(b)
	engine, err := nats.Connect(b.Context(), &nats.Options{Servers: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(engine.Close)
	document, err := cluster.OpenDocument(b.Context(), engine, "keys")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(document.Close)
	open := func(keys *identity.Keys, c control.Options) func() {
		g, _ := controlledHost(b, c, `@rate("1000000/d") permit(principal, action == Action::"call", resource);`,
			host.Options{Authenticate: identity.NewGuard(nil, keys).Principal})
		web := httptest.NewServer(g.Handler())
		b.Cleanup(web.Close)
		client := &http.Client{Transport: keyed{(&company{keys: keys}).key(b, "ann"), &http.Transport{}}}
		return func() {
			if answer, err := modernCall(b.Context(), client, web.URL+"/mcp", "a__open"); err != nil || !strings.Contains(answer, "result") {
				b.Fatal(err, answer)
			}
		}
	}
	messages := func() (n float64) {
		r, err := http.Get(server.Monitor + "/varz")
		if err != nil {
			b.Fatal(err)
		}
		defer r.Body.Close()
		var of map[string]any
		if err := json.NewDecoder(r.Body).Decode(&of); err != nil {
			b.Fatal(err)
		}
		return of["in_msgs"].(float64)
	}
	calls := [2]func(){
		open(identity.NewKeys(b.TempDir()+"/keys.json"), control.Options{}),
		open(identity.NewSharedKeys(document), control.Options{Bus: engine}),
	}
	var took [2]time.Duration
	before := messages()
	for b.Loop() {
		for i, call := range calls {
			began := time.Now()
			call()
			took[i] += time.Since(began)
		}
	}
	n := float64(b.N)
	b.ReportMetric(float64(took[0].Microseconds())/n, "µs/without")
	b.ReportMetric(float64(took[1].Microseconds())/n, "µs/with")
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
	b.ReportMetric((messages()-before)/n, "messages/call")
}
