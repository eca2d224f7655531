package oauth

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Loopback is an [Interaction] with a browser on this machine: the answer comes to a port of 127.0.0.1
// that is open while one signs in (RFC 8252 section 7.3).
type Loopback struct {
	// Open shows the address to the person: it starts a browser, or asks a client to do so (URL
	// elicitation): the context has what the first request had that waits for this sign-in. It returns
	// when that is done, and its error ends the sign-in.
	Open func(ctx context.Context, authorize string) error
	// Port is the one at which clients are known that cannot choose. 0: that of the last sign-in if
	// it is free, else any.
	Port int
	// Path of the address, or its beginning. "": "/callback".
	Path string
}

var _ Interaction = (*Loopback)(nil)

// Begin opens the port.
func (l *Loopback) Begin(ctx context.Context, redirect, own string) (Redirection, error) {
	path := cmp.Or(l.Path, "/callback") + own
	port := strconv.Itoa(l.Port)
	if u, err := url.Parse(redirect); l.Port == 0 && err == nil && u.Path == path && u.Hostname() == loopbackHost {
		port = u.Port()
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(loopbackHost, port))
	if err != nil && l.Port == 0 {
		listener, err = config.Listen(ctx, "tcp", net.JoinHostPort(loopbackHost, "0"))
	}
	if err != nil {
		return nil, err
	}
	r := &loopback{open: l.Open, path: path, uri: "http://" + listener.Addr().String() + path, answers: make(chan url.Values, 1)}
	r.server = &http.Server{
		Handler: r, ReadTimeout: pageTime, WriteTimeout: pageTime, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // what a browser gets is all that matters here
	}
	r.running.Go(func() { _ = r.server.Serve(listener) })
	return r, nil
}

const (
	loopbackHost = "127.0.0.1"
	pageTime     = 5 * time.Second
)

type loopback struct {
	open    func(context.Context, string) error
	path    string
	uri     string
	server  *http.Server
	running sync.WaitGroup
	answers chan url.Values

	mu    sync.Mutex
	state string // of the sign-in that is waited for; "": none, or it was answered
}

func (r *loopback) URI() string { return r.uri }

// Ask opens the address and waits for the first answer that has its state.
func (r *loopback) Ask(ctx context.Context, authorize string) (url.Values, error) {
	u, err := url.Parse(authorize)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.state = u.Query().Get("state")
	r.mu.Unlock()
	if err := r.open(ctx, authorize); err != nil {
		return nil, err
	}
	select {
	case answer := <-r.answers:
		return answer, nil
	case <-ctx.Done():
		return nil, notAnswered(ctx)
	}
}

func notAnswered(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("nobody has signed in in time")
	}
	return ctx.Err()
}

// Close closes the port. Its last page is still delivered.
func (r *loopback) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), pageTime)
	defer cancel()
	err := r.server.Shutdown(ctx)
	if err != nil {
		err = r.server.Close()
	}
	r.running.Wait()
	return err
}

// ServeHTTP takes the one answer. Whatever else comes, be it from another page in the browser,
// changes nothing.
func (r *loopback) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	answer := req.URL.Query()
	switch {
	case req.URL.Path != r.path || req.Method != http.MethodGet || req.Host != strings.TrimSuffix(strings.TrimPrefix(r.uri, "http://"), r.path):
		writePage(w, http.StatusNotFound, "There is nothing here.")
	case !r.take(answer):
		writePage(w, http.StatusBadRequest, "This is not the answer to a sign-in that is waited for. Begin again.")
	case answer.Has("code"):
		writePage(w, http.StatusOK, "Signed in. You can close this page.")
	default:
		writePage(w, http.StatusOK, "Not signed in. You can close this page.")
	}
}

// take delivers an answer once.
func (r *loopback) take(answer url.Values) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == "" || subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(r.state)) != 1 {
		return false
	}
	r.state = ""
	r.answers <- answer // which has room for the one
	return true
}

func writePage(w io.Writer, status int, say string) {
	if rw, ok := w.(http.ResponseWriter); ok {
		rw.WriteHeader(status)
	}
	_, _ = fmt.Fprintf(w, "<!doctype html><title>indus</title><p>%s</p>\n", html.EscapeString(say))
}
