package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// trail is what a client's last exchanges over HTTP came to, for who reads why a call had no end.
type trail struct {
	mu    sync.Mutex
	lines []string
}

func (t *trail) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := time.Now().Format("15:04:05.000 ") + fmt.Sprintf(format, args...)
	t.lines = append(t.lines[max(0, len(t.lines)-199):], line)
}

func (t *trail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// follow notes what becomes of an exchange. It takes what is sent from GetBody, which a request of the SDK has.
func (t *trail) follow(r *http.Request, resp *http.Response, err error, began time.Time) {
	sent := ""
	if r.GetBody != nil {
		body, _ := r.GetBody()
		text, _ := io.ReadAll(io.LimitReader(body, 200))
		sent = string(text)
	}
	what := fmt.Sprintf("%s %q last %q", r.Method, sent, r.Header.Get("Last-Event-ID"))
	if err != nil {
		t.note("%s: %v, after %v, context %v", what, err, time.Since(began), r.Context().Err())
		return
	}
	t.note("%s: %d %s, after %v", what, resp.StatusCode, resp.Header.Get("Content-Type"), time.Since(began))
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &trailed{ReadCloser: resp.Body, trail: t, what: what}
	}
}

// trailed is a stream that is followed.
type trailed struct {
	io.ReadCloser
	trail *trail
	what  string
	bytes int
	tail  []byte
}

func (b *trailed) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes += n
	b.tail = append(b.tail, p[:n]...)
	b.tail = b.tail[max(0, len(b.tail)-300):]
	if err != nil && !errors.Is(err, io.ErrClosedPipe) {
		b.trail.note("end of %s: %v, after %d bytes: %q", b.what, err, b.bytes, b.tail)
	}
	return n, err
}
