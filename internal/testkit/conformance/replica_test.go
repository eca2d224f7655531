package conformance_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/replicas"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// throughReplicas returns a front of several gateways behind a balancer that sends each request to another one. Each has
// a process of its own of a server on stdio.
func throughReplicas(n int) front {
	return func(t *testing.T, era interop.Era, via config.TransportConfig) string {
		t.Helper()
		server := config.Server{ID: "everything", Transport: via, Era: era}
		site := replicas.Start(t, n, sealed.Random(), func(_ string, o *gateway.Options) *gateway.Gateway {
			o.Transparent = server.ID
			o.Ledger = &ledger.Options{Mount: &interop.MountOptions{Wait: -1, FleetOptions: interop.FleetOptions{Lanes: 16}}}
			return gateway.New(context.Background(), []config.Server{server}, o)
		})
		for _, m := range site.Members {
			attached := m.Gateway().Attached()
			if err := attached.Fleet.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := attached.Status()[0]; s.Phase != interop.Ready || s.Era != cmp.Or(era, interop.Modern) {
				t.Fatalf("%s: %+v", m.Name, s)
			}
		}
		return replicas.NewFront(t, site.URLs()...) + "/mcp"
	}
}

// TestServerOverReplicas runs runs of TestServer over two replicas. The results are the same as over one. Each revision
// has one run for each transport and each era, paired at random. make conformance and make soak pair all of them. make
// conformance runs them over three replicas too, and make deployment runs them behind HAProxy.
func TestServerOverReplicas(t *testing.T) {
	t.Parallel()
	counts := []int{2}
	if *reference {
		counts = append(counts, 3)
	}
	for _, n := range counts {
		for revision, want := range map[string]int{legacyRevision: 30, modernRevision: 37} {
			t.Run(fmt.Sprintf("%s over %d", revision, n), func(t *testing.T) {
				t.Parallel()
				perform(t, paired(t, runs(revision, throughReplicas(n))[1:]), passes(revision, want))
			})
		}
	}
}

// paired returns the runs over stdio and HTTP with one era each, at random, or all four.
func paired(t *testing.T, all []run) []run {
	if *reference || fixture.Size(t, 2, len(all)) == len(all) {
		return all
	}
	first := rand.IntN(2) // stdio and HTTP of the legacy era, then those of the modern era
	pair := []run{all[2*first], all[2*(1-first)+1]}
	t.Logf("over %s and %s", pair[0].name, pair[1].name)
	return pair
}
