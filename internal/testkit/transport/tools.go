package transport

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// Tools returns the toolbox that a server has to publish for [Run]. Each toolbox has its own state:
// use it for one server.
func Tools() toolbox.Source {
	s := &suiteTools{Registry: toolbox.NewRegistry(nil), stalled: make(chan struct{})}
	s.Add(
		toolbox.Define("echo", "returns the message", echo),
		toolbox.Tool{Name: "echo_raw", Description: "returns the bytes of the request's params as text",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":true}`), Run: echoRaw},
		toolbox.Tool{Name: "fidelity", Description: "returns the same odd bytes every time", Run: fidelity},
		toolbox.Define("block", "returns one text block of so many bytes", block),
		toolbox.Define("progress", "reports progress so many times, then returns", reportProgress),
		toolbox.Tool{Name: "stall", Description: "reports progress once, then waits to be cancelled", Run: s.stall},
		toolbox.Tool{Name: "stalled", Description: "returns once a stall was cancelled", Run: s.wasStalled},
		toolbox.Tool{Name: "change", Description: "adds or removes the tool changed", Run: s.change},
		toolbox.Define("error", "fails as tools fail", fail),
		toolbox.Tool{Name: "rpcerror", Description: "fails as the protocol fails", Run: returnNothing},
	)
	return s
}

// oddResult is a result that no decoder preserves: unknown members and types, numbers beyond 2^53,
// escapes, nulls, and an unsorted order.
const oddResult = `{"structuredContent":{"zulu":1,"alpha":9007199254740993,"":[1.0,1e2,-0,1e400,null]},` +
	`"content":[{"text":"","type":"text"},{"type":"text","text":"\u0041\/ \ud83d\ude00 ☃ \u2028 <&>",` +
	`"annotations":{"priority":0,"x":null}},` +
	`{"type":"hologram","depth":9007199254740993,"keep":{"null":null}}],` +
	`"isError":false,"unknownMember":{"n":123456789012345678901234567890},"_meta":{"com.example/n":9007199254740993}}`

// oddError returns the error of the tool rpcerror.
func oddError() *interop.RPCError {
	return &interop.RPCError{Code: -5, Message: "no such luck",
		Data: json.RawMessage(`{"why":"9007199254740993","n":9007199254740993,"z":null,"a":[]}`)}
}

// suiteTools is a registry, and one tool that cannot be in a registry.
type suiteTools struct {
	*toolbox.Registry
	once    sync.Once
	stalled chan struct{} // closed when a stall was cancelled

	mu      sync.Mutex
	changed bool
}

var _ toolbox.Source = (*suiteTools)(nil)

func (s *suiteTools) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	if c.Name == "rpcerror" {
		return nil, oddError()
	}
	return s.Registry.Do(ctx, c)
}

type (
	echoInput struct {
		Message string `json:"message,omitempty"`
	}
	blockInput struct {
		Bytes int `json:"bytes,omitempty"`
	}
	progressInput struct {
		Steps int `json:"steps,omitempty"`
	}
	failInput struct {
		Text string `json:"text,omitempty"`
	}
)

func echo(_ context.Context, in echoInput) (string, error) { return in.Message, nil }

func echoRaw(_ context.Context, tc *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
	return toolbox.NewResult(toolbox.Text(string(tc.Call().Wire.JSON))), nil
}

func fidelity(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
	wire := toolbox.Wire{Format: "mcp/legacy", JSON: json.RawMessage(oddResult)}
	return toolbox.WireResult(wire, func(toolbox.Wire) toolbox.Decoded { return toolbox.Decoded{} }), nil
}

func block(_ context.Context, in blockInput) (string, error) {
	return strings.Repeat("x", in.Bytes), nil
}

func reportProgress(ctx context.Context, in progressInput) (string, error) {
	tc := toolbox.ContextOf(ctx)
	for i := range in.Steps {
		tc.Report(toolbox.Progress{Done: float64(i + 1), Total: float64(in.Steps)})
	}
	return "done", nil
}

func (s *suiteTools) stall(ctx context.Context, tc *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
	tc.Report(toolbox.Progress{Done: 1})
	<-ctx.Done()
	s.once.Do(func() { close(s.stalled) })
	return nil, ctx.Err()
}

func (s *suiteTools) wasStalled(ctx context.Context, _ *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
	select {
	case <-s.stalled:
		return toolbox.NewResult(toolbox.Text("stalled")), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *suiteTools) change(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
	s.mu.Lock()
	s.changed = !s.changed
	now := s.changed
	s.mu.Unlock()
	if now {
		s.Add(toolbox.Tool{Name: "changed", Description: "here today", Run: returnNothing})
	} else {
		s.Remove("changed")
	}
	return toolbox.NewResult(toolbox.Text("changed")), nil
}

func fail(_ context.Context, in failInput) (*toolbox.Result, error) {
	return toolbox.ErrorResult(in.Text), nil
}

func returnNothing(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
	return nil, nil
}
