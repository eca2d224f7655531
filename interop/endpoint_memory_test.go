package interop_test

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// A reply without room is refused over every transport, and the connection stays usable. The memory of
// replies is released.
func TestAnAnswerWithoutRoomIsRefused(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"stdio": nil, "modern http": {"-era", "modern"}, "modern events": {"-era", "modern", "-sse-answers"},
		"legacy http": {"-era", "legacy"}, "legacy events": {"-era", "legacy", "-sse-answers"}, "http+sse": {"-sse"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fixture.New(t, flags...)
			s := config.Server{ID: "fx", Transport: stdioOf(f)}
			switch name {
			case "stdio":
			case "http+sse":
				s.Transport = config.SSE{URL: f.HTTP()}
			default:
				s.Transport = config.HTTP{URL: f.HTTP()}
			}
			m := interop.NewMemory(4 << 20)
			e := newEndpoint(t, s, &interop.EndpointOptions{Memory: m})
			mustOpen(t, e)
			block := func(args string) error {
				_, err := e.Invoke(t.Context(), "block", json.RawMessage(args))
				return err
			}
			for range 5 {
				awaitCondition(t, "there is room, as nobody holds the last one", func() bool { return block(`{"bytes":800000}`) == nil })
			}
			var fault *interop.Fault
			if err := block(`{"bytes":5000000}`); !errors.As(err, &fault) || !strings.Contains(err.Error(), "room") {
				t.Errorf("more than there is: %v", err)
			}
			held, err := e.Invoke(t.Context(), "block", json.RawMessage(`{"bytes":2500000}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := block(`{"bytes":2500000}`); !errors.As(err, &fault) || !strings.Contains(err.Error(), "room") {
				t.Errorf("more than is left: %v", err)
			}
			if err := block(`{"bytes":1000}`); err != nil {
				t.Errorf("a small one: %v", err)
			}
			runtime.KeepAlive(held)
			awaitCondition(t, "there is room again", func() bool { return block(`{"bytes":2500000}`) == nil })
		})
	}
}

// A principal that holds its answers leaves room for answers of others. Without a principal there are no
// shares.
func TestAnAnswerBeyondAShareIsRefused(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, config.Server{ID: "fx", Transport: stdioOf(fixture.New(t))}, &interop.EndpointOptions{Memory: interop.NewMemory(8 << 20)})
	mustOpen(t, e)
	var held []json.RawMessage
	gets := func(who toolbox.Principal) (err error) {
		raw, err := e.Do(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"block","arguments":{"bytes":1400000}}`), Caller: who})
		held = append(held, raw)
		return err
	}
	for range 4 {
		if err := gets("eve"); err != nil {
			t.Fatal(err)
		}
	}
	if err := gets("eve"); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("eve has all: %v", err)
	}
	if err := gets("ann"); err != nil {
		t.Error(err)
	}
	clear(held)
	for range 5 {
		if err := gets(""); err != nil {
			t.Error(err)
		}
	}
	runtime.KeepAlive(held)
}
