package interop_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/interop"
)

// A server that accepts calls and replies to none is reconnected. A server with slow tools is not.
func TestAServerThatHangs(t *testing.T) {
	for _, ping := range []bool{false, true} {
		s := newPuppet("t")
		idleBubble(t, s, interop.FleetOptions{}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
			s.hold("tools/call")
			if !ping {
				s.hold("ping")
			}
			for range 3 {
				if _, err := echoText(t.Context(), fleet, "a__t", "{}"); !errors.Is(err, interop.Timeout) {
					t.Fatal(err)
				}
			}
			call := callLater(t.Context(), fleet, "a__t", "{}")
			time.Sleep(11 * time.Second)
			synctest.Wait()
			if ping {
				if n := len(s.dials()); n != 1 || s.requestCount("ping") != 1 {
					t.Errorf("%d connections, %d pings", n, s.requestCount("ping"))
				}
				awaitOutcome(t, call)
				return
			}
			wantFleetFault(t, awaitOutcome(t, call).err, interop.ToolError, "a", "t", "connection")
			wantFleetFault(t, d.wait("a", interop.ServerFaulted, 1).Status.Fault, interop.Transport, "a", "", "3 requests in a row were not answered, nor ping within 10s")
			s.open("tools/call")
			if got, err := echoText(t.Context(), fleet, "a__t", "{}"); got != "t" || err != nil {
				t.Errorf("it says %q, %v", got, err)
			}
		})
	}
}
