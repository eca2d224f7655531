package replica_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/replica"
)

func post(t testing.TB, target, body string) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), "POST", target, strings.NewReader(body))
	r.Header["Content-Type"] = []string{"application/json"}
	return r
}

// TestForwardKeepsEveryByte checks that the owner gets what the client sent, and the client what the owner answers.
func TestForwardKeepsEveryByte(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	var got *http.Request
	var from *replica.Forwarded
	var body []byte
	address, _ := serve(t, &replica.Options{Credentials: keys}, func(w http.ResponseWriter, r *http.Request) {
		got, from = r, replica.From(r.Context())
		body, _ = io.ReadAll(r.Body)
		w.Header()["X-Answer"] = []string{"1", "2"}
		w.Header().Set("Vary", "Origin")
		w.WriteHeader(202)
		_, _ = w.Write([]byte("caf\xe9 "))
	})
	a := newReplica(t, keys, address)
	in := post(t, "http://mcp.example/mcp/a%2Fb%20c?x=1&x=%zz", "the\x00body")
	in.RemoteAddr = "192.0.2.7:4321"
	in.Header["X-Twice"] = []string{"one", "two"}
	in.Header["Authorization"] = []string{"Bearer t"}
	in.Header["Connection"] = []string{"keep-alive, X-Hop"}
	in.Header["X-Hop"] = []string{"1"}
	in.Header["Expect"] = []string{"100-continue"}
	in.Header["Indus-Forwarded"] = []string{"forged"}
	w := httptest.NewRecorder()
	w.Header().Set("Vary", "Origin") // by the replica of the client
	if err := a.Forward(w, in, replica.Request{To: "b", Principal: "alice", Body: []byte("the\x00body")}); err != nil {
		t.Fatal(err)
	}
	if got.Method != "POST" || got.Host != "mcp.example" || got.RequestURI != "/mcp/a%2Fb%20c?x=1&x=%zz" ||
		string(body) != "the\x00body" || got.RemoteAddr != "192.0.2.7:4321" || got.TLS != nil {
		t.Errorf("%s %s%s %q from %s", got.Method, got.Host, got.RequestURI, body, got.RemoteAddr)
	}
	want := http.Header{
		"Content-Type": {"application/json"}, "X-Twice": {"one", "two"}, "Authorization": {"Bearer t"}, "Content-Length": {"8"},
	}
	if d := cmp.Diff(want, got.Header); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(&replica.Forwarded{From: "a", Principal: "alice"}, from); d != "" {
		t.Error(d)
	}
	if w.Code != 202 || w.Body.String() != "caf\xe9 " || !cmp.Equal(w.Header()["X-Answer"], []string{"1", "2"}) ||
		!cmp.Equal(w.Header()["Vary"], []string{"Origin"}) {
		t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
	}
}

// TestAStreamArrivesWhileItIsWritten checks that each event is passed on at once.
func TestAStreamArrivesWhileItIsWritten(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	next := make(chan string)
	address, _ := serve(t, &replica.Options{Credentials: keys}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for text := range next {
			_, _ = io.WriteString(w, text)
			w.(http.Flusher).Flush()
		}
	})
	a := newReplica(t, keys, address)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := a.Forward(w, r, replica.Request{To: "b"}); err != nil {
			t.Error(err)
		}
	}))
	defer site.Close()
	go func() { next <- "data: 0\n\n" }()
	answer, err := http.Get(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	buffer := make([]byte, 64)
	for i := range 3 {
		if i > 0 {
			next <- fmt.Sprintf("data: %d\n\n", i)
		}
		n, err := answer.Body.Read(buffer)
		if err != nil || string(buffer[:n]) != fmt.Sprintf("data: %d\n\n", i) {
			t.Fatalf("%q, %v", buffer[:n], err)
		}
	}
	close(next)
	if rest, err := io.ReadAll(answer.Body); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// TestARequestIsSentOnce kills the owner after it has the body. net/http would repeat a request with these headers.
func TestARequestIsSentOnce(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	var runs atomic.Int32
	fail := false
	address, _ := serve(t, &replica.Options{Credentials: keys}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		runs.Add(1)
		if fail {
			panic(http.ErrAbortHandler)
		}
	})
	a := newReplica(t, keys, address)
	send := func() error {
		in := post(t, "/mcp", "{}")
		in.Header["Idempotency-Key"] = []string{"1"}
		in.Header["X-Idempotency-Key"] = []string{"1"}
		return a.Forward(httptest.NewRecorder(), in, replica.Request{To: "b", Body: []byte("{}")})
	}
	if err := send(); err != nil { // the next one reuses the connection
		t.Fatal(err)
	}
	fail = true
	err := send()
	var lost *replica.Lost
	if !errors.As(err, &lost) || lost.Begun || errors.Is(err, replica.ErrGone) {
		t.Errorf("%#v", err)
	}
	if n := runs.Load(); n != 2 {
		t.Errorf("two requests ran %d times", n)
	}
}

// TestALostStreamEndsAtAnEvent checks that the error tells whether another event may follow.
func TestALostStreamEndsAtAnEvent(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	for text, want := range map[string]replica.Lost{
		"":                     {Begun: true, Event: true},
		"data: 1\n\n":          {Begun: true, Event: true},
		"data: 1\n\ndata: 2":   {Begun: true},
		"data: 1\n":            {Begun: true},
		"\n":                   {Begun: true},
		"data: 1\n\n:\n\n":     {Begun: true, Event: true},
		"data: 1\n\ndata: 2\n": {Begun: true},
	} {
		address, _ := serve(t, &replica.Options{Credentials: keys}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(200)
			for _, c := range text { // in pieces
				_, _ = io.WriteString(w, string(c))
				w.(http.Flusher).Flush()
			}
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		w := httptest.NewRecorder()
		err := newReplica(t, keys, address).Forward(w, post(t, "/mcp", "{}"), replica.Request{To: "b", Body: []byte("{}")})
		var lost *replica.Lost
		if !errors.As(err, &lost) || lost.Begun != want.Begun || lost.Event != want.Event || w.Body.String() != text {
			t.Errorf("%q: %#v, %q", text, err, w.Body)
		}
	}
}

// TestAnOwnerThatIsGone checks every way in which a request certainly does not run: nothing is written either.
func TestAnOwnerThatIsGone(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	hangs, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts connections, and no process reads them
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()
	ran := func(http.ResponseWriter, *http.Request) { t.Error("the request ran") }
	misnamed, _ := serve(t, &replica.Options{Name: "c", Credentials: keys}, ran)
	foreign, _ := serve(t, &replica.Options{Credentials: replica.KeyFile(keyFile(t, newKey()))}, ran)
	release, read := make(chan struct{}), make(chan error, 1)
	busy, _ := serve(t, &replica.Options{Credentials: keys}, func(_ http.ResponseWriter, r *http.Request) {
		<-release
		b, err := io.ReadAll(r.Body)
		if len(b) > 0 {
			err = nil
		}
		read <- err
	})
	for name, address := range map[string]string{
		"refused": closed.Addr().String(), "hangs": hangs.Addr().String(), "another name": misnamed,
		"another key": foreign, "reads no body": busy, "this replica": "", "unknown": "",
	} {
		t.Run(name, func(t *testing.T) {
			a, to := newReplica(t, keys, address), "b"
			switch name {
			case "this replica":
				to = "a"
			case "unknown":
				to = "z"
			}
			w := httptest.NewRecorder()
			err := a.Forward(w, post(t, "/mcp", "{}"), replica.Request{To: to, Body: []byte("{}")})
			if !errors.Is(err, replica.ErrGone) || w.Body.Len() > 0 || w.Header().Get("Indus-Forwarded") != "" {
				t.Errorf("%v, %q", err, w.Body)
			}
		})
	}
	close(release)
	if err := <-read; err == nil {
		t.Error("the owner got the body after its time")
	}
}

// TestAStreamOfAHangingOwner checks a request without a body.
func TestAStreamOfAHangingOwner(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	release := make(chan struct{})
	address, _ := serve(t, &replica.Options{Credentials: keys}, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	in := httptest.NewRequestWithContext(t.Context(), "GET", "/mcp", nil)
	err := newReplica(t, keys, address).Forward(httptest.NewRecorder(), in, replica.Request{To: "b"})
	if !errors.Is(err, replica.ErrGone) {
		t.Error(err)
	}
}

// TestAClientThatLeavesEndsTheRequest checks that the owner notices the end of the client.
func TestAClientThatLeavesEndsTheRequest(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	begun, ended := make(chan struct{}), make(chan struct{})
	address, _ := serve(t, &replica.Options{Credentials: keys}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(begun)
		<-r.Context().Done()
		close(ended)
	})
	a := newReplica(t, keys, address)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	_ = a.Forward(httptest.NewRecorder(), post(t, "/mcp", "{}").WithContext(ctx), replica.Request{To: "b", Body: []byte("{}")})
	<-ended
}

// TestClaimsTravel checks that the owner gets the claims of the replica that authenticated the request.
func TestClaimsTravel(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	type key struct{}
	claims := bytes.Repeat([]byte("group,"), 10_000) // a token with many groups
	address, _ := serve(t, &replica.Options{Credentials: keys,
		Restore: func(r *http.Request, b []byte) (*http.Request, error) {
			return r.WithContext(context.WithValue(r.Context(), key{}, string(b))), nil
		}}, func(w http.ResponseWriter, r *http.Request) {
		got, _ := r.Context().Value(key{}).(string)
		_, _ = fmt.Fprint(w, got == string(claims))
	})
	a := newReplicaOf(t, &replica.Options{
		Name: "a", Credentials: keys, Peers: []replica.Peer{{Name: "b", Address: address}},
		Claims: func(*http.Request) []byte { return claims },
	})
	w := httptest.NewRecorder()
	if err := a.Forward(w, post(t, "/mcp", "{}"), replica.Request{To: "b", Body: []byte("{}")}); err != nil || w.Body.String() != "true" {
		t.Errorf("%v, %q", err, w.Body)
	}
}

// BenchmarkForward measures one hop on one machine.
func BenchmarkForward(b *testing.B) {
	keys := replica.KeyFile(keyFile(b, newKey()))
	address, _ := serve(b, &replica.Options{Credentials: keys}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write([]byte("{}"))
	})
	a := newReplica(b, keys, address)
	body := make([]byte, 64)
	for b.Loop() {
		if err := a.Forward(httptest.NewRecorder(), post(b, "/mcp", ""), replica.Request{To: "b", Body: body}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestDo checks that a service of a replica gets its requests, those of the replica itself too, and no other handler.
func TestDo(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	var address string
	members := func(name string) string { return map[string]string{"b": address}[name] }
	runs := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s for %s at %s", body, replica.From(r.Context()).From, r.URL.Path)
	})
	o := &replica.Options{Credentials: keys, Services: func(name string) http.Handler {
		if name == "one" {
			return runs
		}
		return nil
	}}
	address, _ = serve(t, o, func(http.ResponseWriter, *http.Request) {
		t.Error("a request for a service reached the clients' handler")
	})
	b := newReplicaOf(t, &replica.Options{Name: "b", Credentials: keys, Members: members})
	for _, from := range []*replica.Replica{newReplica(t, keys, address), b} {
		q := replica.Request{To: "b", Body: []byte("work"), Service: "one"}
		answer, err := from.Do(post(t, "http://anywhere/mcp", "work"), q)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if want := "work for " + from.Name() + " at /mcp"; string(text) != want {
			t.Errorf("it answers %q, not %q", text, want)
		}
		q.Service = "two"
		if _, err := from.Do(post(t, "http://anywhere/mcp", "work"), q); !errors.Is(err, replica.ErrGone) {
			t.Errorf("a service that does not run there: %v", err)
		}
	}
	if err := b.Forward(httptest.NewRecorder(), post(t, "http://anywhere/mcp", ""), replica.Request{To: "b"}); !errors.Is(err, replica.ErrGone) {
		t.Errorf("a request forwarded to itself: %v", err)
	}
}
