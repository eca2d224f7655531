package interoptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/interoptest"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// opened returns a ready client, which is closed with the test.
func opened(t *testing.T, s *interoptest.Server) *interop.Endpoint {
	t.Helper()
	client := s.Endpoint(nil)
	t.Cleanup(client.Close)
	if err := client.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return client
}

func TestServersSpeakTheEraTheyAreGiven(t *testing.T) {
	for era, want := range map[interop.Era]interop.Era{"": interop.Modern, interop.Modern: interop.Modern, interop.Legacy: interop.Legacy} {
		s := interoptest.NewServer("s")
		t.Cleanup(s.Close)
		s.Era = era
		if got := opened(t, s).Era(); got != want {
			t.Errorf("%q: %s", era, got)
		}
		client := s.Endpoint(&interop.EndpointOptions{Era: interop.Legacy})
		t.Cleanup(client.Close)
		if err := client.Open(t.Context()); err != nil {
			t.Error(err)
		}
		if got := client.Era(); era == "" && got != interop.Legacy {
			t.Errorf("the caller's era is not kept: %s", got)
		}
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	s := interoptest.NewServer("s", toolbox.Tool{Name: "wait", Run: func(ctx context.Context, _ *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}})
	client, idle := opened(t, s), opened(t, s)
	unused := s.Endpoint(nil)
	done := make(chan error, 1)
	go func() {
		_, err := client.Invoke(t.Context(), "wait", nil)
		done <- err
	}()
	<-begun
	s.Close()
	s.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the tool saw %v", err)
	}
	var fault *interop.Fault
	if err := <-done; !errors.As(err, &fault) {
		t.Errorf("the caller saw %v", err)
	}
	<-idle.Done()
	if got := idle.Phase(); got != interop.Faulted {
		t.Errorf("the other client is %s", got)
	}
	for _, late := range []*interop.Endpoint{unused, s.Endpoint(nil)} {
		if err := late.Open(t.Context()); !errors.Is(err, interop.Transport) {
			t.Errorf("a late client: %v", err)
		}
		late.Close()
	}
}

func TestMountedServersAreLive(t *testing.T) {
	shelf := toolbox.NewRegistry(nil)
	s := interoptest.Publish("s", shelf)
	t.Cleanup(s.Close)
	s.Era = interop.Legacy
	mounted := interoptest.Mount(t.Context(), s)
	t.Cleanup(mounted.Close)
	changed := make(chan struct{}, 100)
	t.Cleanup(mounted.Box.Watch(func() { changed <- struct{}{} }))
	shelf.Add(forecast())
	<-changed
	if got := mounted.Box.Descriptors(); len(got) != 1 || got[0].Name != "s__forecast" {
		t.Errorf("%+v", got)
	}
	if err := mounted.Fleet.Restart(t.Context()); err != nil { // each connection is new
		t.Fatal(err)
	}
	out := mounted.Box.Run(t.Context(), toolbox.Call{Name: "s__forecast", Input: json.RawMessage(`{"city":"Bergen"}`)})
	if out.Err != nil || out.Text() != "sun in Bergen" {
		t.Errorf("%+v", out)
	}
}

func TestOtherServersKeepTheirTransport(t *testing.T) {
	a, b := interoptest.NewServer("a"), interoptest.NewServer("b")
	t.Cleanup(a.Close)
	t.Cleanup(b.Close)
	b.Era = interop.Legacy
	options := interoptest.Endpoints(a, b)
	if got := options(config.Server{ID: "c"}); got != nil {
		t.Errorf("%+v", got)
	}
	first, second := options(a.Config()), options(a.Config())
	if first.Transport == second.Transport || first.Era != "" {
		t.Errorf("%+v", first)
	}
	if got := options(b.Config()); got.Era != interop.Legacy {
		t.Errorf("%+v", got)
	}
}

func TestClientsOfTheSDK(t *testing.T) {
	s := interoptest.NewServer("s", forecast())
	t.Cleanup(s.Close)
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), s.Transport(), &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		list, err := session.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 1 {
			t.Errorf("%s: %+v, %v", version, list, err)
		}
		if err := session.Close(); err != nil {
			t.Errorf("%s: close: %v", version, err)
		}
	}
}

func TestNewServerPanicsOnAToolThatCannotWork(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it did not")
		}
	}()
	interoptest.NewServer("s", toolbox.Tool{Name: "nothing to run"})
}

func TestTimeIsVirtualInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := interoptest.NewServer("s", toolbox.Tool{Name: "wait", Run: func(ctx context.Context, _ *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		defer s.Close()
		mounted := interoptest.Mount(t.Context(), s)
		defer mounted.Close()
		start := time.Now()
		out := mounted.Box.Run(t.Context(), toolbox.Call{Name: "s__wait"})
		if took := time.Since(start); !errors.Is(out.Err, interop.Timeout) || took != time.Minute {
			t.Errorf("after %s: %v", took, out.Err)
		}
	})
}
