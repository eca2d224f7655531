package interop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/indusagi/indus/interop"
)

// A server that reports changes without end is not listed without end.
func TestAStormOfChangesIsNoStormOfListings(t *testing.T) {
	s := newPuppet("t")
	bubble(t, s, interop.FleetOptions{}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		fleet.Apply(serversNamed("a"))
		if err := fleet.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := s.requestCount("tools/list")
		for i := range 10_000 { // ten seconds of bubble time
			s.list(fmt.Sprintf("t%d", i))
			s.notifyChanged()
			time.Sleep(time.Millisecond)
		}
		if n := s.requestCount("tools/list") - before; n < 10 || n > 110 {
			t.Errorf("10,000 changes in ten seconds were %d listings", n)
		}
	})
}
