package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// trail records a client's last HTTP exchanges, for the analysis of calls that never ended.
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

// follow records the outcome of an exchange, and marks errors that belong to another request. It reads the request from
// GetBody, which requests of the SDK have.
func (t *trail) follow(r *http.Request, resp *http.Response, err error, began time.Time) error {
	sent := ""
	if r.GetBody != nil {
		body, _ := r.GetBody()
		text, _ := io.ReadAll(io.LimitReader(body, 200))
		sent = string(text)
	}
	what := fmt.Sprintf("%s %q last %q", r.Method, sent, r.Header.Get("Last-Event-ID"))
	if err != nil {
		err = foreignError(r, err)
		t.note("%s: %v, after %v, context %v", what, err, time.Since(began), r.Context().Err())
		return err
	}
	t.note("%s: %d %s, after %v", what, resp.StatusCode, resp.Header.Get("Content-Type"), time.Since(began))
	resp.Body = &trailedBody{ReadCloser: resp.Body, trail: t, of: r, what: what}
	return nil
}

// foreignError marks an error that belongs to another request, whose context has ended. In Go 1.26, net/http reuses a
// connection before the caller has received an answer without a body. If the context of that caller ends at this
// moment, the next request on the connection gets its error, within milliseconds.
func foreignError(r *http.Request, err error) error {
	if r.Context().Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return fmt.Errorf("net/http: the connection was another request's, which ended: %v", err)
	}
	return err
}

// trailedBody is the body of an answer whose end is recorded.
type trailedBody struct {
	io.ReadCloser
	trail *trail
	of    *http.Request
	what  string
	bytes int
	tail  []byte
}

func (b *trailedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes += n
	b.tail = append(b.tail, p[:n]...)
	b.tail = b.tail[max(0, len(b.tail)-300):]
	if err != nil {
		err = foreignError(b.of, err)
		b.trail.note("end of %s: %v, after %d bytes: %q", b.what, err, b.bytes, b.tail)
	}
	return n, err
}
