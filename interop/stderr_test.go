package interop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// The end of a server's output on stderr can be read while it runs, after it failed, and after a restart. It is masked,
// and safe for a terminal.
func TestStderrOfServers(t *testing.T) {
	t.Parallel()
	const secret = "very-secret-value"
	server := func(id string, flags ...string) config.Server {
		stdio := stdioOf(fixture.New(t, flags...))
		stdio.Env = []config.Pair{{Name: "KEY", Value: config.NewSecret(secret)}}
		return config.Server{ID: id, Transport: stdio}
	}
	fleet := interop.NewFleet(&interop.FleetOptions{Restart: interop.Restart{First: time.Hour}})
	t.Cleanup(fleet.Close)
	fleet.Apply([]config.Server{
		server("good", "-stderr", "hello \x1b[31mred\x1b]0;title\x07 "+secret),
		server("broken", "-exit", "-stderr", "I will not, "+secret),
	})
	check := func(id, want string) {
		t.Helper()
		if err := fleet.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		e, err := fleet.Endpoint(id, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Stderr(); !strings.Contains(got, want) || strings.Contains(got, secret) || strings.Contains(got, "\x1b") {
			t.Errorf("%s: %q", id, got)
		}
	}
	check("good", "hello red")
	check("broken", "I will not")
	for _, id := range []string{"good", "broken"} {
		if err := fleet.RestartServer(id); err != nil {
			t.Fatal(err)
		}
	}
	check("good", "hello red")
	check("broken", "I will not")
}
