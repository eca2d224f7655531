package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watchedBackend is a backend with resources. It counts subscriptions, and reports changes on request.
type watchedBackend struct {
	fixedBackend
	subscribe func(ctx context.Context, uri string) error // nil: all succeed

	mu    sync.Mutex
	open  map[string][]func(interop.Message) // by caller and URI; nil: the subscription has ended
	calls int
	now   int // open subscriptions
	began chan string
	ended chan string
}

func newWatched() *watchedBackend {
	return &watchedBackend{open: map[string][]func(interop.Message){}, began: make(chan string, 2000), ended: make(chan string, 2000)}
}

func (w *watchedBackend) Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	if m.Method == "server/discover" {
		return json.RawMessage(`{"capabilities":{"resources":{"subscribe":true,"listChanged":true}}}`), nil
	}
	return w.fixedBackend.Handle(ctx, m, back)
}

func (w *watchedBackend) Subscribe(
	ctx context.Context, m interop.Message, uri string, updated func(interop.Message),
) (func(), error) {
	if w.subscribe != nil {
		if err := w.subscribe(ctx, uri); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := string(m.Caller) + " " + uri
	at := len(w.open[key])
	w.open[key] = append(w.open[key], updated)
	w.calls++
	w.now++
	w.began <- key
	return func() {
		w.mu.Lock()
		w.open[key][at] = nil
		w.now--
		w.mu.Unlock()
		w.ended <- key
	}, nil
}

// update reports a change of a resource, with these params.
func (w *watchedBackend) update(caller, uri, params string) {
	w.mu.Lock()
	all := slices.Clone(w.open[caller+" "+uri])
	w.mu.Unlock()
	for _, updated := range all {
		if updated != nil {
			updated(interop.Message{Method: "notifications/resources/updated", Params: json.RawMessage(params)})
		}
	}
}

func (w *watchedBackend) counts() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%d of %d", w.now, w.calls)
}

func legacyRequest(header map[string]string, method, params string) request {
	return request{body: `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + `}}`, header: header}
}

const emptyAnswer = `{"jsonrpc":"2.0","id":7,"result":{}}`

func expectAnswer(t *testing.T, site *httptest.Server, r request, want string) {
	t.Helper()
	if _, body := r.send(t, site); body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

func TestTenSessionsHaveASubscriptionEach(t *testing.T) {
	w := newWatched()
	s := serveSite(t, host.NewFront(w, nil))
	var sessions []map[string]string
	var streams []*events
	for range 10 {
		one := session(t, s)
		sessions = append(sessions, one)
		expectAnswer(t, s, legacyRequest(one, "resources/subscribe", `"uri":"a:1"`), emptyAnswer)
		expectAnswer(t, s, legacyRequest(one, "resources/subscribe", `"uri":"a:1"`), emptyAnswer) // again: no effect
		streams = append(streams, &events{t: t, body: request{method: http.MethodGet, header: one}.start(t.Context(), t, s).Body})
	}
	other := session(t, s) // without a subscription
	silent := &events{t: t, body: request{method: http.MethodGet, header: other}.start(t.Context(), t, s).Body}
	if got := w.counts(); got != "10 of 10" {
		t.Fatalf("subscriptions: %s", got)
	}
	w.update("", "a:1", `{"uri":"a:1","title":"A"}`)
	for _, e := range streams {
		if got := e.next(); got != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1","title":"A"}}` {
			t.Errorf("got %s", got)
		}
	}
	for i, one := range sessions {
		if i < 5 {
			expectAnswer(t, s, legacyRequest(one, "resources/unsubscribe", `"uri":"a:1"`), emptyAnswer)
			expectAnswer(t, s, legacyRequest(one, "resources/unsubscribe", `"uri":"a:1"`), emptyAnswer)
		} else {
			request{method: http.MethodDelete, header: one}.send(t, s)
		}
		if got, want := <-w.ended+w.counts(), fmt.Sprintf(" a:1%d of 10", 9-i); got != want {
			t.Fatalf("after %d have left: %s", i+1, got)
		}
	}
	w.notify(interop.Message{Method: "notifications/resources/list_changed"})
	if got := silent.next(); !strings.Contains(got, "list_changed") {
		t.Errorf("who had not asked heard %s", got)
	}
}

func TestListeningToResources(t *testing.T) {
	w := newWatched()
	w.subscribe = func(_ context.Context, uri string) error {
		if uri == "bad" {
			return errors.New("no")
		}
		return nil
	}
	h := host.NewFront(w, nil)
	s := serveSite(t, h)
	listen := func(filter string) *events {
		return &events{t: t, body: modern("subscriptions/listen", "", `"notifications":`+filter).start(t.Context(), t, s).Body}
	}
	const meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":7}`
	one := listen(`{"resourceSubscriptions":["b","bad","a","b"],"resourcesListChanged":true}`)
	if got, want := one.next(), `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{`+meta+`,"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["b","a"]}}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	two := listen(`{"resourceSubscriptions":["a"]}`)
	two.next()
	if got := w.counts(); got != "3 of 3" {
		t.Errorf("subscriptions: %s", got)
	}
	w.update("", "a", `{"uri":"a"}`)
	for _, e := range []*events{one, two} {
		if got, want := e.next(), `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a",`+meta+`}}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	_ = one.body.Close()
	if a, b := <-w.ended, <-w.ended; a == b { // the other subscription stays
		t.Errorf("ended %s twice", a)
	}
	h.Close()
	if got := <-w.ended; got != " a" {
		t.Errorf("ended %s", got)
	}
	if got := two.next(); !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("last: %s", got)
	}
	_ = two.body.Close()
}

func TestSubscriptionsThatAreRefused(t *testing.T) {
	w := newWatched()
	w.subscribe = func(context.Context, string) error {
		return &interop.RPCError{Code: -32002, Message: "no such resource"}
	}
	s := serveSite(t, host.NewFront(w, nil))
	one := session(t, s)
	many := strings.TrimSuffix(strings.Repeat(`"x",`, 1001), ",")
	for _, tt := range []struct {
		name string
		r    request
		want string
	}{
		{"the backend's error", legacyRequest(one, "resources/subscribe", `"uri":"a"`), `{"code":-32002,"message":"no such resource"}`},
		{"no uri", legacyRequest(one, "resources/subscribe", ``), `{"code":-32602,"message":"resources/subscribe: no uri, or a bad one"}`},
		{"a long one", legacyRequest(one, "resources/unsubscribe", `"uri":"`+strings.Repeat("x", 5000)+`"`), `"code":-32602`},
		{"a modern client", modern("resources/subscribe", "", `"uri":"a"`), `"code":-32601`},
		{"no array", modern("subscriptions/listen", "", `"notifications":{"resourceSubscriptions":"a"}`), `resourceSubscriptions is no array of strings`},
		{"too many", modern("subscriptions/listen", "", `"notifications":{"resourceSubscriptions":[`+many+`]}`), `more than 1000 resourceSubscriptions`},
		{"an empty one", modern("subscriptions/listen", "", `"notifications":{"resourceSubscriptions":[""]}`), `a URI is empty`},
	} {
		if _, body := tt.r.send(t, s); !strings.Contains(body, tt.want) {
			t.Errorf("%s: %s", tt.name, body)
		}
	}
	plain := serveSite(t, host.NewFront(&fixedBackend{err: &interop.RPCError{Code: -32601, Message: "unknown"}}, nil))
	if _, body := legacyRequest(session(t, plain), "resources/subscribe", `"uri":"a"`).send(t, plain); !strings.Contains(body, "-32601") {
		t.Errorf("a backend without subscriptions: %s", body)
	}
}

func TestWhoGoesAwayLeavesASubscriptionToTheOthers(t *testing.T) {
	w := newWatched()
	requested := make(chan struct{}, 1)
	var first sync.Once
	w.subscribe = func(ctx context.Context, _ string) error {
		err := error(nil)
		first.Do(func() {
			requested <- struct{}{}
			<-ctx.Done()
			err = ctx.Err()
		})
		return err
	}
	s := serveSite(t, host.NewFront(w, nil))
	one := session(t, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		legacyRequest(one, "resources/subscribe", `"uri":"a"`).send(t, s)
	}()
	<-requested
	answers := make(chan string)
	go func() {
		_, body := legacyRequest(session(t, s), "resources/subscribe", `"uri":"a"`).send(t, s)
		answers <- body
	}()
	request{body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, header: one}.send(t, s)
	if got := <-answers; got != emptyAnswer || w.counts() != "1 of 1" {
		t.Errorf("%s, %s", got, w.counts())
	}
	<-done
}

func TestPartsOfAResource(t *testing.T) {
	w := newWatched()
	h := host.NewFront(w, nil)
	s := serveSite(t, h)
	one := session(t, s)
	expectAnswer(t, s, legacyRequest(one, "resources/subscribe", `"uri":"d"`), emptyAnswer)
	expectAnswer(t, s, legacyRequest(one, "resources/subscribe", `"uri":"e"`), emptyAnswer)
	expectAnswer(t, s, legacyRequest(one, "resources/subscribe", `"uri":"f"`), emptyAnswer)
	for i := range 5000 { // while no client reads
		w.update("", "d", fmt.Sprintf(`{"uri":"d/%d"}`, i))
		w.update("", "e", fmt.Sprintf(`{"uri":"e/1","n":%d}`, i))
	}
	w.update("", "f", `{"uri":"f"}`)
	expectAnswer(t, s, legacyRequest(one, "resources/unsubscribe", `"uri":"f"`), emptyAnswer) // removes the waiting update
	w.notify(interop.Message{Method: "notifications/resources/list_changed"})
	e := &events{t: t, body: request{method: http.MethodGet, header: one}.start(t.Context(), t, s).Body}
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"d"}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"e/1","n":4999}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`,
	} {
		if got := e.next(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestSDKClientsSubscribe uses the clients of the Go SDK, of both eras, in memory.
func TestSDKClientsSubscribe(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		w := newWatched()
		h := host.NewFront(w, nil)
		near, far := mcp.NewInMemoryTransports()
		served := make(chan error, 1)
		go func() { served <- h.Serve(context.Background(), far) }()
		received := make(chan string, 10)
		c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { received <- r.Params.URI },
		})
		cs, err := c.Connect(t.Context(), near, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		if err := cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "a:x"}); err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		<-w.began // the SDK's client does not wait for the acknowledgement
		w.update("", "a:x", `{"uri":"a:x"}`)
		if got := <-received; got != "a:x" {
			t.Errorf("%s: heard %s", version, got)
		}
		if err := cs.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "a:x"}); err != nil {
			t.Errorf("%s: %v", version, err)
		}
		if got := <-w.ended; got != " a:x" {
			t.Errorf("%s: ended %s", version, got)
		}
		_ = cs.Close()
		h.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// TestUpdatesWaitForNobody has clients that do not read, and one that reads at the end.
func TestUpdatesWaitForNobody(t *testing.T) {
	t.Parallel()
	w := newWatched()
	s := serveSite(t, host.NewFront(w, nil))
	var streams []*events
	for range 10 {
		r := modern("subscriptions/listen", "", `"notifications":{"resourceSubscriptions":["a"]}`)
		streams = append(streams, &events{t: t, body: r.start(t.Context(), t, s).Body})
	}
	big := strings.Repeat("x", 10_000)
	for i := range 1000 { // more than fits into any buffer
		w.update("", "a", fmt.Sprintf(`{"uri":"a","n":%d,"x":%q}`, i, big))
	}
	w.update("", "a", `{"uri":"a","last":true}`)
	for e := streams[5]; !strings.Contains(e.next(), `"last":true`); {
	}
	for _, e := range streams {
		_ = e.body.Close()
	}
	for range streams {
		<-w.ended
	}
	if got := w.counts(); got != "0 of 10" {
		t.Error(got)
	}
}

// BenchmarkUpdateToAThousandClients measures one update until all clients have received it.
func BenchmarkUpdateToAThousandClients(b *testing.B) {
	w := newWatched()
	h := host.NewFront(w, nil)
	b.Cleanup(h.Close)
	got := make(chan struct{}, 1000)
	for range 1000 {
		c := serveLines(context.Background(), b, h)
		c.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		c.ask(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a"}}`)
		go func() {
			for c.out.Decode(new(json.RawMessage)) == nil {
				got <- struct{}{}
			}
		}()
	}
	b.ReportAllocs()
	for b.Loop() {
		w.update("", "a", `{"uri":"a"}`)
		for range 1000 {
			<-got
		}
	}
}
