// Package carried lets a later step of an HTTP request store a value that earlier steps can read: an inner handler that
// authenticates a request, and the handler around it. All functions may be called from any goroutine.
package carried

import (
	"context"
	"net/http"
	"sync"
)

// slot holds the value of one request. The latest value counts: a stream that stays open is authenticated again.
type slot struct {
	mu    sync.Mutex
	value any
}

type slotKey struct{}

func slotOf(ctx context.Context) *slot {
	s, _ := ctx.Value(slotKey{}).(*slot)
	return s
}

// Request returns a request that can carry a value. It returns r if r can.
func Request(r *http.Request) *http.Request {
	if slotOf(r.Context()) != nil { // it keeps the value that it has
		return r
	}
	return r.WithContext(NewContext(r.Context(), nil))
}

// NewContext returns a context that carries a value, or that has none yet if the value is nil.
func NewContext(ctx context.Context, value any) context.Context {
	return context.WithValue(ctx, slotKey{}, &slot{value: value})
}

// Store stores the value of the request that ctx belongs to, if the request can carry one.
func Store(ctx context.Context, value any) {
	if s := slotOf(ctx); s != nil {
		s.mu.Lock()
		s.value = value
		s.mu.Unlock()
	}
}

// Value returns the value of the request that ctx belongs to, or nil.
func Value(ctx context.Context) any {
	s := slotOf(ctx)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}
