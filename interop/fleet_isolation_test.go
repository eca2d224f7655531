package interop_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// Of twenty servers, five never reply, five crash, and five reply late. The five good
// ones are up, listed and called meanwhile. Every snapshot on the way has the
// configured order.
func TestOneServerNeverDelaysItsPeers(t *testing.T) {
	t.Parallel()
	const each = 5
	hangs := []string{"-era", "legacy", "-hang", "server/discover,initialize"}
	crowd := []struct {
		kind string
		*fixture.Server
	}{
		{"hangs", fixture.New(t, hangs...)},
		{"good", fixture.New(t, "-era", "modern")},
		{"crashes", fixture.New(t, "-exit")},
		{"slow", fixture.New(t, hangs...)},
	}
	var servers []config.Server
	order, of := []string{}, map[string][]string{}
	for i := range each {
		for _, c := range crowd {
			id := fmt.Sprintf("%s%d", c.kind, i)
			s := childServer(id, c.Server)
			s.Timeouts.Connect = giveUp
			servers = append(servers, s)
			order, of[c.kind] = append(order, id), append(of[c.kind], id)
		}
	}
	fleet, d := newFleet(t, &interop.FleetOptions{Hold: true, Restart: interop.Restart{First: time.Hour, Max: time.Hour}})
	seen := watchOrder(fleet)
	fleet.Apply(servers)

	hanging, good, slow := crowd[0], crowd[1], crowd[3]
	for _, id := range of["good"] {
		d.wait(id, interop.ServerReady, 1)
	}
	hanging.WaitN("recv server/discover", each)
	slow.WaitN("recv server/discover", each)
	for _, id := range of["crashes"] {
		e := d.wait(id, interop.ServerFaulted, 1)
		wantFleetFault(t, e.Status.Fault, interop.SpawnFailed, id, "", "exit status 3")
	}
	now := fleet.Snapshot("")
	if diff := cmp.Diff(of["good"], ownersOf(now)); diff != "" {
		t.Error("listed while the others connect:", diff)
	}
	if diff := cmp.Diff(subtract(order, append(of["good"], of["crashes"]...)), now.Pending); diff != "" {
		t.Error("pending:", diff)
	}
	for _, id := range of["good"] {
		wantEcho(t, fleet, id)
	}
	for i, st := range fleet.Status() {
		if st.Server != order[i] {
			t.Errorf("status %d is of %s, want %s", i, st.Server, order[i])
		}
	}

	slow.Send("release server/discover")
	slow.Send("release initialize")
	for _, id := range of["slow"] {
		d.wait(id, interop.ServerReady, 1)
		wantEcho(t, fleet, id)
	}
	if diff := cmp.Diff(subtract(order, append(of["hangs"], of["crashes"]...)), ownersOf(fleet.Snapshot(""))); diff != "" {
		t.Error("listed in the end:", diff)
	}
	if diff := cmp.Diff(of["hangs"], fleet.Snapshot("").Pending); diff != "" {
		t.Error("pending in the end:", diff)
	}
	good.WaitN("recv tools/list", each) // earlier events on the same connection have arrived
	if n := len(good.Events("start ")); n != each {
		t.Errorf("the good ones were started %d times", n)
	}
	for _, got := range seen() {
		if !slices.IsSortedFunc(got, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) }) {
			t.Errorf("a snapshot has the order %v", got)
		}
	}
}

// watchOrder collects the servers of each snapshot that a fleet reports.
func watchOrder(fleet *interop.Fleet) func() [][]string {
	var mu sync.Mutex
	var seen [][]string
	stop := fleet.Watch(func() {
		s := fleet.Snapshot("")
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, ownersOf(s), s.Pending)
	})
	return func() [][]string { stop(); return seen }
}

func subtract(all, removed []string) []string {
	var out []string
	for _, s := range all {
		if !slices.Contains(removed, s) {
			out = append(out, s)
		}
	}
	return out
}

// The errors of one server never affect another: each other server is ready, keeps its
// process, and replies.
func TestAServerThatMisbehavesDoesNotTouchItsPeer(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{
		{"-noise", "-bigline", "1000000"},
		{"-hang", "tools/list"},
		{"-listerror"},
		{"-malformed", "tools/list"},
		{"-bare", "-endless"},
		{"-badrows", "-duplicates"},
		{"-probe", "exit", "-era", "legacy"},
		{"-grandchild"},
	} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			t.Parallel()
			peer := fixture.New(t, "-era", "legacy")
			fleet, d := newFleet(t, &interop.FleetOptions{Restart: interop.Restart{First: time.Hour, Max: time.Hour}})
			fleet.Apply([]config.Server{childServer("bad", fixture.New(t, flags...)), childServer("peer", peer)})
			d.wait("peer", interop.ServerReady, 1)
			wantEcho(t, fleet, "peer")
			if diff := cmp.Diff([]string{"added", "connecting", "ready"}, d.all("peer")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Invalid rows of a listing do not affect the valid rows.
func TestEveryListedToolIsMountedOrQuarantined(t *testing.T) {
	f := fixture.New(t, "-badrows", "-duplicates", "-tools", "2")
	fleet, d := newFleet(t, nil)
	fleet.Apply([]config.Server{childServer("odd", f)})
	e := d.wait("odd", interop.ServerReady, 1)
	mounted := fleet.Snapshot("")
	for _, name := range []string{"odd__echo", "odd__tool_0002"} {
		if !listsTool(name)(mounted) {
			t.Errorf("%s is not mounted", name)
		}
	}
	if diff := cmp.Diff(fleet.Quarantined(), e.Quarantined); diff != "" {
		t.Error(diff)
	}
	reasons := map[string]string{}
	for _, q := range e.Quarantined {
		if q.Server != "odd" || q.Reason == "" {
			t.Errorf("quarantined without server or reason: %v", q)
		}
		reasons[q.Tool] = q.Reason
		if q.Tool != "" && q.Tool != "echo" && listsTool(config.QualifiedName("odd", q.Tool))(mounted) != q.Published {
			t.Errorf("%s is quarantined and mounted, or neither", q.Tool)
		}
	}
	for _, name := range []string{"", "echo", "bad_no_schema", "bad_null_schema", "bad_array_schema", "bad_text_schema", "bad_string_type", "bad_deep_schema"} {
		if reasons[name] == "" {
			t.Errorf("tool %q is not quarantined; there are %v", name, reasons)
		}
	}
	_, err := echoText(t.Context(), fleet, "odd__bad_no_schema", "{}")
	if err == nil || errors.Is(err, interop.NotConnected) {
		t.Errorf("a call to a quarantined tool: %v", err)
	}
}

// The calls of one principal take nothing from another, nor from other servers.
func TestCallsAreBoundedByServerAndPrincipal(t *testing.T) {
	f := fixture.New(t)
	fleet, d := newFleet(t, &interop.FleetOptions{MaxCalls: 2, CallWait: -1})
	fleet.Apply([]config.Server{childServer("one", f), childServer("two", f)})
	d.wait("one", interop.ServerReady, 1)
	d.wait("two", interop.ServerReady, 1)
	hang := func(server string, caller toolbox.Principal) error {
		_, err := fleet.Do(t.Context(), toolbox.Call{Name: server + "__hang", Input: json.RawMessage(`{"key":"k"}`), Caller: caller})
		return err
	}
	var calls sync.WaitGroup
	n := 0
	for _, who := range []struct {
		server string
		caller toolbox.Principal
	}{{"one", "ann"}, {"one", "bob"}, {"two", "ann"}} {
		for range 2 {
			calls.Go(func() {
				if err := hang(who.server, who.caller); err != nil {
					t.Error(err)
				}
			})
		}
		n += 2
		f.WaitN("call hang", n)
		var fault *interop.Fault
		if err := hang(who.server, who.caller); !errors.As(err, &fault) || fault.Kind != interop.Timeout || fault.Server != who.server {
			t.Errorf("a third of %s at %s: %v", who.caller, who.server, err)
		}
	}
	f.Send("release k")
	calls.Wait()
	if err := hang("one", "ann"); err != nil {
		t.Error(err)
	}
}
