package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/toolbox"
)

// cutWriter is a connection over which a limited number of bytes reach the client. leave is called when it breaks.
type cutWriter struct {
	header http.Header
	status int
	left   int
	leave  func()

	mu  sync.Mutex
	got bytes.Buffer
}

func (w *cutWriter) Header() http.Header    { return w.header }
func (w *cutWriter) WriteHeader(status int) { w.status = status }

func (w *cutWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(p), w.left)
	w.left -= n
	w.got.Write(p[:n])
	if n < len(p) {
		w.leave()
		return n, io.ErrClosedPipe
	}
	return n, nil
}

// exchange sends a request over a connection that breaks after bytesLeft bytes. It returns the complete messages, and
// the id of the last event.
func exchange(t testing.TB, h http.Handler, r request, bytesLeft int) (messages []string, last string, status int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if r.method == "" {
		r.method = http.MethodPost
	}
	req := httptest.NewRequestWithContext(ctx, r.method, "/mcp", strings.NewReader(r.body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	w := &cutWriter{header: http.Header{}, left: bytesLeft, leave: cancel}
	h.ServeHTTP(w, req)
	w.mu.Lock()
	defer w.mu.Unlock()
	events := strings.Split(w.got.String(), "\n\n")
	for _, event := range events[:len(events)-1] { // incomplete events do not count
		for line := range strings.SplitSeq(event, "\n") {
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				last = id
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				messages = append(messages, data)
			}
		}
	}
	return messages, last, w.status
}

// openDirectSession opens a session without a network.
func openDirectSession(t testing.TB, h http.Handler, version string) map[string]string {
	t.Helper()
	w := serveDirect(h, "", "", request{body: strings.ReplaceAll(initializeLine, "%s", version)})
	id := w.Header().Get("Mcp-Session-Id")
	if id == "" {
		t.Fatal(w.Code, w.Body)
	}
	header := map[string]string{"Mcp-Session-Id": id}
	if w := serveDirect(h, "", "", request{body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header: header}); w.Code != 202 {
		t.Fatal(w.Code, w.Body)
	}
	return header
}

// talkingTools returns a tool that reports each line of its argument, and then answers.
func talkingTools() toolbox.Source {
	return shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		var in struct{ Say []string }
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return nil, err
		}
		for i, s := range in.Say {
			c.Progress(toolbox.Progress{Done: float64(i), Message: s})
		}
		return toolbox.NewResult(toolbox.Text("done")), nil
	})
}

func talkRequest(header map[string]string, bodies ...string) request {
	in, _ := json.Marshal(map[string][]string{"say": bodies})
	return legacyCall(header, "7", `,"_meta":{"progressToken":"p"},"arguments":`+string(in))
}

func resumeRequest(header map[string]string, last string) request {
	return request{method: http.MethodGet, header: header}.with("Last-Event-ID", last)
}

// TestTheConnectionBreaksAtEachByte breaks a connection at every byte, and again. The client receives each message
// once.
func TestTheConnectionBreaksAtEachByte(t *testing.T) {
	h := newHost(t, talkingTools(), nil).Handler()
	header := openDirectSession(t, h, "2025-11-25")
	want, _, _ := exchange(t, h, talkRequest(header, "a", "b\nc"), 1<<20)
	if len(want) != 3 || !strings.Contains(want[2], `"result"`) {
		t.Fatal(want)
	}
	resumes := 0
	for cut := 0; ; cut++ {
		got, last, _ := exchange(t, h, talkRequest(header, "a", "b\nc"), cut)
		if last == "" { // not even the stream's id was received
			continue
		}
		if len(got) == len(want) {
			break
		}
		for again := cut; len(got) < len(want); again += 7 {
			more, next, status := exchange(t, h, resumeRequest(header, last), again)
			if status != 200 {
				t.Fatalf("cut at %d, after %s: %d", cut, last, status)
			}
			resumes++
			got = append(got, more...)
			if next != "" {
				last = next
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("cut at %d: %s", cut, diff)
		}
	}
	if resumes < 100 {
		t.Errorf("resumed %d times only", resumes)
	}
}

// TestAnAnswerThatIsYetToComeGoesToTheNewConnection resumes the stream of a running call. Later messages arrive on the
// new connection, even if the old one has not ended.
func TestAnAnswerThatIsYetToComeGoesToTheNewConnection(t *testing.T) {
	for _, gone := range []bool{true, false} {
		g := newHeldTool()
		site := newSite(t, g, &host.Options{Authenticate: callerFromHeader})
		header := map[string]string{"Mcp-Session-Id": sessionOf(t, site, "alice"), "X-User": "alice"}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var call toolbox.Call
		go func() { call = <-g.begun; call.Progress(toolbox.Progress{Done: 1}) }()
		resp := legacyCall(header, "7", `,"_meta":{"progressToken":"p"}`).start(ctx, t, site)
		first := &events{t: t, body: resp.Body}
		if got := first.next(); !strings.Contains(got, `"progress":1`) {
			t.Fatal(got)
		}
		if gone {
			cancel()
		}
		for name, test := range map[string]struct {
			header map[string]string
			status int
		}{
			"of another principal":         {resumeRequest(header, first.last).with("X-User", "bob").header, 404},
			"of another's session":         {map[string]string{"Mcp-Session-Id": sessionOf(t, site, "bob"), "X-User": "bob", "Last-Event-ID": first.last}, 400},
			"of a session that is no more": {map[string]string{"Mcp-Session-Id": "nope", "X-User": "alice", "Last-Event-ID": first.last}, 404},
		} {
			if resp, body := (request{method: http.MethodGet, header: test.header}).send(t, site); resp.StatusCode != test.status || strings.Contains(body, "progress") {
				t.Errorf("%s: %s %s", name, resp.Status, body)
			}
		}
		again := &events{t: t, body: resumeRequest(header, first.last).start(t.Context(), t, site).Body}
		call.Progress(toolbox.Progress{Done: 2})
		if got := again.next(); !strings.Contains(got, `"progress":2`) {
			t.Error(got)
		}
		// A third connection takes over from the second, which ends.
		third := &events{t: t, body: resumeRequest(header, first.last).start(t.Context(), t, site).Body}
		if got := third.next(); !strings.Contains(got, `"progress":2`) {
			t.Error(got)
		}
		if got := again.next(); got != "" {
			t.Errorf("the second connection: %s", got)
		}
		g.free <- struct{}{}
		if got := third.next(); got != `{"jsonrpc":"2.0","id":7,"result":`+doneResult+`}` || third.next() != "" {
			t.Error(got)
		}
		if !gone {
			if got := first.next(); got != "" {
				t.Errorf("the first connection: %s", got)
			}
		}
	}
}

func TestNewsThatWereMissedComeAgain(t *testing.T) {
	t.Parallel()
	reg := toolbox.NewRegistry(nil)
	site := newSite(t, reg, nil)
	header := session(t, site)
	get := func(last string) (*events, func()) {
		ctx, cancel := context.WithCancel(t.Context())
		r := request{method: http.MethodGet, header: header}
		if last != "" {
			r = r.with("Last-Event-ID", last)
		}
		resp := r.start(ctx, t, site)
		if resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
		return &events{t: t, body: resp.Body}, cancel
	}
	change := func(name string) {
		reg.Add(toolbox.Tool{Name: name, Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) { return nil, nil }})
	}
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	first, leave := get("")
	first.event() // the stream's id
	begin := first.last
	change("a")
	if got := first.next(); got != changed {
		t.Fatal(got)
	}
	leave()
	second, leave := get(begin) // as if the event was not received
	if got := second.next(); got != changed || second.last != first.last {
		t.Fatal(got, second.last)
	}
	third, leaveThird := get(second.last) // takes over
	defer leaveThird()
	if got := second.next(); got != "" {
		t.Fatal(got)
	}
	leave()
	change("b")
	if got := third.next(); got != changed || third.last <= second.last {
		t.Fatal(got, third.last)
	}
	other, leaveOther := get("")
	defer leaveOther()
	other.event()
	if stream, _, _ := strings.Cut(other.last, "-"); strings.HasPrefix(begin, stream+"-") {
		t.Errorf("%s and %s are one stream", begin, other.last)
	}
}

func TestLastEventIDsThatNameNothing(t *testing.T) {
	h := newHost(t, talkingTools(), nil).Handler()
	header := openDirectSession(t, h, "2025-11-25")
	_, last, _ := exchange(t, h, talkRequest(header, "a"), 1<<20)
	if last != "a1-3" {
		t.Fatal(last)
	}
	for id, want := range map[string]int{
		last: 200, "a1-0": 200, "a1-999": 200, // the stream is known, whatever the event
		"a2-3": 400, "a0-3": 400, "n9-1": 400, "a1": 400, "1-3": 400, "-": 400, "x": 400, "a-1": 400, "a1-": 400,
		"a01-3": 400, "a+1-3": 400, "a1--3": 400, "a1-3 ": 400, "a18446744073709551616-1": 400, "a1-3\x00": 400, strings.Repeat("a", 1<<16): 400,
	} {
		if messages, _, status := exchange(t, h, resumeRequest(header, id), 1<<20); status != want {
			t.Errorf("%.20q: %d %s", id, status, messages)
		}
	}
	w := serveDirect(h, "", "", resumeRequest(header, "a2-3").with("Accept", "text/event-stream"))
	if want := `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Last-Event-ID names no event of this host's"}}`; w.Body.String() != want {
		t.Error(w.Body)
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	long := strings.Repeat("x", 1000)
	t.Run("events", func(t *testing.T) {
		h := newHost(t, talkingTools(), nil).Handler()
		header := openDirectSession(t, h, "2025-11-25")
		sent, _, _ := exchange(t, h, talkRequest(header, slices.Repeat([]string{"a"}, 300)...), 1<<20)
		got, _, _ := exchange(t, h, resumeRequest(header, "a1-1"), 1<<20)
		if diff := cmp.Diff(sent[len(sent)-256:], got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		h := newHost(t, talkingTools(), &host.Options{Replay: host.NewReplay(5000, 0)}).Handler()
		header := openDirectSession(t, h, "2025-11-25")
		sent, _, _ := exchange(t, h, talkRequest(header, slices.Repeat([]string{long}, 10)...), 1<<20)
		got, _, _ := exchange(t, h, resumeRequest(header, "a1-1"), 1<<20)
		if diff := cmp.Diff(sent[len(sent)-4:], got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an answer that is too large", func(t *testing.T) {
		h := newHost(t, shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
			return toolbox.NewResult(toolbox.Text(strings.Repeat(long, 2))), nil
		}), &host.Options{Replay: host.NewReplay(2000, 0)}).Handler()
		header := openDirectSession(t, h, "2025-11-25")
		if got, _, _ := exchange(t, h, legacyCall(header, "7", ""), 1<<20); len(got) != 1 || !strings.Contains(got[0], long) {
			t.Error(got)
		}
		want := []string{`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the request was answered while the client had lost its connection, and the answer is larger than the limit for that (1 KiB)"}}`}
		got, _, _ := exchange(t, h, resumeRequest(header, "a1-1"), 1<<20)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("all clients", func(t *testing.T) {
		replay := host.NewReplay(0, 12_000)
		h := newHost(t, talkingTools(), &host.Options{Replay: replay, Authenticate: callerFromHeader}).Handler()
		of := func(caller string) map[string]string {
			w := serveDirect(h, "", "", request{body: strings.ReplaceAll(initializeLine, "%s", "2025-11-25"), header: map[string]string{"X-User": caller}})
			return map[string]string{"Mcp-Session-Id": w.Header().Get("Mcp-Session-Id"), "X-User": caller}
		}
		alice := of("alice")
		exchange(t, h, talkRequest(alice, long, long), 1<<20)
		for range 20 { // mallory's many sessions take no room from alice
			exchange(t, h, talkRequest(of("mallory"), long, long, long), 1<<20)
		}
		if got, _, status := exchange(t, h, resumeRequest(alice, "a1-1"), 1<<20); len(got) != 3 || status != 200 {
			t.Errorf("%d, %d messages", status, len(got))
		}
	})
	t.Run("time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			hosted := host.New(talkingTools(), nil)
			defer hosted.Close()
			h := hosted.Handler()
			header := openDirectSession(t, h, "2025-11-25")
			exchange(t, h, talkRequest(header, "a"), 1<<20)
			for _, want := range []int{200, 400} {
				time.Sleep(4 * time.Minute)
				if got, _, status := exchange(t, h, resumeRequest(header, "a1-1"), 1<<20); status != want {
					t.Errorf("%d %s", status, got)
				}
			}
		})
	})
	t.Run("nothing", func(t *testing.T) {
		h := newHost(t, talkingTools(), &host.Options{Replay: host.NewReplay(-1, 0)}).Handler()
		header := openDirectSession(t, h, "2025-11-25")
		if got, last, _ := exchange(t, h, talkRequest(header, "a"), 1<<20); len(got) != 2 || last != "" {
			t.Error(got, last)
		}
	})
}

// TestOlderRevisionsAreNotPrimed: some of their clients fail on an event without data.
func TestOlderRevisionsAreNotPrimed(t *testing.T) {
	h := newHost(t, talkingTools(), nil).Handler()
	for _, version := range []string{"2025-06-18", "2025-03-26", "2024-11-05"} {
		header := openDirectSession(t, h, version)
		w := serveDirect(h, "", "", talkRequest(header, "a").with("Accept", "text/event-stream"))
		if !strings.HasPrefix(w.Body.String(), "event: message\nid: a1-1\ndata: {") ||
			strings.Contains(w.Body.String(), "data:\n") {
			t.Errorf("%s: %q", version, w.Body)
		}
		if got, _, _ := exchange(t, h, resumeRequest(header, "a1-1"), 1<<20); len(got) != 1 {
			t.Errorf("%s: %s", version, got)
		}
	}
}

// TestAPendingAnswerCanBeResumed checks that a pending answer becomes a stream after a while, even without messages.
func TestAPendingAnswerCanBeResumed(t *testing.T) {
	for _, beat := range []time.Duration{0, -1} {
		synctest.Test(t, func(t *testing.T) {
			g := newHeldTool()
			hosted := host.New(g, &host.Options{KeepAlive: beat})
			defer hosted.Close()
			h := hosted.Handler()
			header := openDirectSession(t, h, "2025-11-25")
			answered := make(chan *httptest.ResponseRecorder, 1)
			go func() { answered <- serveDirect(h, "", "", legacyCall(header, "7", "")) }()
			<-g.begun
			time.Sleep(5 * time.Second)
			g.free <- struct{}{}
			want := "id: a1-1\nretry: 1000\ndata:\n\nevent: message\nid: a1-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":" + doneResult + "}\n\n"
			if got := (<-answered).Body.String(); got != want {
				t.Errorf("%q", got)
			}
			if got, _, _ := exchange(t, h, resumeRequest(header, "a1-1"), 1<<20); len(got) != 1 {
				t.Error(got)
			}
			if w := serveDirect(h, "", "", request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header: header}); w.Body.String() != `{"jsonrpc":"2.0","id":1,"result":{}}` {
				t.Error(w.Body) // an immediate answer is one object, and is not kept
			}
		})
	}
}

// FuzzResume breaks the connection of a client again and again. The client receives each message once.
func FuzzResume(f *testing.F) {
	hosted := host.New(talkingTools(), nil)
	f.Cleanup(hosted.Close)
	h := hosted.Handler()
	f.Add("a\nb", []byte{10, 200, 0, 80, 80})
	f.Add("\u2028\r\n\x00", []byte{40})
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		header := openDirectSession(t, h, "2025-11-25")
		defer serveDirect(h, "", "", request{method: http.MethodDelete, header: header})
		bodies := strings.SplitAfter(text, "\n")
		bodies = bodies[:min(len(bodies), 100)]
		want, _, _ := exchange(t, h, talkRequest(header, bodies...), 1<<30)
		if len(want) != len(bodies)+1 {
			t.Fatal(want)
		}
		got, last, _ := exchange(t, h, talkRequest(header, bodies...), 30) // the stream's id
		for _, cut := range append(cuts, 0) {
			left := int(cut)
			if cut == 0 {
				left = 1 << 30
			}
			more, next, status := exchange(t, h, resumeRequest(header, last), left)
			got = append(got, more...)
			if next != "" {
				last = next
			}
			if status != 200 {
				t.Fatal(status)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if want := fmt.Sprintf("a2-%d", 2*len(want)+2); last != want {
			t.Fatalf("last %s, want %s", last, want)
		}
	})
}
