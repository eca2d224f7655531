package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// A call that arrives at the end of a server's session did not run. It is sent once more
// in a new session, and its caller does not notice.
func TestACallOutlivesTheEndOfASession(t *testing.T) {
	f := fixture.New(t, "-era", "legacy", "-no-list-changed", "-drop-session", "5")
	fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce})
	fleet.Apply([]config.Server{{ID: "a", Transport: config.HTTP{URL: f.HTTP()}}})
	d.wait("a", interop.ServerReady, 1)
	const calls = 10
	for range calls {
		wantEcho(t, fleet, "a")
	}
	f.WaitN("call echo", calls)
	if n := len(f.Events("call echo")); n != calls {
		t.Errorf("%d calls ran, want %d", n, calls)
	}
	d.wait("a", interop.ServerReady, 3)
}

// A call on a lost connection over HTTP waits for the next connection, as over stdio. If
// the next one refuses it in the same way, there is no third attempt.
func TestACallGoesOutAtMostTwice(t *testing.T) {
	f := fixture.New(t, "-era", "legacy", "-no-list-changed", "-drop-session", "1")
	fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce})
	fleet.Apply([]config.Server{{ID: "a", Transport: config.HTTP{URL: f.HTTP()}}})
	d.wait("a", interop.ServerReady, 1)
	_, err := echoText(t.Context(), fleet, "a__echo", `{"message":"hi"}`)
	wantFleetFault(t, err, interop.NotConnected, "a", "echo", "the server has ended the bridge's session with it")
	if n := len(f.Events("recv initialize")); n > 3 {
		t.Errorf("%d sessions", n)
	}
	if n := len(f.Events("call echo")); n != 0 {
		t.Errorf("%d calls ran", n)
	}
}

// A server that is down differs from a server without tools, through every method.
func TestDownIsNotUnknown(t *testing.T) {
	shut := switchableTransport(t.TempDir() + "/door")
	row := toolbox.Wire{Format: "mcp/legacy", JSON: json.RawMessage(`{"name":"old","inputSchema":{"type":"object"}}`)}
	for _, gateway := range []bool{false, true} {
		options := interop.MountOptions{
			FleetOptions: interop.FleetOptions{Grace: time.Millisecond, Restart: interop.Restart{First: time.Hour, Max: time.Hour}, Known: func(server string) []toolbox.Wire {
				if server == "known" {
					return []toolbox.Wire{row}
				}
				return nil
			}},
			Wait: -1,
		}
		exits := func(id string) config.Server {
			return childServer(id, fixture.New(t, "-stderr", "no licence", "-exit-unless", string(shut)))
		}
		m := interop.Mount(t.Context(), []config.Server{exits("known"), exits("never"), childServer("up", fixture.New(t))}, &options)
		t.Cleanup(m.Close)
		box := m.Box
		if gateway {
			box = toolbox.NewBox(nil, catalog.Over(m.Box, nil))
		}
		if err := m.Fleet.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		snapshotWhen(t, m.Fleet, listsNoTool("known__old"))
		ask := func(tool, name string) toolbox.Outcome {
			c := toolbox.Call{Name: name, Input: json.RawMessage(`{}`)}
			if gateway {
				c.Name, c.Input = tool, fmt.Appendf(nil, `{"operation":%q}`, name)
			}
			return box.Run(t.Context(), c)
		}
		for _, server := range []string{"known", "never"} {
			out := ask("call", server+"__old")
			for _, want := range []string{server + ": its server is down, and is tried again in ", " s: ", "no licence"} {
				if !out.IsError || !strings.Contains(out.Text(), want) {
					t.Errorf("gateway %v, %s: %q lacks %q", gateway, server, out.Text(), want)
				}
			}
			if n := strings.Count(out.Text(), server+": "); n != 1 {
				t.Errorf("%s is named %d times: %s", server, n, out.Text())
			}
			if !gateway && !errors.Is(out.Err, interop.NotConnected) {
				t.Errorf("%v", out.Err)
			}
		}
		var unknown *toolbox.UnknownTool
		if out := ask("call", "up__none"); !gateway && !errors.As(out.Err, &unknown) || !out.IsError {
			t.Errorf("a tool that a healthy server has not: %s", out.Text())
		}
		if !gateway {
			continue
		}
		if out := ask("schema", "known__old"); !strings.Contains(out.Text(), "UNAVAILABLE") || !strings.Contains(out.Text(), "its server known is down") {
			t.Errorf("schema: %s", out.Text())
		}
		if out := box.Run(t.Context(), toolbox.Call{Name: "search", Input: json.RawMessage(`{"query":"old"}`)}); !strings.Contains(out.Text(), `"down":["known","never"]`) {
			t.Errorf("search: %s", out.Text())
		}
	}
}

// A server that is no longer configured is unknown.
func TestATakenOutServerIsUnknown(t *testing.T) {
	fleet, _ := newFleet(t, &interop.FleetOptions{Restart: interop.Restart{First: time.Hour, Max: time.Hour}})
	fleet.Apply([]config.Server{childServer("a", fixture.New(t, "-exit"))})
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	box := toolbox.NewBox(nil, fleet)
	call := func() error { _, err := box.Do(context.Background(), toolbox.Call{Name: "a__x"}); return err }
	wantFleetFault(t, call(), interop.NotConnected, "a", "", "its server is down")
	fleet.Apply(nil)
	var unknown *toolbox.UnknownTool
	if err := call(); !errors.As(err, &unknown) {
		t.Error(err)
	}
}
