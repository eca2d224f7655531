//go:build linux || darwin

package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// gatedEndpoint is a fixture that receives the first line of its stdin at once, and the rest
// after open was called.
func gatedEndpoint(t *testing.T, opts *interop.EndpointOptions) (r *rig, open func()) {
	f := fixture.New(t, "-era", "modern", "-no-list-changed")
	fifo := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	const script = `gate=$1; shift; { IFS= read -r line; printf '%s\n' "$line"; cat "$gate"; cat; } | "$@"`
	s := config.Server{ID: "fx", Transport: config.Stdio{Command: "sh", Args: append([]string{"-c", script, "sh", fifo, f.Path}, f.Args...)}}
	r = &rig{newEndpoint(t, s, opts), f.Control, t}
	mustOpen(t, r.Endpoint)
	return r, func() {
		if err := os.WriteFile(fifo, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

func TestEndpointOutlivesAServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	r, open := gatedEndpoint(t, nil)
	large := fmt.Sprintf(`{"message":"%s"}`, strings.Repeat("x", 1<<20))
	ctx, cancel := context.WithTimeout(t.Context(), brief)
	defer cancel()
	blocked := r.start(ctx, "echo", large)           // in the middle of its line
	waiting := r.start(ctx, "echo", `{"message":1}`) // behind it, or before it
	for _, c := range []<-chan call{blocked, waiting} {
		if err := receiveSoon(t, c, "the deadline").err; err != context.DeadlineExceeded {
			t.Errorf("%v, want the context's own error", err)
		}
	}
	if p := r.Phase(); p != interop.Ready {
		t.Fatalf("phase %s", p)
	}
	later := r.start(t.Context(), "echo", `{"message":"later"}`)
	open()
	if c := receiveSoon(t, later, "the call after it"); c.err != nil || textOf(t, c.res) != "later" {
		t.Errorf("%+v", c)
	}
	wantReady(t, r.Endpoint)
	r.Wait("cancelled ")
	if bad := r.Events("unreadable"); len(bad) != 0 {
		t.Errorf("the stream was torn: %q", bad)
	}
	if n := r.Status().Noise; n != 0 {
		t.Errorf("%d lines of noise", n)
	}
}

func TestEndpointClosesUnderABlockedWrite(t *testing.T) {
	t.Parallel()
	under := make(chan struct{}, 1)
	r, _ := gatedEndpoint(t, &interop.EndpointOptions{Around: []func(interop.Peer) interop.Peer{func(next interop.Peer) interop.Peer {
		return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
			under <- struct{}{}
			return next(ctx, m)
		}
	}}})
	blocked := r.start(t.Context(), "echo", fmt.Sprintf(`{"message":"%s"}`, strings.Repeat("x", 1<<20)))
	receiveSoon(t, under, "the call")
	start := time.Now()
	r.Close()
	err := receiveSoon(t, blocked, "the blocked call").err
	if _, ok := errors.AsType[*interop.Fault](err); !ok { // the kind depends on its progress: ToolError, or NotConnected
		t.Error(err)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("Close took %v", took)
	}
}
