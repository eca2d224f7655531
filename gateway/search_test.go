package gateway_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A read that one server answers is a success: in the record of each server that was asked, in the spans and in the
// metrics. That the other requests are cancelled is no error.
func TestARaceMakesNoError(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		asked := make(chan struct{})
		server := func(name string, read func(context.Context) (mcp.Result, error)) *mcp.Server {
			s := library(name, "file:///"+name)
			s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
					if method == "resources/read" {
						return read(ctx)
					}
					return next(ctx, method, r)
				}
			})
			return s
		}
		log, records := recorded(t)
		m := measure(t)
		g := shelf{
			"a": server("a", func(context.Context) (mcp.Result, error) {
				<-asked // the other server is asked, and does not answer
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "mem://x", Text: "text"}}}, nil
			}),
			"b": server("b", func(ctx context.Context) (mcp.Result, error) {
				close(asked)
				<-ctx.Done()
				return nil, ctx.Err()
			}),
		}.open(t, gateway.Options{Control: gateway.Control{Audit: log, Telemetry: m.Telemetry}}, "a", "b")
		c := dial(t, g, "/mcp", era)
		if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "mem://x"}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range records() {
			if r.Method == "resources/read" {
				got = append(got, fmt.Sprint(r.Server, " ", r.Outcome, r.ErrorKind, " ", r.Reason))
			}
		}
		if want := `["b allowed another server has answered" "a allowed "]`; fmt.Sprintf("%q", got) != want {
			t.Errorf("%s: recorded %q, want %s", era, got, want)
		}
		for _, s := range m.ended() {
			for _, a := range s.Attributes() {
				if a.Key == "error.type" {
					t.Errorf("%s: %s has %v", era, s.Name(), a)
				}
			}
		}
	}
}
