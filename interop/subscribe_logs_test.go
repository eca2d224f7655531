//lint:file-ignore SA1019 logging is deprecated, and there for as long as its peers are

package interop_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Logs about one caller's subscription, on the shared connection, do not reach another caller with a call in
// flight.
func TestLogsOfASubscriptionReachNobodyElse(t *testing.T) {
	t.Parallel()
	for subscriber, want := range map[toolbox.Principal]int{"ann": 0, "bob": 1} {
		called, release := make(chan struct{}), make(chan struct{})
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{
			SubscribeHandler: func(ctx context.Context, r *mcp.SubscribeRequest) error {
				return r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: "somebody wants " + r.Params.URI})
			},
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		})
		server.AddResource(&mcp.Resource{URI: "x:1", Name: "x"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			close(called)
			<-release
			return &mcp.CallToolResult{}, nil, nil
		})
		f := fleetOf(t, config.Server{ID: "a", Era: interop.Legacy}, &interop.FleetOptions{
			Endpoint: func(config.Server) *interop.EndpointOptions {
				return &interop.EndpointOptions{Transport: inMemory(t, server)}
			},
		})
		if _, err := f.Request(t.Context(), "a", interop.Message{Method: "logging/setLevel", Params: json.RawMessage(`{"level":"debug"}`)}); err != nil {
			t.Fatal(err)
		}
		heard := make(chan interop.Message, 10)
		ctx := interop.WithClient(context.WithoutCancel(t.Context()), &interop.Client{Era: interop.Legacy, Session: "bob's", Back: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
			heard <- m
			return nil, nil
		}})
		done := make(chan error)
		go func() {
			_, err := f.Do(ctx, toolbox.Call{Name: "a__t", Caller: "bob"})
			done <- err
		}()
		<-called
		stop, err := f.Subscribe(t.Context(), "a", "x:1", subscriber, func(interop.Message) {})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(heard) != want {
			t.Errorf("of %s's subscription bob hears %d messages, want %d", subscriber, len(heard), want)
		}
	}
}
