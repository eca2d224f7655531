package interop_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// A server that reports a change of its list is listed again, in both eras, over
// streams and over HTTP.
func TestListChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ transport, era, ready string }{
		{"stdio", "legacy", "notified notifications/initialized"},
		{"stdio", "modern", "listening "},
		{"http", "legacy", "standing "},
		{"http", "modern", "listening "},
		{"sse", "legacy", "notified notifications/initialized"},
	} {
		t.Run(c.transport+" "+c.era, func(t *testing.T) {
			t.Parallel()
			flags := []string{"-era", c.era}
			if c.transport == "sse" {
				flags = append(flags, "-sse")
			}
			f := fixture.New(t, flags...)
			server := childServer("a", f)
			switch c.transport {
			case "http":
				server.Transport = config.HTTP{URL: f.HTTP()}
			case "sse":
				server.Transport = config.SSE{URL: f.HTTP()}
			}
			fleet, d := newFleet(t, nil)
			fleet.Apply([]config.Server{server})
			d.wait("a", interop.ServerReady, 1)
			f.Wait(c.ready)
			before := fleet.Snapshot("")
			f.Send("change")
			with := snapshotWhen(t, fleet, listsTool("a__changed")) // by Watch
			if with.Version <= before.Version {
				t.Errorf("version %d after %d", with.Version, before.Version)
			}
			if got, err := echoText(t.Context(), fleet, "a__changed", "{}"); err != nil || got != "changed" {
				t.Errorf("the new tool says %q, %v", got, err)
			}
			f.Send("change")
			without := snapshotWhen(t, fleet, listsNoTool("a__changed"))
			if without.Version <= with.Version {
				t.Errorf("version %d after %d", without.Version, with.Version)
			}
			if diff := cmp.Diff(mountedNames(before), mountedNames(without)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A listing with the same tools as before causes no event, however often the server
// reports a change. The server is listed less and less often.
func TestAListThatDidNotChangeIsNoNews(t *testing.T) {
	s := newPuppet("t")
	bubble(t, s, interop.FleetOptions{}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		fleet.Apply(serversNamed("a"))
		d.wait("a", interop.ServerReady, 1)
		synctest.Wait()
		before := fleet.Snapshot("")
		var changes atomic.Int64
		defer fleet.Watch(func() { changes.Add(1) })()
		for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			s.notifyChanged()
		}
		if n := changes.Load(); n != 0 || fleet.Snapshot("") != before {
			t.Errorf("told of %d changes", n)
		}
		if n := s.requestCount("tools/list"); n < 10 || n > 60 {
			t.Errorf("listed %d times in 5 minutes", n)
		}
		s.list("t", "u")
		s.notifyChanged()
		now := snapshotWhen(t, fleet, listsTool("a__u"))
		if n := changes.Load(); n != 1 || now.Version != before.Version+1 {
			t.Errorf("told of %d changes, version %d after %d", n, now.Version, before.Version)
		}
	})
}

// A server with a failed listing is ready, and its fault explains why it has no tools.
// It is listed again later, and the earlier list stays.
func TestAFailedListing(t *testing.T) {
	s := newPuppet("t")
	s.listRaw("") // an error
	bubble(t, s, interop.FleetOptions{}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		fleet.Apply(serversNamed("a"))
		if err := fleet.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		e := d.wait("a", interop.ServerReady, 1)
		if e.Status.Phase != interop.Ready || e.Quarantined != nil {
			t.Errorf("it is %s, quarantined %v", e.Status.Phase, e.Quarantined)
		}
		wantFleetFault(t, e.Status.Fault, interop.Protocol, "a", "", "no tools/list")
		wantFleetFault(t, fleet.Status()[0].Fault, interop.Protocol, "a", "", "no tools/list")
		_, err := echoText(t.Context(), fleet, "a__t", "{}")
		wantFleetFault(t, err, interop.Protocol, "a", "", "no tools/list")
		var unknown *toolbox.UnknownTool
		if _, err := echoText(t.Context(), fleet, "b__t", "{}"); !errors.As(err, &unknown) {
			t.Errorf("a tool of no server: %v", err)
		}
		time.Sleep(time.Hour)
		if n := s.requestCount("tools/list"); n < 100 || n > 300 {
			t.Errorf("asked %d times in an hour", n)
		}
		s.list("t")
		snapshotWhen(t, fleet, listsTool("a__t"))
		synctest.Wait()
		if st := fleet.Status()[0]; st.Fault != nil || st.Tools != 1 {
			t.Errorf("%d tools, fault %v", st.Tools, st.Fault)
		}

		before := fleet.Snapshot("")
		s.listRaw("17")
		s.notifyChanged()
		time.Sleep(time.Second) // in bubble time: a list is not requested again at once
		synctest.Wait()
		if fleet.Snapshot("") != before {
			t.Error("a failed listing took away what was there")
		}
		wantFleetFault(t, fleet.Status()[0].Fault, interop.Protocol, "a", "", "no array")
		if got, err := echoText(t.Context(), fleet, "a__t", "{}"); err != nil || got != "t" {
			t.Errorf("the tool says %q, %v", got, err)
		}
		if got := d.all("a"); fmt.Sprint(got[:3]) != "[added connecting ready]" || len(s.dials()) != 1 {
			t.Errorf("it was connected %d times: %v", len(s.dials()), got[:3])
		}
	})
}

// A listing that hangs is ended by the server's own deadline.
func TestAListingThatHangs(t *testing.T) {
	s := newPuppet("t")
	bubble(t, s, interop.FleetOptions{}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		release := s.hold("tools/list")
		servers := serversNamed("a")
		servers[0].Timeouts.List = 7 * time.Second
		start := time.Now()
		fleet.Apply(servers)
		if err := fleet.Settle(t.Context()); err != nil || time.Since(start) != 7*time.Second {
			t.Errorf("settled after %v, %v", time.Since(start), err)
		}
		wantFleetFault(t, fleet.Status()[0].Fault, interop.Timeout, "a", "", "7s")
		release()
		snapshotWhen(t, fleet, listsTool("a__t"))
	})
}

// A connection that dies during a listing is lost like any other.
func TestAServerThatDiesWhileItIsListed(t *testing.T) {
	s := newPuppet("t")
	bubble(t, s, interop.FleetOptions{}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		release := s.hold("tools/list")
		fleet.Apply(serversNamed("a"))
		synctest.Wait()
		s.die()
		d.wait("a", interop.ServerFaulted, 1)
		release()
		d.wait("a", interop.ServerReady, 1)
		synctest.Wait()
		if got := fmt.Sprint(d.all("a")); got != "[added connecting faulted connecting ready]" {
			t.Error(got)
		}
		if n := s.requestCount("server/discover"); n != 1 {
			t.Errorf("its era was forgotten: asked %d times", n)
		}
	})
}

func legacyRow(raw string) toolbox.Wire {
	return toolbox.Wire{Format: "mcp/legacy", JSON: []byte(raw)}
}

const rowT = `{"name":"t","inputSchema":{"type":"object"}}`

// The tools of a server's last run are listed at once and callable. Then its current
// tools replace them.
func TestKnownToolsAreListedUntilTheServerAnswers(t *testing.T) {
	for _, hold := range []bool{false, true} {
		s := newPuppet("t", "new")
		opts := interop.FleetOptions{Hold: hold, Known: func(id string) []toolbox.Wire {
			return []toolbox.Wire{legacyRow(rowT), legacyRow(`{"name":"old","inputSchema":{"type":"object"}}`), legacyRow(`{"name":"odd"}`), legacyRow("7")}
		}}
		bubble(t, s, opts, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
			release := s.hold("initialize")
			fleet.Apply(serversNamed("a"))
			now := fleet.Snapshot("")
			if diff := cmp.Diff([]string{"a__t", "a__old"}, mountedNames(now)); diff != "" {
				t.Error("at once:", diff)
			}
			if diff := cmp.Diff([]string{"a"}, now.Pending); diff != "" {
				t.Error(diff)
			}
			if got := fleet.Quarantined(); len(got) != 2 {
				t.Errorf("quarantined: %v", got)
			}
			call, old := callLater(t.Context(), fleet, "a__t", "{}"), callLater(t.Context(), fleet, "a__old", "{}")
			synctest.Wait()
			release()
			for tool, c := range map[string]<-chan callOutcome{"t": call, "old": old} { // the server's own list decides
				if got := awaitOutcome(t, c); got.err != nil || got.text != tool {
					t.Errorf("the call of %s gives %v", tool, got)
				}
			}
			if diff := cmp.Diff([]string{"a__t", "a__new"}, mountedNames(fleet.Snapshot(""))); diff != "" {
				t.Error("in the end:", diff)
			}
			if got := fleet.Snapshot(""); got.Pending != nil || fleet.Quarantined() != nil {
				t.Errorf("pending %v, quarantined %v", got.Pending, fleet.Quarantined())
			}
		})
	}
}

// If a server cannot be reached, its known tools are withdrawn like the tools of a lost
// server.
func TestKnownToolsAreWithdrawnWhenTheServerCannotBeReached(t *testing.T) {
	for _, off := range []bool{false, true} {
		s := newPuppet("t")
		s.refuseWith(errors.New("moved away"))
		opts := interop.FleetOptions{
			Restart: interop.Restart{Off: off},
			Known:   func(string) []toolbox.Wire { return []toolbox.Wire{legacyRow(rowT)} },
		}
		bubble(t, s, opts, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
			start := time.Now()
			fleet.Apply(serversNamed("a"))
			call := callLater(t.Context(), fleet, "a__t", "{}")
			e := d.wait("a", interop.ServerWithdrawn, 1)
			want := 10 * time.Second
			if off {
				want = 0
			}
			if got := time.Since(start); got != want {
				t.Errorf("withdrawn after %v, want %v", got, want)
			}
			wantFleetFault(t, e.Status.Fault, interop.Transport, "a", "", "moved away")
			if got := awaitOutcome(t, call); !errors.Is(got.err, interop.NotConnected) || !strings.Contains(got.err.Error(), "moved away") {
				t.Errorf("the call gives %v", got)
			}
			if got := mountedNames(fleet.Snapshot("")); got != nil {
				t.Errorf("still listed: %v", got)
			}
		})
	}
}

// Known tools keep the format in which they were listed. If the server lists the same
// tools again, none of them changes.
func TestKnownToolsKeepTheirGrammar(t *testing.T) {
	s := newPuppet("t")
	for _, format := range []string{"mcp/legacy", "mcp/modern"} {
		opts := interop.FleetOptions{Known: func(string) []toolbox.Wire {
			return []toolbox.Wire{{Format: format, JSON: []byte(rowT)}}
		}}
		bubble(t, s, opts, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
			release := s.hold("initialize")
			fleet.Apply(serversNamed("a"))
			known := fleet.Snapshot("").Tools[0]
			release()
			if known.Wire.Format != format || string(known.Wire.JSON) != rowT {
				t.Errorf("known as %s %s", known.Wire.Format, known.Wire.JSON)
			}
			d.wait("a", interop.ServerReady, 1)
			diff := cmp.Diff(known, fleet.Snapshot("").Tools[0])
			if same := format == "mcp/legacy"; same != (diff == "") {
				t.Errorf("known as %s, listed as mcp/legacy: %s", format, diff)
			}
		})
	}
}
