package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
)

// TestErrorsOfCalls checks the error of each failed call, and whether it is retryable. A mutation is retryable only if
// it cannot have run.
func TestErrorsOfCalls(t *testing.T) {
	rpc := func(body string) func(*raw) {
		return func(s *raw) {
			s.answers(func(w http.ResponseWriter, id json.RawMessage, _ *http.Request) {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, body)
			})
		}
	}
	status := func(n int) func(*raw) { return func(s *raw) { s.status(n, "no") } }
	result := func(bytes string) func(*raw) { return func(s *raw) { s.result(bytes) } }
	hangUp := func(s *raw) {
		s.answers(func(w http.ResponseWriter, _ json.RawMessage, _ *http.Request) { panic(http.ErrAbortHandler) })
	}
	for name, tt := range map[string]struct {
		prepare  func(*raw)
		code     operation.Code
		details  string
		mutation bool // whether a mutation is retryable
		query    bool
	}{
		"an error of JSON-RPC":   {rpc(`{"code":-32042,"message":"no","data":{"n":9007199254740993}}`), bridge.Refused, `{"code":-32042,"data":{"n":9007199254740993}}`, false, false},
		"invalid params":         {rpc(`{"code":-32602,"message":"no"}`), bridge.Refused, `{"code":-32602}`, false, false},
		"401":                    {status(401), bridge.Unauthorized, `{"status":401}`, false, false},
		"403":                    {status(403), bridge.Unauthorized, `{"status":403}`, false, false},
		"429":                    {status(429), bridge.Unavailable, `{"status":429}`, true, true},
		"503":                    {status(503), bridge.Unavailable, `{"status":503}`, true, true},
		"500":                    {status(500), bridge.Unavailable, `{"status":500}`, false, true},
		"504":                    {status(504), bridge.Unavailable, `{"status":504}`, false, true},
		"the connection is cut":  {hangUp, bridge.Unavailable, ``, false, true},
		"a result of no type":    {result(`{"resultType":"task"}`), operation.InternalError, ``, false, false},
		"a question":             {result(`{"resultType":"input_required","requestState":"x"}`), operation.InternalError, ``, false, false},
		"a result that is none":  {result(`7`), operation.InternalError, ``, false, false},
		"an answer without JSON": {result(`{`), operation.InternalError, ``, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRaw(t)
			tt.prepare(s)
			f := them(s.url)
			f.TrustAnnotations = true
			r := imported(t, f)
			for tool, retryable := range map[string]bool{"plain": tt.mutation, "reads": tt.query} {
				for _, caps := range []operation.Capabilities{nil, token("ada")} {
					e := ask(t.Context(), r, tool, `{}`, caps)
					if code(e) != tt.code || e.Err.Retryable != retryable || tt.details != "" && string(e.Err.Details) != tt.details {
						t.Errorf("%s: %v, retryable %v, %s", tool, e.Err, e.Err != nil && e.Err.Retryable, e.Err.Details)
					}
				}
			}
		})
	}
}

func TestAServerThatIsGoneIsUnavailable(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			f := fixture.New(t, "-era", era)
			a := them(f.HTTP())
			a.Timeouts = config.Timeouts{Connect: 3 * time.Second} // calls wait this long without success
			r := imported(t, a)
			if e := ask(t.Context(), r, "die", `{}`, nil); code(e) != bridge.Unavailable || e.Err.Retryable {
				t.Errorf("it died in mid-call: %v", e.Err)
			}
			for _, caps := range []operation.Capabilities{nil, token("ada")} { // the server is gone, so nothing is sent
				e := ask(t.Context(), r, "echo", `{}`, caps)
				for i := 0; i < 3 && !(e.Err != nil && e.Err.Retryable); i++ {
					e = ask(t.Context(), r, "echo", `{}`, caps)
				}
				if code(e) != bridge.Unavailable || !e.Err.Retryable {
					t.Error(e.Err)
				}
			}
			if len(names(r)) == 0 {
				t.Error("its operations are gone")
			}
		})
	}
}

func TestCancellationReachesTheServer(t *testing.T) {
	for era, event := range map[string]string{eraLegacy: "cancelled", eraModern: "disconnected"} {
		for _, caps := range []operation.Capabilities{nil, token("ada")} {
			f := fixture.New(t, "-era", era)
			r := imported(t, them(f.HTTP()))
			ctx, cancel := contextUntil(t, func() { f.Wait("call hang") })
			e := ask(ctx, r, "hang", `{"key":"k"}`, caps)
			cancel()
			if code(e) != operation.Canceled || !errors.Is(e.Err, context.Canceled) {
				t.Errorf("%s: %v", era, e.Err)
			}
			f.Wait(event)
		}
	}
}

// overdue is a context whose deadline passes at an event.
type overdue struct {
	context.Context
	passed chan struct{}
}

func (c overdue) Done() <-chan struct{} { return c.passed }

func (c overdue) Err() error {
	select {
	case <-c.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestTheCallersDeadlineReachesTheServer(t *testing.T) {
	for era, event := range map[string]string{eraLegacy: "cancelled", eraModern: "disconnected"} {
		f := fixture.New(t, "-era", era)
		r := imported(t, them(f.HTTP()))
		ctx := overdue{t.Context(), make(chan struct{})}
		var watching sync.WaitGroup
		watching.Go(func() { f.Wait("call hang"); close(ctx.passed) })
		e := ask(ctx, r, "hang", `{"key":"k"}`, nil)
		watching.Wait()
		if code(e) != operation.Timeout || e.Err.Retryable {
			t.Errorf("%s: %v", era, e.Err)
		}
		f.Wait(event)
	}
}

func TestTheAdaptersDeadlineReachesTheServer(t *testing.T) {
	for era, event := range map[string]string{eraLegacy: "cancelled", eraModern: "disconnected"} {
		f := fixture.New(t, "-era", era)
		a := them(f.HTTP())
		a.Timeouts.Call = 50 * time.Millisecond
		r := imported(t, a)
		for len(f.Events("call hang")) == 0 { // on a busy machine the first call may time out before it arrives
			if e := ask(t.Context(), r, "hang", `{"key":"k"}`, nil); code(e) != operation.Timeout || e.Err.Retryable {
				t.Fatalf("%s: %v", era, e.Err)
			}
		}
		f.Wait(event)
	}
}

// TestTheConnectionLivesAsLongAsTheRegistrations checks that all imports share one connection until the last release.
func TestTheConnectionLivesAsLongAsTheRegistrations(t *testing.T) {
	s := newService(t, eraLegacy, whoami)
	f := them(s.url)
	f.Token = operation.NewSecret("import")
	r, other := imported(t, f), imported(t, f)
	var session string
	for range 3 {
		_, id := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, nil))
		if session != "" && id != session {
			t.Error("a connection for each call")
		}
		session = id
	}
	if _, id := tokenAndSession(t, ask(t.Context(), other, "whoami", `{}`, nil)); id != session {
		t.Error("a connection for each import")
	}
	ask(t.Context(), other, "whoami", `{}`, token("ada"))
	r.Close()
	if _, id := tokenAndSession(t, ask(t.Context(), other, "whoami", `{}`, nil)); id != session {
		t.Error("it was closed, and is in use")
	}
	other.Close() // Close waits until the sessions are deleted
	s.mu.Lock()
	deleted, opened := s.deleted, len(s.bound)
	s.mu.Unlock()
	if deleted != 2 || opened != 2 {
		t.Errorf("%d sessions were opened, %d closed", opened, deleted)
	}
	if _, id := tokenAndSession(t, ask(t.Context(), imported(t, f), "whoami", `{}`, nil)); id == session || id == "" {
		t.Errorf("after all was released: session %q", id)
	}
}

func TestAnImportThatIsNotKeptIsClosed(t *testing.T) {
	s := newService(t, eraLegacy, whoami)
	r := newRegistry(t)
	if err := r.Add(operation.New(operation.Spec{Name: "whoami"}, func(context.Context, *operation.Context, any) (any, error) { return nil, nil })); err != nil {
		t.Fatal(err)
	}
	var taken *operation.Collision
	if err := r.Import(t.Context(), "them", them(s.url)); !errors.As(err, &taken) || taken.Name != "whoami" {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deleted != 1 {
		t.Errorf("%d sessions were closed", s.deleted)
	}
}

// TestReconnects checks that each token gets a new connection after the server has lost its sessions.
func TestReconnects(t *testing.T) {
	f := fixture.New(t, "-era", "legacy")
	r := imported(t, them(f.HTTP()))
	for _, caps := range []operation.Capabilities{nil, token("ada")} {
		if e := ask(t.Context(), r, "echo", `{"message":"x"}`, caps); e.Err != nil {
			t.Fatal(e.Err)
		}
		f.Send("drop")
		f.Wait("done drop")
		e := ask(t.Context(), r, "echo", `{"message":"x"}`, caps)
		for late := time.Now().Add(30 * time.Second); e.Err != nil && time.Now().Before(late); {
			if code(e) != bridge.Unavailable || !e.Err.Retryable {
				t.Fatalf("it was not run: %v", e.Err)
			}
			e = ask(t.Context(), r, "echo", `{"message":"x"}`, caps)
		}
		if e.Err != nil {
			t.Error(e.Err)
		}
	}
}

func TestHeadersFromArguments(t *testing.T) {
	f := fixture.New(t, "-era", "modern")
	r := imported(t, them(f.HTTP()))
	for _, caps := range []operation.Capabilities{nil, token("ada")} {
		e := ask(t.Context(), r, "headers", `{"region":"eu"}`, caps)
		if !strings.Contains(string(e.Value), "Mcp-Param-Region") {
			t.Errorf("%s, %v", e.Value, e.Err)
		}
	}
}

// follow calls Follow until the test ends, and returns the channel of its reports.
func follow(t testing.TB, a *bridge.FromMCP, r *operation.Registry) <-chan error {
	t.Helper()
	told := make(chan error, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		if err := a.Follow(ctx, r, "them", func(err error) { told <- err }); err != nil {
			t.Errorf("Follow: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); following.Wait() })
	return told
}

func TestFollowTheList(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			f := fixture.New(t, "-era", era)
			r := newRegistry(t)
			told := follow(t, them(f.HTTP()), r)
			if err := <-told; err != nil {
				t.Fatal(err)
			}
			before := names(r)
			if era == eraModern {
				f.Wait("listening")
			} else {
				f.Wait("standing")
			}
			f.Send("change")
			if err := <-told; err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(append(before, "changed"), names(r)); d != "" {
				t.Error(d)
			}
			if e := ask(t.Context(), r, "changed", `{}`, nil); e.Err != nil {
				t.Error(e.Err)
			}
			f.Send("change")
			if err := <-told; err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, names(r)); d != "" {
				t.Error(d)
			}
			if n := len(f.Events("recv initialize")) + len(f.Events("recv server/discover")); n > 2 {
				t.Errorf("%d handshakes", n)
			}
		})
	}
}

// TestFollowKeepsTheOldOnACollision checks that a name that is taken changes nothing and is reported. The next change
// is imported again.
func TestFollowKeepsTheOldOnACollision(t *testing.T) {
	f := fixture.New(t, "-era", "legacy")
	r := newRegistry(t)
	told := follow(t, them(f.HTTP()), r)
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	before := names(r)
	f.Wait("standing")
	if err := r.Add(operation.New(operation.Spec{Name: "changed"}, func(context.Context, *operation.Context, any) (any, error) { return nil, nil })); err != nil {
		t.Fatal(err)
	}
	f.Send("change")
	var taken *operation.Collision
	if err := <-told; !errors.As(err, &taken) || taken.Name != "changed" {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, names(r)); d != "" {
		t.Error(d)
	}
	if e := ask(t.Context(), r, "echo", `{"message":"x"}`, nil); e.Err != nil {
		t.Error(e.Err)
	}
}

func TestFollowSaysWhyItCannotBegin(t *testing.T) {
	r := newRegistry(t)
	err := them(fixture.New(t, "-status", "401").HTTP()).Follow(t.Context(), r, "them", func(error) { t.Error("told") })
	if !errors.Is(err, operation.Unauthorized) {
		t.Error(err)
	}
}
