package gateway_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patient is a server with a tool that asks a question. It reports how the question ended.
func patient(ended chan<- error) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "patient"}, nil)
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		ended <- err
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "nobody answered"}}}, nil
	})
	return s
}

// An open question to a person delays neither the end of a gateway nor the removal of a server. The server gets an
// error for the question. The client gets the server's result, or an error if there is none.
func TestOpenQuestionsEndWithWhatAskedThem(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*gateway.Gateway) error{
		"stop":   (*gateway.Gateway).Stop,
		"remove": func(g *gateway.Gateway) error { g.Reload(nil, nil); return nil },
	} {
		for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
			t.Run(name+" "+string(era), func(t *testing.T) {
				t.Parallel()
				ended := make(chan error, 1)
				opts := shelf{"a": patient(ended)}.options(t)
				opts.Mount.Drain = time.Hour
				g := gateway.New(t.Context(), []config.Server{{ID: "a", Era: interop.Legacy}}, &gateway.Options{Ledger: opts, Drain: time.Hour})
				t.Cleanup(g.Close)
				questions, enough := make(chan struct{}), make(chan struct{})
				c := dialWith(t, g, "/mcp", era, &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					close(questions)
					select {
					case <-ctx.Done():
					case <-enough:
					}
					return &mcp.ElicitResult{Action: "cancel"}, nil
				}})
				type called struct {
					result *mcp.CallToolResult
					err    error
				}
				got := make(chan called, 1)
				go func() {
					r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a__ask"})
					got <- called{r, err}
				}()
				<-questions
				if err := end(g); err != nil {
					t.Error(err)
				}
				if err := <-ended; err == nil {
					t.Error("somebody answered")
				}
				if era == interop.Modern {
					close(enough) // the client sends its answer
				}
				switch r := <-got; {
				case era == interop.Modern && name == "stop":
					if r.err == nil {
						t.Errorf("%v", r.result)
					}
				case r.err != nil || text(r.result) != "nobody answered":
					t.Errorf("%v, %v", r.result, r.err)
				}
			})
		}
	}
}
