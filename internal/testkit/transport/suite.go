package transport

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// suitePatience limits the time of one part of the suite. A passing part never waits for it.
const suitePatience = 2 * time.Minute

// Run tests a transport between client and server, as interoptest.TestTransport describes.
func Run(t *testing.T, open func(t *testing.T, opts *interop.EndpointOptions) *interop.Endpoint) {
	for _, part := range []struct {
		name string
		run  func(*bench)
	}{
		{"connect", (*bench).connect},
		{"list", (*bench).list},
		{"call", (*bench).call},
		{"error", (*bench).fail},
		{"progress", (*bench).progress},
		{"cancel", (*bench).cancel},
		{"list_changed", (*bench).change},
		{"bytes", (*bench).bytes},
		{"large", (*bench).large},
		{"concurrent", (*bench).concurrent},
		{"close", (*bench).close},
	} {
		t.Run(part.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), suitePatience)
			defer cancel()
			b := &bench{T: t, ctx: ctx, messages: make(chan interop.Message, 1000)}
			b.client = open(t, &interop.EndpointOptions{Receive: b.receive})
			defer b.client.Close()
			if err := b.client.Open(ctx); err != nil {
				t.Fatalf("open: %v", err)
			}
			part.run(b)
		})
	}
}

// bench is one client under test.
type bench struct {
	*testing.T
	ctx      context.Context
	client   *interop.Endpoint
	messages chan interop.Message // messages of the server
}

func (b *bench) receive(_ context.Context, m interop.Message) (json.RawMessage, error) {
	select {
	case b.messages <- m:
	default: // no test waits any more
	}
	return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
}

// invoke calls a tool that must succeed.
func (b *bench) invoke(tool, args string) *toolbox.Result {
	b.Helper()
	r, err := b.client.Invoke(b.ctx, tool, json.RawMessage(args))
	if err != nil {
		b.Fatalf("%s: %v", tool, err)
	}
	return r
}

// invokeText calls a tool with a result of one text.
func (b *bench) invokeText(tool, args string) string {
	b.Helper()
	return b.text(b.invoke(tool, args))
}

func (b *bench) text(r *toolbox.Result) string {
	b.Helper()
	blocks := r.Blocks()
	if len(blocks) != 1 || blocks[0].Text == nil {
		b.Fatalf("a result of one text was to come, and not %s", r.Wire().JSON)
	}
	return *blocks[0].Text
}

// start calls a tool with Do and its own params, in a new goroutine. of names the exchange.
func (b *bench) start(ctx context.Context, exchange uint64, params string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := b.client.Do(ctx, interop.Message{Method: "tools/call", Params: json.RawMessage(params), Of: exchange})
		done <- err
	}()
	return done
}

// awaitMessage waits for a notification of that method.
func (b *bench) awaitMessage(method string) interop.Message {
	b.Helper()
	for {
		select {
		case m := <-b.messages:
			if m.Method == method {
				return m
			}
		case <-b.ctx.Done():
			b.Fatalf("no %s came", method)
		}
	}
}

// wait waits for a call to end.
func (b *bench) wait(done <-chan error) error {
	b.Helper()
	select {
	case err := <-done:
		return err
	case <-b.ctx.Done():
		b.Fatal("a call does not end")
		return nil
	}
}
