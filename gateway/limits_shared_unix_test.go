//go:build unix

package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/replica/cluster/nats"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Fifty clients of one caller at three replicas share one limit. Without NATS, each replica keeps to it alone.
func TestALimitOfThreeReplicas(t *testing.T) {
	t.Parallel()
	const period, lasts = 3 * time.Second, 7 * time.Second
	clients := fixture.Size(t, 10, 50)
	limit := 6 * clients // of 60 calls that each client sends in a period
	server := natsserver.Start(t)
	keys := identity.NewKeys(t.TempDir() + "/keys.json")
	who := (&company{keys: keys}).key(t, "ann")
	var urls []string
	var offices []map[string]*office
	for range 3 {
		engine, err := nats.Connect(t.Context(), &nats.Options{Servers: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(engine.Close)
		g, o := controlledHost(t, control.Options{Bus: engine},
			fmt.Sprintf(`@rate("%d/3s") permit(principal, action == Action::"call", resource);`, limit),
			host.Options{Authenticate: identity.NewGuard(nil, keys).Principal})
		web := httptest.NewServer(g.Handler())
		t.Cleanup(web.Close)
		urls, offices = append(urls, web.URL+"/mcp"), append(offices, o)
	}
	var mu sync.Mutex
	var permitted [][2]time.Time // when each call began and ended
	var sessions []*mcp.ClientSession
	for i := range clients {
		sessions = append(sessions, openDoor(t, fmt.Sprint(i), "/mcp", bothEras[i%2], &mcp.StreamableClientTransport{
			Endpoint: urls[i%3], HTTPClient: &http.Client{Transport: authorized(who)},
		}).client)
	}
	var running sync.WaitGroup
	end := time.Now().Add(lasts)
	for _, session := range sessions {
		running.Go(func() {
			for time.Now().Before(end) {
				began := time.Now()
				over, err := limited(t.Context(), session, call("a__open"))
				if err != nil {
					t.Error(err)
					return
				}
				if !over {
					mu.Lock()
					permitted = append(permitted, [2]time.Time{began, time.Now()})
					mu.Unlock()
				}
				time.Sleep(period / 60)
			}
		})
	}
	running.Wait()
	slices.SortFunc(permitted, func(a, b [2]time.Time) int { return a[1].Compare(b[1]) })
	most := 0
	for i, first := range permitted {
		n := 0
		for _, c := range permitted[i:] {
			if c[0].Sub(first[1]) < period && c[1].Sub(first[1]) < period {
				n++
			}
		}
		most = max(most, n)
	}
	t.Logf("at most %d calls in a period, %d in all", most, len(permitted))
	if most > 2*limit || len(permitted) < limit {
		t.Errorf("the limit is %d in a period, and the most are %d; %d in all", limit, most, len(permitted))
	}
	reached := int64(0)
	for _, o := range offices {
		reached += o["a"].calls.Load()
	}
	if reached != int64(len(permitted)) {
		t.Errorf("%d calls reached a server, and %d were permitted", reached, len(permitted))
	}

	server.Kill()
	for i := range urls {
		for over := true; over; time.Sleep(period / 60) { // until the period is over
			var err error
			if over, err = limited(t.Context(), sessions[i], call("a__open")); err != nil {
				t.Fatal(err)
			}
		}
	}
}
