package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// patience limits how long [Server.Wait] and [Server.Left] wait.
const patience = 30 * time.Second

// Server is a model on the loopback interface. All methods are safe for concurrent use.
type Server struct {
	// URL is the address without a path. It is the base URL of Anthropic's API. The base URL of OpenAI's API may end
	// with or without "/v1".
	URL string
	// Pause is the time between two events of a stream. If it is 0, there is no pause. Set it before the first
	// request.
	Pause time.Duration

	http *httptest.Server
	fail func(format string, args ...any)

	mu       sync.Mutex
	log      io.Writer // receives requests; nil if unused
	turns    []Turn
	fun      func(Request) Turn
	requests []Request
	left     map[int]bool
	changed  chan struct{} // closed and replaced when requests or left change
}

// New starts a server for a test. If there are more requests than turns and no [Server.Func], the test fails.
func New(t testing.TB, turns ...Turn) *Server {
	t.Helper()
	s, err := Start("127.0.0.1:0", turns...)
	if err != nil {
		t.Fatal(err)
	}
	s.fail = t.Errorf
	t.Cleanup(s.Close)
	return s
}

// Start starts a server on an address. A request without a turn gets an error.
func Start(addr string, turns ...Turn) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{turns: turns, left: map[int]bool{}, changed: make(chan struct{}), fail: func(string, ...any) {}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.handle(toAnthropic))
	mux.HandleFunc("POST /v1/chat/completions", s.handle(toOpenAI))
	mux.HandleFunc("POST /chat/completions", s.handle(toOpenAI))
	s.http = &httptest.Server{Listener: l, Config: &http.Server{Handler: mux, ReadHeaderTimeout: patience}}
	s.http.Start()
	s.URL = s.http.URL
	return s, nil
}

// Close ends the server and its blocked responses.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Then appends turns.
func (s *Server) Then(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, turns...)
}

// Func sets the function that answers requests without a turn.
func (s *Server) Func(f func(Request) Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fun = f
}

// LogTo writes each request from now on to w, as a line of JSON.
func (s *Server) LogTo(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = w
}

// Requests returns all requests so far, in order, even refused requests.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Wait waits until n requests were received, and returns the last of these.
func (s *Server) Wait(n int) Request {
	s.until(func() bool { return len(s.requests) >= n }, "%d requests", n)
	return s.Requests()[n-1]
}

// Left waits until the client of the nth request, counted from 1, disconnects before its response is complete.
func (s *Server) Left(n int) {
	s.until(func() bool { return s.left[n] }, "the client of request %d to leave", n)
}

// until panics after its patience, so that it may be called from any goroutine of a test.
func (s *Server) until(done func() bool, format string, args ...any) {
	end := time.After(patience)
	for {
		s.mu.Lock()
		ok, changed := done(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-end:
			panic("modelserver: waited in vain for " + fmt.Sprintf(format, args...))
		}
	}
}

// change changes the state that [Server.until] waits for.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// dialect is one of the two APIs.
type dialect struct {
	check  func(Request) error
	fault  func(status int, code, message string) obj
	stream func(Request, Turn) []event
}

func (s *Server) handle(d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client disconnected
		}
		req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
		turn, n := s.next(req, d)
		done := s.answer(w, r, d, req, turn)
		if !done {
			s.change(func() { s.left[n] = true })
			panic(http.ErrAbortHandler)
		}
	}
}

// next records a request and takes its turn.
func (s *Server) next(req Request, d dialect) (turn Turn, n int) {
	refused := d.check(req)
	var f func(Request) Turn
	s.change(func() {
		s.requests = append(s.requests, req)
		n = len(s.requests)
		switch {
		case refused != nil:
			turn = Turn{Status: http.StatusBadRequest, Text: refused.Error()}
		case len(s.turns) > 0:
			turn, s.turns = s.turns[0], s.turns[1:]
		case s.fun == nil:
			turn = Turn{Status: http.StatusBadRequest, Text: "the script has no turn for this request"}
			s.fail("modelserver: request %d, and no turn for it: %.2000s", n, req.Body)
		default:
			f = s.fun
		}
		if s.log != nil {
			_ = json.NewEncoder(s.log).Encode(req)
		}
	})
	if f != nil {
		turn = f(req)
	}
	return turn, n
}

// answer sends a response. It reports whether the client received all of it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, d dialect, req Request, t Turn) bool {
	switch {
	case t.Status != 0 && !t.Break:
		return answerFault(w, d, t)
	case t.Hang && t.empty() && t.Raw == "":
		<-r.Context().Done()
		return false
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	events := []event{event(t.Raw)}
	if t.Raw == "" {
		events = d.stream(req, t)
	}
	if t.Break {
		events = events[:(len(events)+1)/2]
	}
	if t.Break && t.Status != 0 {
		events = append(events, encode("error", d.fault(t.Status, t.Code, t.message())))
	}
	if t.Hang {
		events = events[:len(events)-ending(events)]
	}
	for _, e := range events {
		if !s.send(w, r, e) {
			return false
		}
	}
	if t.Hang {
		<-r.Context().Done()
	}
	return !t.Hang && (!t.Break || t.Status != 0)
}

// send writes an event in two parts. The cut is inside of a line, because clients must not treat one read as a line.
func (s *Server) send(w http.ResponseWriter, r *http.Request, e event) bool {
	out := http.NewResponseController(w)
	for _, part := range []event{e[:len(e)*2/3], e[len(e)*2/3:]} {
		if _, err := io.WriteString(w, string(part)); err != nil || out.Flush() != nil {
			return false
		}
	}
	if s.Pause > 0 {
		select {
		case <-time.After(s.Pause):
		case <-r.Context().Done():
		}
	}
	return r.Context().Err() == nil
}

func answerFault(w http.ResponseWriter, d dialect, t Turn) bool {
	body := t.Raw
	w.Header().Set("Content-Type", "application/json")
	if body == "" {
		b, _ := json.Marshal(d.fault(t.Status, t.Code, t.message()))
		body = string(b)
	} else if body[0] == '<' {
		w.Header().Set("Content-Type", "text/html")
	}
	if t.RetryAfter != "" {
		w.Header().Set("Retry-After", t.RetryAfter)
	}
	w.WriteHeader(t.Status)
	_, err := io.WriteString(w, body)
	return err == nil
}
