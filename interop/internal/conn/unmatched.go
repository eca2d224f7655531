package conn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/indusagi/indus/internal/wire"
)

const (
	maxUnmatched      = 8   // of what arrived and answers no request is kept
	maxUnmatchedBytes = 120 // of each, as they arrived
)

// unmatched is what arrived on a stream and answers no request, as far as it explains a request without an answer.
type unmatched struct {
	mu    sync.Mutex
	count int
	last  [maxUnmatched]string // number i is at i % maxUnmatched
}

// add notes what arrived, masked, and returns how a person is shown it.
func (u *unmatched) add(s *session, raw []byte) string {
	raw = bytes.TrimRight(raw, "\r\n")
	text := s.opts.Secrets.Mask(string(raw[:min(len(raw), 2*maxUnmatchedBytes)]))
	text = unmatchedKind(raw) + strconv.Quote(text[:min(len(text), maxUnmatchedBytes)])
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last[u.count%maxUnmatched] = text
	u.count++
	return text
}

func (u *unmatched) total() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.count
}

// since describes the first that is kept of what arrived after that many; "" if nothing did.
func (u *unmatched) since(before int) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.count - before
	if n <= 0 {
		return ""
	}
	text := "what arrived answers no request: " + u.last[max(before, u.count-maxUnmatched)%maxUnmatched]
	if n > 1 {
		text += fmt.Sprintf(" and %d more", n-1)
	}
	return text
}

// unmatchedKind names what bytes are, if they are what servers are known to send in place of messages.
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

// UnmatchedError is a deadline that has passed while bytes arrived that answer no request.
type UnmatchedError struct {
	Late *DeadlineError
	What string // describes the bytes
}

func (e *UnmatchedError) Error() string { return e.Late.Error() + "; " + e.What }

func (e *UnmatchedError) Unwrap() []error { return []error{e.Late, context.DeadlineExceeded} }

// late is the error of a request that ended with ctx, when before things had arrived that answer nothing.
func (s *session) late(ctx context.Context, before int) error {
	var late *DeadlineError
	if what := s.unmatched.since(before); what != "" && errors.As(context.Cause(ctx), &late) {
		return &UnmatchedError{late, what}
	}
	return ctx.Err()
}
