package conn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/indusagi/indus/internal/wire"
)

const (
	maxUnmatched      = 8   // number of descriptions that are kept
	maxUnmatchedBytes = 120 // of each, as received
)

// unmatched records received bytes that answer no request. They may explain a request without an answer.
type unmatched struct {
	mu    sync.Mutex
	count int
	last  [maxUnmatched]string // number i is at i % maxUnmatched
}

// add records received bytes, masked, and returns their description for a person.
func (u *unmatched) add(s *session, raw []byte) string {
	raw = bytes.TrimRight(raw, "\r\n")
	text := unmatchedKind(raw) + s.quote(raw)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last[u.count%maxUnmatched] = text
	u.count++
	return text
}

// quote returns the beginning of received bytes, masked.
func (s *session) quote(raw []byte) string {
	text := s.opts.Secrets.Mask(string(raw[:min(len(raw), 2*maxUnmatchedBytes)]))
	return strconv.Quote(text[:min(len(text), maxUnmatchedBytes)])
}

func (u *unmatched) total() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.count
}

const answersNone = "what arrived answers no request: "

// describeSince describes the entries after the first before ones. It quotes the oldest of them that is kept, and
// counts the others. It returns "" if there are none.
func (u *unmatched) describeSince(before int) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.count - before
	if n <= 0 {
		return ""
	}
	text := answersNone + u.last[max(before, u.count-maxUnmatched)%maxUnmatched]
	if n > 1 {
		text += fmt.Sprintf(" and %d more", n-1)
	}
	return text
}

// unmatchedKind names known kinds of bytes that servers send instead of messages.
func unmatchedKind(raw []byte) string {
	start := bytes.TrimLeft(raw, " \t")
	switch {
	case bytes.HasPrefix(raw, []byte{0xff, 0xfe}), bytes.HasPrefix(raw, []byte{0xfe, 0xff}), bytes.IndexByte(raw, 0) >= 0:
		return "text in UTF-16, "
	case bytes.HasPrefix(bytes.ToLower(start), []byte("content-length:")):
		return "the header of another framing (LSP), "
	case bytes.Contains(raw, []byte("\x1b[")):
		return "colours of a terminal, "
	case len(start) > 0 && bytes.IndexByte([]byte(`{}"`), start[0]) >= 0 && !wire.Valid(raw):
		return "a part of JSON on several lines, "
	case bytes.Contains(raw, []byte(`"result"`)) || bytes.Contains(raw, []byte(`"error"`)):
		return "a reply to no request, "
	}
	return ""
}

// UnmatchedError is a passed deadline, during which bytes arrived that answer no request.
type UnmatchedError struct {
	Late *DeadlineError
	What string // describes the bytes
}

func (e *UnmatchedError) Error() string { return e.Late.Error() + "; " + e.What }

func (e *UnmatchedError) Unwrap() []error { return []error{e.Late, context.DeadlineExceeded} }

// lateError returns the error of a request that ended with ctx. before is the number of entries when the request began.
// If entries were added since, they explain the passed deadline.
func (s *session) lateError(ctx context.Context, before int) error {
	what := s.unmatched.describeSince(before)
	if c, ok := s.carrier.(*stream); ok && what == "" {
		if f, ok := c.framer.(*stdio); ok {
			what = f.partial.describe(s)
		}
	}
	var late *DeadlineError
	if what != "" && errors.As(context.Cause(ctx), &late) {
		return &UnmatchedError{late, what}
	}
	return ctx.Err()
}

// partialReader reads lines, and keeps the beginning of an unfinished line.
type partialReader struct {
	io.Reader
	mu   sync.Mutex
	line []byte
}

// Read implements [io.Reader].
func (u *partialReader) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	u.mu.Lock()
	defer u.mu.Unlock()
	rest := p[:n]
	if end := bytes.LastIndexByte(rest, '\n'); end >= 0 {
		u.line, rest = u.line[:0], rest[end+1:]
	}
	u.line = append(u.line, rest[:min(len(rest), 2*maxUnmatchedBytes-len(u.line))]...)
	return n, err
}

// describe names the unfinished line. It returns "" if there is none.
func (u *partialReader) describe(s *session) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.line) == 0 {
		return ""
	}
	return answersNone + "a line that does not end, " + s.quote(u.line)
}
