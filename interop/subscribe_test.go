package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// resourceServer is a server of the SDK with resources, which counts its subscriptions.
type resourceServer struct {
	*mcp.Server
	subscribed, unsubscribed chan string
	refuse                   string       // a URI that cannot be subscribed to
	silent                   atomic.Int32 // how many subscriptions get no reply

	mu       sync.Mutex
	sessions []*mcp.ServerSession
}

func newResourceServer() *resourceServer {
	b := &resourceServer{subscribed: make(chan string, 100), unsubscribed: make(chan string, 100)}
	b.Server = mcp.NewServer(&mcp.Implementation{Name: "b", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler: func(ctx context.Context, r *mcp.SubscribeRequest) error {
			if r.Params.URI == b.refuse {
				return errors.New("no such bulletin")
			}
			if b.silent.Add(-1) >= 0 {
				<-ctx.Done()
				return ctx.Err()
			}
			select {
			case b.subscribed <- r.Params.URI:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		UnsubscribeHandler: func(_ context.Context, r *mcp.UnsubscribeRequest) error {
			b.unsubscribed <- r.Params.URI
			return nil
		},
	})
	b.AddResource(&mcp.Resource{URI: "news:1", Name: "news"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, errors.New("nothing to read")
	})
	return b
}

// options connects each new endpoint to the server in memory.
func (b *resourceServer) options(t testing.TB) *interop.FleetOptions {
	return &interop.FleetOptions{
		Restart: interop.Restart{First: 1},
		Endpoint: func(config.Server) *interop.EndpointOptions {
			ours, theirs := mcp.NewInMemoryTransports()
			session, err := b.Connect(context.Background(), theirs, nil)
			if err != nil {
				t.Error(err)
			}
			b.mu.Lock()
			b.sessions = append(b.sessions, session)
			b.mu.Unlock()
			t.Cleanup(func() { _ = session.Close() })
			return &interop.EndpointOptions{Transport: ours}
		},
	}
}

// drop ends all connections.
func (b *resourceServer) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		_ = s.Close()
	}
	b.sessions = nil
}

func (b *resourceServer) update(t testing.TB, uri string) {
	t.Helper()
	if err := b.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
		t.Error(err)
	}
}

// subscribeTo subscribes, and returns the updates.
func subscribeTo(t testing.TB, f *interop.Fleet, uri string, caller toolbox.Principal) (heard <-chan string, stop func()) {
	t.Helper()
	c := make(chan string, 100)
	stop, err := f.Subscribe(t.Context(), "a", uri, caller, func(m interop.Message) {
		var p struct{ URI string }
		if err := json.Unmarshal(m.Params, &p); err != nil || m.Method != "notifications/resources/updated" {
			t.Errorf("%s %s", m.Method, m.Params)
		}
		c <- p.URI
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, stop
}

func inEras(t *testing.T, run func(t *testing.T, era interop.Era)) {
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		t.Run(string(era), func(t *testing.T) { t.Parallel(); run(t, era) })
	}
}

func TestManyHoldOneSubscription(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, era interop.Era) {
		b := newResourceServer()
		f := fleetOf(t, config.Server{ID: "a", Era: era}, b.options(t))
		var heard []<-chan string
		var stops []func()
		for i := range 10 {
			h, stop := subscribeTo(t, f, "news:1", toolbox.Principal(fmt.Sprint(i%3)))
			heard, stops = append(heard, h), append(stops, stop)
		}
		other, stopOther := subscribeTo(t, f, "news:2", "")
		if got := <-b.subscribed + " " + <-b.subscribed; got != "news:1 news:2" {
			t.Error(got)
		}
		b.update(t, "news:1")
		for _, h := range heard {
			if got := <-h; got != "news:1" {
				t.Error(got)
			}
		}
		for _, stop := range stops {
			stop()
			stop()
		}
		if got := <-b.unsubscribed; got != "news:1" {
			t.Error(got)
		}
		again, stop := subscribeTo(t, f, "news:1", "") // after the earlier subscription has ended
		if got := <-b.subscribed; got != "news:1" {
			t.Error(got)
		}
		b.update(t, "news:1")
		<-again
		stop()
		b.update(t, "news:2")
		if got := <-other; got != "news:2" || len(other) != 0 {
			t.Errorf("%s, and %d more", got, len(other))
		}
		stopOther()
		if n := len(b.subscribed); n != 0 {
			t.Errorf("%d more subscriptions", n)
		}
	})
}

// A lost connection may have lost an update.
func TestASubscriptionIsMadeAgain(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, era interop.Era) {
		b := newResourceServer()
		f := fleetOf(t, config.Server{ID: "a", Era: era}, b.options(t))
		heard, _ := subscribeTo(t, f, "news:1", "")
		second, _ := subscribeTo(t, f, "news:1", "")
		<-b.subscribed
		b.drop()
		if got := <-b.subscribed; got != "news:1" {
			t.Error(got)
		}
		for _, h := range []<-chan string{heard, second} {
			if got := <-h; got != "news:1" {
				t.Error(got)
			}
		}
		b.update(t, "news:1")
		if got := <-heard; got != "news:1" {
			t.Error(got)
		}
		if n := len(b.subscribed); n != 0 {
			t.Errorf("subscribed %d times more", n)
		}
		// Another configuration needs another connection.
		f.Apply([]config.Server{{ID: "a", Era: era, Transport: config.Stdio{Command: "x"}}})
		if got := <-b.subscribed; got != "news:1" {
			t.Error(got)
		}
		<-heard
	})
}

func TestNoSubscription(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, era interop.Era) {
		b := newResourceServer()
		b.refuse = "news:x"
		f := fleetOf(t, config.Server{ID: "a", Era: era}, b.options(t))
		if _, err := f.Subscribe(t.Context(), "a", "news:x", "", nil); err == nil {
			t.Error("the server's refusal is none")
		}
		if _, err := f.Subscribe(t.Context(), "b", "news:1", "", nil); err == nil {
			t.Error("no such server")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.Subscribe(ctx, "a", "news:1", "", nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		plain := mcp.NewServer(&mcp.Implementation{Name: "p", Version: "1"}, nil)
		g := fleetOf(t, config.Server{ID: "a", Era: era}, (&resourceServer{Server: plain}).options(t))
		_, err := g.Subscribe(t.Context(), "a", "news:1", "", nil)
		var rpc *interop.RPCError
		if !errors.As(err, &rpc) || rpc.Code != interop.CodeMethodNotFound {
			t.Errorf("a server without subscriptions: %v", err)
		}
		g.Close()
		if _, err := g.Subscribe(t.Context(), "a", "news:1", "", nil); err == nil {
			t.Error("a closed fleet")
		}
	})
}

func TestTooManySubscriptionsOfOneCaller(t *testing.T) {
	t.Parallel()
	b := newResourceServer()
	b.subscribed, b.unsubscribed = make(chan string, 5000), make(chan string, 5000)
	f := fleetOf(t, config.Server{ID: "a", Era: interop.Legacy}, b.options(t))
	var err error
	n := 0
	for ; err == nil && n < 1100; n++ {
		_, err = f.Subscribe(t.Context(), "a", fmt.Sprint("news:", n), "greedy", func(interop.Message) {})
	}
	if n != 1001 || err == nil {
		t.Errorf("%d: %v", n, err)
	}
	if _, err := f.Subscribe(t.Context(), "a", "news:1", "another", func(interop.Message) {}); err != nil {
		t.Error(err)
	}
}

// The bound of a caller counts resources, not the caller's clients that hold them.
func TestManyClientsOfOneCallerHoldOneResource(t *testing.T) {
	b := newResourceServer()
	f := fleetOf(t, config.Server{ID: "a", Era: interop.Legacy}, b.options(t))
	var stops []func()
	for range 1100 {
		stop, err := f.Subscribe(t.Context(), "a", "news:1", "crowd", func(interop.Message) {})
		if err != nil {
			t.Fatal(err)
		}
		stops = append(stops, stop)
	}
	for _, stop := range stops {
		stop()
	}
	<-b.unsubscribed
	if len(b.subscribed) != 1 || len(b.unsubscribed) != 0 {
		t.Errorf("%d subscriptions at the server, and %d ends more than one", len(b.subscribed), len(b.unsubscribed))
	}
}

// A legacy server may name a part of the subscribed resource.
func TestAPartOfAResource(t *testing.T) {
	b := newResourceServer()
	f := fleetOf(t, config.Server{ID: "a", Era: interop.Legacy}, b.options(t))
	whole, _ := subscribeTo(t, f, "news:/d", "")
	other, _ := subscribeTo(t, f, "news:/d2", "")
	part, _ := subscribeTo(t, f, "news:/d/x", "")
	b.update(t, "news:/d/x")
	if got := <-part + " " + <-whole; got != "news:/d/x news:/d/x" {
		t.Error(got)
	}
	b.update(t, "news:/d2")
	if got := <-other; got != "news:/d2" {
		t.Error(got)
	}
}

// TestEverythingReportsUpdates runs the reference server, a process from another project.
func TestEverythingReportsUpdates(t *testing.T) {
	t.Parallel()
	command, args := peers.Everything(t, "stdio")
	f := fleetOf(t, config.Server{ID: "a", Transport: config.Stdio{Command: command, Args: args}}, nil)
	const uri = "demo://resource/dynamic/text/1"
	heard, _ := subscribeTo(t, f, uri, "")
	if _, err := f.Request(t.Context(), "a", interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"toggle-subscriber-updates","arguments":{}}`)}); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != uri {
		t.Error(got)
	}
}

// On a stream, the SDK's server loses the data of one subscription when another ends.
func TestListsAreFollowedAfterASubscriptionHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newResourceServer()
		opts := b.options(t)
		told := make(chan string, 100)
		opts.Notify = func(_ string, m interop.Message) { told <- m.Method }
		f := fleetOf(t, config.Server{ID: "a", Era: interop.Modern}, opts)
		_, stop := subscribeTo(t, f, "news:1", "")
		stop()
		<-b.unsubscribed
		time.Sleep(time.Minute)
		for len(told) > 0 {
			<-told
		}
		b.AddResource(&mcp.Resource{URI: "news:2", Name: "more"}, nil)
		if got := <-told; got != "notifications/resources/list_changed" {
			t.Error(got)
		}
		f.Close()
		b.drop()
	})
}

// The wait for a server that does not reply lasts at most half a minute.
func TestASubscriptionThatIsNotAnswered(t *testing.T) {
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		synctest.Test(t, func(t *testing.T) {
			b := newResourceServer()
			b.subscribed = nil // its handler blocks
			f := fleetOf(t, config.Server{ID: "a", Era: era}, b.options(t))
			begun := time.Now()
			_, err := f.Subscribe(t.Context(), "a", "news:1", "", func(interop.Message) {})
			if !errors.Is(err, interop.Timeout) || time.Since(begun) != 30*time.Second {
				t.Errorf("%s: %v after %v", era, err, time.Since(begun))
			}
			f.Close()
			b.drop()
		})
	}
}

// The same bound applies to the renewal of a lost subscription. Then it is tried again.
func TestASubscriptionThatIsNotMadeAgain(t *testing.T) {
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		synctest.Test(t, func(t *testing.T) {
			b := newResourceServer()
			f := fleetOf(t, config.Server{ID: "a", Era: era}, b.options(t))
			heard, _ := subscribeTo(t, f, "news:1", "")
			<-b.subscribed
			b.silent.Store(1)
			b.drop()
			select {
			case <-b.subscribed:
			case <-time.After(5 * time.Minute):
				t.Fatalf("%s: the subscription is lost", era)
			}
			if got := <-heard; got != "news:1" {
				t.Error(got)
			}
			f.Close()
			b.drop()
		})
	}
}
