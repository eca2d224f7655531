package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// slowReceiver is a listener that blocks on the first message until it is released.
type slowReceiver struct {
	started, release chan struct{}

	mu      sync.Mutex
	methods []string
}

func newSlowReceiver() *slowReceiver {
	return &slowReceiver{started: make(chan struct{}, 1), release: make(chan struct{})}
}

func (s *slowReceiver) receive(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	s.mu.Lock()
	s.methods = append(s.methods, m.Method)
	first := len(s.methods) == 1
	s.mu.Unlock()
	if first {
		s.started <- struct{}{}
		select {
		case <-s.release:
		case <-ctx.Done():
		}
	}
	return json.RawMessage(`{}`), nil
}

func (s *slowReceiver) received(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.methods {
		if m == method {
			n++
		}
	}
	return n
}

func TestEndpointAFloodDoesNotDrownTheNewsOfTheList(t *testing.T) {
	s := newSlowReceiver()
	r := withoutDeadlines(t, &interop.EndpointOptions{Receive: s.receive}, "-era", "legacy")
	const log = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`
	lines := []string{log, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`}
	for range 5000 {
		lines = append(lines, log)
	}
	if err := r.writeLines(false, lines[0]); err != nil {
		t.Fatal(err)
	}
	receiveSoon(t, s.started, "the first message")
	if err := r.writeLines(false, append(lines[1:], `{"jsonrpc":"2.0","method":"notifications/end"}`)...); err != nil {
		t.Fatal(err)
	}
	close(s.release)
	awaitCondition(t, "the end is told", func() bool { return s.received("notifications/end") == 1 })
	if s.received("notifications/tools/list_changed") != 1 {
		t.Error("list_changed was lost")
	}
	if n := s.received("notifications/message"); n > 2*1024 {
		t.Errorf("%d messages were kept for a listener that is slow", n)
	}
}

func TestEndpointASlowListenerCostsBoundedMemory(t *testing.T) {
	t.Parallel()
	s := newSlowReceiver()
	r := withoutDeadlines(t, &interop.EndpointOptions{Receive: s.receive}, "-no-list-changed")
	const note = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"$MIB"}}`
	small := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	lines := []string{small}
	for range 24 {
		lines = append(lines, note)
	}
	done := make(chan error, 1)
	go func() { done <- r.writeLines(false, lines...) }()
	receiveSoon(t, s.started, "the first message")
	r.Wait("handled 2")
	wantReady(t, r.Endpoint) // every earlier message has been read
	close(s.release)
	if err := receiveSoon(t, done, "the call"); err != nil {
		t.Fatal(err)
	}
	// 8 MiB came with the first message, and 8 MiB waited.
	if n := s.received("notifications/progress"); n > 18 {
		t.Errorf("%d MiB were kept for a listener that is slow", n)
	}
}

func TestEndpointBoundsWhatServersAsk(t *testing.T) {
	s := newSlowReceiver()
	r := withoutDeadlines(t, &interop.EndpointOptions{Receive: func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		select {
		case <-s.release:
		case <-ctx.Done():
		}
		return json.RawMessage(`{}`), nil
	}}, "-era", "legacy", "-no-list-changed")
	lines := make([]string, 2000)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":"roots/list"}`, i)
	}
	if err := r.writeLines(false, lines...); err != nil {
		t.Fatal(err)
	}
	wantReady(t, r.Endpoint)
	close(s.release)
	r.Wait(`answered "q0"`)
	r.Wait(`answered "q63"`)
}

func TestEndpointCloseReleasesItsListener(t *testing.T) {
	s := newSlowReceiver()
	r := withoutDeadlines(t, &interop.EndpointOptions{Receive: s.receive}, "-era", "legacy")
	if err := r.writeLines(false, `{"jsonrpc":"2.0","method":"notifications/message"}`, `{"jsonrpc":"2.0","id":"q","method":"roots/list"}`); err != nil {
		t.Fatal(err)
	}
	receiveSoon(t, s.started, "the first message")
	r.Close() // which ends the listener's context
	if p := r.Phase(); p != interop.Closed {
		t.Errorf("phase %s", p)
	}
}

// trap is a context that runs spring when its Done channel is requested.
type trap struct {
	context.Context
	spring func()
}

func (c trap) Done() <-chan struct{} {
	c.spring()
	return c.Context.Done()
}

func TestEndpointACallThatNeverWentOutIsNotConnected(t *testing.T) {
	r := openFixture(t, nil)
	var once sync.Once
	// The process ends between the check of the phase and the call.
	ctx := trap{t.Context(), func() {
		once.Do(func() {
			r.Send("die")
			receiveSoon(t, r.Done(), "the end")
		})
	}}
	_, err := r.Invoke(ctx, "echo", nil)
	wantFault(t, err, interop.NotConnected)
	if n := len(r.Events("call ")); n != 0 {
		t.Error("it went out")
	}
}

func TestEndpointADeadProcessEndsACallWhateverItsDeadlines(t *testing.T) {
	r := onFixture(t, nil, config.Timeouts{Call: time.Hour, Total: noFault})
	mustOpen(t, r.Endpoint)
	hanging := r.start(t.Context(), "hang", `{"key":"k"}`)
	r.Wait("call hang")
	r.Send("die")
	if err := receiveSoon(t, hanging, "the call").err; !isExit(7)(err) {
		t.Error(err)
	}
}

func TestEndpointAnOlderListingDoesNotReplaceANewerOne(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	heard := make(chan struct{}, 1)
	var listings atomic.Int32
	opts := &interop.EndpointOptions{
		Around: []func(interop.Peer) interop.Peer{func(next interop.Peer) interop.Peer {
			return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
				result, err := next(ctx, m)
				if listings.Add(1) == 1 {
					close(held)
					<-release
				}
				return result, err
			}
		}},
		Receive: func(context.Context, interop.Message) (json.RawMessage, error) {
			heard <- struct{}{}
			return nil, nil
		},
	}
	r := openFixture(t, opts, "-era", "legacy", "-bare")
	older := make(chan int, 1)
	go func() {
		tools, _ := r.Tools(context.Background())
		older <- len(tools)
	}()
	receiveSoon(t, held, "the older listing")
	r.Send("change")
	receiveSoon(t, heard, "list_changed")
	if n := len(r.list()); n != 1 {
		t.Errorf("the newer listing has %d tools", n)
	}
	close(release)
	if n := receiveSoon(t, older, "the older listing"); n != 0 {
		t.Errorf("the older listing has %d tools", n)
	}
	if n := r.Status().Tools; n != 1 {
		t.Errorf("the status counts %d tools", n)
	}
	if n := len(r.list()); n != 1 {
		t.Errorf("%d tools", n)
	}
}

func TestEndpointHearsOfAChangeOnACallsOwnStream(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			r := atFixture(t, config.Timeouts{}, "-era", era, "-bare", "-no-list-changed")
			mustOpen(t, r.Endpoint)
			r.list()
			r.list()
			if err := r.writeLines(false, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`); err != nil {
				t.Fatal(err)
			}
			awaitCondition(t, "it is listed again", func() bool {
				r.list()
				return strings.Count(r.methods(), "tools/list") > 1
			})
			r.list()
			r.fence()
			if n := strings.Count(r.methods(), "tools/list"); n != 2 {
				t.Errorf("listed %d times, want 2", n)
			}
		})
	}
}
