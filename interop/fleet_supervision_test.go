package interop_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// atOnce reconnects as fast as a test needs.
var atOnce = interop.Restart{First: time.Millisecond, Max: 20 * time.Millisecond}

// switchableTransport is a file that a fixture needs to start.
type switchableTransport string

func newDoor(t testing.TB) switchableTransport {
	d := switchableTransport(filepath.Join(t.TempDir(), "door"))
	d.open(t)
	return d
}

func (d switchableTransport) open(t testing.TB) {
	if err := os.WriteFile(string(d), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (d switchableTransport) shut(t testing.TB) {
	if err := os.Remove(string(d)); err != nil {
		t.Fatal(err)
	}
}

func TestADeadServerComesBackAndNobodyNotices(t *testing.T) {
	door := newDoor(t)
	f := fixture.New(t, "-era", "legacy", "-exit-unless", string(door))
	peers := fixture.New(t, "-bare", "-tools", "1")
	fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce, Grace: giveUp})
	fleet.Apply([]config.Server{childServer("a", peers), childServer("b", f), childServer("c", peers)})
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := fleet.Snapshot("")
	if diff := cmp.Diff([]string{"a", "b", "c"}, ownersOf(before)); diff != "" {
		t.Error(diff)
	}
	inFlight := callLater(t.Context(), fleet, "b__hang", `{"key":"never"}`)
	f.Wait("call hang")
	door.shut(t)
	kill9(t, pidOf(t, f, 1))

	wantFleetFault(t, awaitOutcome(t, inFlight).err, interop.ToolError, "b", "hang", "connection lost")
	e := d.wait("b", interop.ServerFaulted, 1)
	wantFleetFault(t, e.Status.Fault, interop.Transport, "b", "", "signal: killed")
	if e.Status.Tools == 0 {
		t.Error("its tools are not counted while they are listed")
	}
	meanwhile := callLater(t.Context(), fleet, "b__echo", `{"message":"hi"}`)
	ctx, cancel := context.WithCancel(t.Context())
	impatient := callLater(ctx, fleet, "b__echo", `{"message":"never"}`)
	d.wait("b", interop.ServerFaulted, 4) // after three failed retries
	cancel()
	if got := awaitOutcome(t, impatient); !errors.Is(got.err, context.Canceled) || errors.Is(got.err, interop.NotConnected) {
		t.Errorf("a cancelled wait gives %v", got)
	}
	if fleet.Snapshot("") != before {
		t.Error("a lost server shows in the snapshot")
	}
	select {
	case got := <-meanwhile:
		t.Errorf("a call did not wait for the server: %v", got)
	default:
	}

	door.open(t)
	if got := awaitOutcome(t, meanwhile); got.err != nil || got.text != "hi" {
		t.Errorf("the call that waited gives %v", got)
	}
	d.wait("b", interop.ServerReady, 2)
	if fleet.Snapshot("") != before {
		t.Error("a server that is back shows in the snapshot")
	}
	if st := fleet.Status()[1]; st.Fault != nil || st.Phase != interop.Ready {
		t.Errorf("it is %s with %v", st.Phase, st.Fault)
	}
	f.Wait("call echo")
	if n := len(f.Events("call hang")); n != 1 {
		t.Errorf("the call in flight went out %d times", n)
	}
	if n := len(f.Events("call echo")); n != 1 {
		t.Errorf("the call that waited went out %d times", n)
	}
	peers.WaitN("recv tools/list", 2)
	if n := len(peers.Events("start ")); n != 2 {
		t.Errorf("the peers were started %d times", n)
	}
}

func TestAServerThatStaysAwayIsWithdrawnUntilItReturns(t *testing.T) {
	t.Parallel()
	door := newDoor(t)
	f := fixture.New(t, "-era", "legacy", "-bare", "-tools", "2", "-exit-unless", string(door))
	peer := fixture.New(t, "-bare", "-tools", "1")
	fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce, Grace: time.Second})
	fleet.Apply([]config.Server{childServer("a", f), childServer("b", peer)})
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	door.shut(t)
	kill9(t, pidOf(t, f, 1))
	d.wait("a", interop.ServerFaulted, 1)
	meanwhile := callLater(t.Context(), fleet, "a__tool_0001", `{}`)
	without := snapshotWhen(t, fleet, listsNoTool("a__tool_0001")) // by Watch
	d.wait("a", interop.ServerWithdrawn, 1)
	if diff := cmp.Diff([]string{"b"}, ownersOf(without)); diff != "" {
		t.Error(diff)
	}
	wantFleetFault(t, awaitOutcome(t, meanwhile).err, interop.NotConnected, "a", "tool_0001", "refusing to start")
	_, err := echoText(t.Context(), fleet, "a__tool_0001", `{}`)
	wantFleetFault(t, err, interop.NotConnected, "a", "", "refusing to start")
	var unknown *toolbox.UnknownTool
	if _, err := echoText(t.Context(), fleet, "b__tool_0009", `{}`); !errors.As(err, &unknown) {
		t.Errorf("an unknown tool of a healthy server: %v", err)
	}
	if _, err := echoText(t.Context(), fleet, "zebra__tool", `{}`); !errors.As(err, &unknown) {
		t.Errorf("a tool of no server: %v", err)
	}
	if st := fleet.Status()[0]; st.Tools != 0 || st.Fault == nil {
		t.Errorf("a server without tools says %d tools, fault %v", st.Tools, st.Fault)
	}

	door.open(t)
	back := snapshotWhen(t, fleet, listsTool("a__tool_0002"))
	if diff := cmp.Diff([]string{"a__tool_0001", "a__tool_0002", "b__tool_0001"}, mountedNames(back)); diff != "" {
		t.Error("it is not back in its place:", diff)
	}
	if back.Version <= without.Version {
		t.Errorf("version %d after %d", back.Version, without.Version)
	}
	if n := strings.Count(strings.Join(d.all("a"), " "), "withdrawn"); n != 1 {
		t.Errorf("withdrawn %d times: %v", n, d.all("a"))
	}
}

func TestAServerThatComesBackDifferentIsListedAnew(t *testing.T) {
	list := fixture.File(t, `[{"name":"old","inputSchema":{"type":"object"}}]`)
	f := fixture.New(t, "-era", "legacy", "-list-file", list)
	fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce, Grace: giveUp})
	fleet.Apply([]config.Server{childServer("a", f)})
	d.wait("a", interop.ServerReady, 1)
	if err := os.WriteFile(list, []byte(`[{"name":"new","inputSchema":{"type":"object"}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	kill9(t, pidOf(t, f, 1))
	now := snapshotWhen(t, fleet, listsTool("a__new"))
	if diff := cmp.Diff([]string{"a__new"}, mountedNames(now)); diff != "" {
		t.Error(diff)
	}
	if got := d.all("a"); strings.Contains(fmt.Sprint(got), "withdrawn") {
		t.Errorf("withdrawn in between: %v", got)
	}
}

// With Restart.Off, as in the seeds, nothing reconnects without a request to do so.
func TestRestartOff(t *testing.T) {
	f := fixture.New(t, "-era", "legacy")
	fleet, d := newFleet(t, &interop.FleetOptions{Restart: interop.Restart{Off: true}})
	fleet.Apply([]config.Server{childServer("a", f), childServer("never", fixture.New(t, "-exit"))})
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	kill9(t, pidOf(t, f, 1))
	e := d.wait("a", interop.ServerWithdrawn, 1)
	wantFleetFault(t, e.Status.Fault, interop.Transport, "a", "", "connection lost")
	if got := mountedNames(fleet.Snapshot("")); got != nil {
		t.Errorf("still listed: %v", got)
	}
	_, err := echoText(t.Context(), fleet, "a__echo", `{}`)
	wantFleetFault(t, err, interop.NotConnected, "a", "", "connection lost")
	if diff := cmp.Diff([]string{"added", "connecting", "ready", "faulted", "withdrawn"}, d.all("a")); diff != "" {
		t.Error(diff)
	}
	d.wait("never", interop.ServerFaulted, 1)
	if diff := cmp.Diff([]string{"added", "connecting", "faulted"}, d.all("never")); diff != "" {
		t.Error(diff)
	}
	if err := fleet.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEcho(t, fleet, "a")
	f.Wait("call echo")
	if n := len(f.Events("start ")); n != 2 {
		t.Errorf("started %d times", n)
	}
}

// The last era of a server is tried first at the next connection.
func TestEraIsRemembered(t *testing.T) {
	for _, c := range []struct {
		era  interop.Era
		once string // only the first process receives this
	}{{interop.Legacy, "recv server/discover"}, {interop.Modern, "recv initialize"}} {
		t.Run(string(c.era), func(t *testing.T) {
			f := fixture.New(t, "-era", string(c.era))
			fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce})
			fleet.Apply([]config.Server{childServer("a", f)})
			d.wait("a", interop.ServerReady, 1)
			f.Wait("recv tools/list") // earlier events on the same connection have arrived
			before := len(f.Events(c.once))
			kill9(t, pidOf(t, f, 1))
			if e := d.wait("a", interop.ServerReady, 2); e.Status.Era != c.era {
				t.Errorf("it is %s now", e.Status.Era)
			}
			f.WaitN("recv tools/list", 2)
			if n := len(f.Events(c.once)); n != before {
				t.Errorf("%s: %d times, and %d after the restart", c.once, before, n)
			}
		})
	}
}

// A remembered era never locks out a server that has changed its era.
func TestAServerThatComesBackInTheOtherEraConnects(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the server is a shell script")
	}
	for _, c := range []struct{ was, is interop.Era }{{interop.Legacy, interop.Modern}, {interop.Modern, interop.Legacy}} {
		t.Run(string(c.was)+" to "+string(c.is), func(t *testing.T) {
			for _, told := range []interop.Era{"", c.was} { // by the options too
				f := fixture.New(t)
				era := fixture.File(t, string(c.was))
				run := fixture.File(t, fmt.Sprintf("exec '%s' -control %s -era \"$(cat '%s')\"\n", f.Path, f.Addr(), era))
				fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce, Endpoint: func(config.Server) *interop.EndpointOptions {
					return &interop.EndpointOptions{Era: told}
				}})
				fleet.Apply([]config.Server{{ID: "a", Transport: config.Stdio{Command: "sh", Args: []string{run}}}})
				if e := d.wait("a", interop.ServerReady, 1); e.Status.Era != c.was {
					t.Fatalf("it is %s at first", e.Status.Era)
				}
				if err := os.WriteFile(era, []byte(c.is), 0o600); err != nil {
					t.Fatal(err)
				}
				kill9(t, pidOf(t, f, 1))
				if e := d.wait("a", interop.ServerReady, 2); e.Status.Era != c.is {
					t.Errorf("it is %s in the end", e.Status.Era)
				}
				fleet.Close()
			}
		})
	}
}

// A server at a URL is connected again when it is back, with its sessions or without.
func TestAServerBehindAURLComesBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		flags []string
	}{
		{"modern", []string{"-era", "modern"}}, {"legacy", []string{"-era", "legacy"}}, {"sse", []string{"-sse"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := fixture.New(t, c.flags...)
			start := func(addr string) (*fixture.Process, string) {
				p := fixture.Start(t, fixture.Command{Path: f.Path, Args: append([]string{"-http", addr}, f.Args...)})
				return p, p.Line()
			}
			p, address := start(fixture.FreeAddr(t))
			where, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce, Grace: giveUp})
			fleet.Apply([]config.Server{{ID: "a", Transport: config.HTTP{URL: address}}})
			d.wait("a", interop.ServerReady, 1)
			before := fleet.Snapshot("")
			kill9(t, p.PID())
			for conn, err := net.Dial("tcp", where.Host); err == nil; conn, err = net.Dial("tcp", where.Host) {
				conn.Close() // until the port is closed
			}
			notices := make(chan callOutcome, 2) // calls notice the loss, or wait if it was noticed before
			go func() {
				for range cap(notices) {
					notices <- <-callLater(t.Context(), fleet, "a__echo", `{"message":"hi"}`)
				}
			}()
			e := d.wait("a", interop.ServerFaulted, 1)
			wantFleetFault(t, e.Status.Fault, interop.Transport, "a", "", "connection lost")
			d.wait("a", interop.ServerFaulted, 3)
			call := callLater(t.Context(), fleet, "a__echo", `{"message":"hi"}`)
			start(where.Host)
			if got := awaitOutcome(t, call); got.text != "hi" {
				t.Errorf("the call that waited gives %v", got)
			}
			for range cap(notices) {
				if got := awaitOutcome(t, notices); got.text != "hi" && !errors.Is(got.err, interop.ToolError) {
					t.Errorf("a call that met a dead server gives %v", got)
				}
			}
			if fleet.Snapshot("") != before {
				t.Error("its absence shows in the snapshot")
			}
		})
	}
}

// A caller's later changes to an applied configuration have no effect.
func TestApplyKeepsItsOwnCopy(t *testing.T) {
	f := fixture.New(t, "-era", "legacy")
	servers := []config.Server{childServer("a", f), {ID: "b", Transport: config.HTTP{URL: "http://127.0.0.1:1", Headers: []config.Pair{{Name: "X", Value: config.NewSecret("1")}}}}}
	fleet, d := newFleet(t, nil)
	fleet.Apply(servers)
	d.wait("a", interop.ServerReady, 1)
	stdio := servers[0].Transport.(config.Stdio)
	stdio.Args[len(stdio.Args)-1] = "modern"
	servers[1].Transport.(config.HTTP).Headers[0].Value = config.NewSecret("2")
	fleet.Apply(servers)
	if e := d.wait("a", interop.ServerReady, 2); e.Status.Era != interop.Modern {
		t.Errorf("it is %s", e.Status.Era)
	}
	d.wait("b", interop.ServerRemoved, 1)
}
