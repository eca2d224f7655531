package interop_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// A server keeps the state of a session as long as the session lives. Server.Idle raises and lowers that time.
func TestTheConnectionOfALiveSessionStaysOpen(t *testing.T) {
	for name, tt := range map[string]struct {
		server config.Server
		caps   string
		idle   time.Duration // Server.Idle
		stays  time.Duration
	}{
		"asked":                {legacyAsker, everyCapability, 0, 100 * time.Hour},
		"asked, raised":        {legacyAsker, everyCapability, time.Hour, 59 * time.Minute},
		"asked, lowered":       {legacyAsker, everyCapability, time.Minute, 59 * time.Second},
		"a principal":          {perPrincipal(interop.Legacy), "", 0, 100 * time.Hour},
		"a principal, raised":  {perPrincipal(interop.Legacy), everyCapability, time.Hour, 59 * time.Minute},
		"a principal, lowered": {perPrincipal(interop.Legacy), "", time.Minute, 59 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAskingServer(t)
				tt.server.Idle = tt.idle
				fleet := fleetOf(t, tt.server, &interop.FleetOptions{Endpoint: a.options})
				defer fleet.Close()
				c := newRecordingClient(interop.Legacy, "Ada", tt.caps)
				var leave context.CancelFunc
				c.Session = "s"
				c.Life, leave = context.WithCancel(t.Context())
				serving := func() string {
					t.Helper()
					got, err := callAs(t.Context(), fleet, &c.Client, "ann", "session", "")
					if err != nil {
						t.Fatal(err)
					}
					return got
				}
				first := serving()
				time.Sleep(tt.stays)
				if again := serving(); again != first {
					t.Errorf("after %v the session has another connection", tt.stays)
				}
				if tt.idle > 0 {
					time.Sleep(tt.idle + time.Second)
					if serving() == first {
						t.Errorf("the connection is open after %v without a request", tt.idle)
					}
				}
				leave()
				time.Sleep(max(tt.idle, 5*time.Minute) + time.Second) // a principal's connection ends later
				synctest.Wait()
				if n := sessionsOf(a); n > 1 {
					t.Errorf("%d connections are open after the session, want at most that of all", n)
				}
			})
		})
	}
}

// A reload changes the limit for connections that are already open.
func TestTheLimitOfOpenConnectionsIsReloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAskingServer(t)
		fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
		defer fleet.Close()
		c := newRecordingClient(interop.Legacy, "Ada", everyCapability)
		c.Session, c.Life = "s", t.Context()
		if _, err := callAs(t.Context(), fleet, &c.Client, "", "session", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		limited := legacyAsker
		limited.Idle = 10 * time.Minute
		fleet.Apply([]config.Server{limited})
		time.Sleep(9 * time.Minute)
		if n := sessionsOf(a); n != 2 {
			t.Errorf("%d connections before the limit", n)
		}
		time.Sleep(2 * time.Minute)
		if n := sessionsOf(a); n > 1 {
			t.Errorf("%d connections after the limit", n)
		}
	})
}

// The connection of a live session is the last to be evicted for others.
func TestAConnectionOfALiveSessionMakesRoomLast(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
	call := func(session string, life context.Context) string {
		t.Helper()
		c := newRecordingClient(interop.Legacy, "Ada", everyCapability)
		c.Session, c.Life = session, life
		got, err := callAs(t.Context(), fleet, &c.Client, "", "session", "")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := call("live", t.Context())
	for i := range 100 { // more than one principal may have
		call(fmt.Sprint(i), nil)
	}
	if call("live", t.Context()) != first {
		t.Error("a live session has lost its connection")
	}
}

func sessionsOf(a *askingServer) (n int) {
	for range a.Sessions() {
		n++
	}
	return n
}
