package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// guarded returns the URL of a server that accepts only tokens of the authorization server.
func guarded(t *testing.T, as *authserver.Server) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "who"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "in"}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	var web *httptest.Server
	web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"resource":"%s/mcp","authorization_servers":["%s"],"scopes_supported":["read"]}`, web.URL, as.Issuer)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"tools/call"`)) && r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL + "/mcp"
}

// A call that needs a sign-in asks a client of either era to open the address. It goes on after the person has signed
// in.
func TestCallThatNeedsASignIn(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, nil)
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		t.Run(string(era), func(t *testing.T) {
			url := guarded(t, as)
			c, err := oauth.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			g := gateway.New(t.Context(), []config.Server{{ID: "s", Transport: config.HTTP{URL: url}}}, &gateway.Options{
				Ledger: &ledger.Options{Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: func(config.Server) *interop.EndpointOptions {
					return &interop.EndpointOptions{RoundTripper: func(_ config.Server, who toolbox.Principal, base http.RoundTripper) http.RoundTripper {
						return c.Transport(base, url, string(who))
					}}
				}}}},
				SignIn: func(ctx context.Context, server string, _ toolbox.Principal, opened bool) (string, error) {
					if opened {
						return "", c.AwaitSignIn(ctx, url, "")
					}
					return c.SignInAddress(ctx, url, "")
				},
			})
			defer g.Close()
			questions, complete := make(chan string, 10), make(chan string, 10)
			session := dialWith(t, g, "/mcp", era, &mcp.ClientOptions{
				Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
				ElicitationCompleteHandler: func(_ context.Context, r *mcp.ElicitationCompleteNotificationRequest) {
					complete <- r.Params.ElicitationID
				},
				ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					questions <- r.Params.Message
					return &mcp.ElicitResult{Action: "accept"}, authserver.Browser{}.Open(ctx, r.Params.URL)
				},
			})
			call := func() *mcp.CallToolParams { return &mcp.CallToolParams{Name: "s__who", Arguments: map[string]any{}} }
			r, err := session.CallTool(t.Context(), call())
			if required, ok := errors.AsType[*jsonrpc.Error](err); ok && era == interop.Legacy && required.Code == mcp.CodeURLElicitationRequired {
				var data struct{ Elicitations []*mcp.ElicitParams }
				if err := json.Unmarshal(required.Data, &data); err != nil || len(data.Elicitations) != 1 {
					t.Fatalf("%s, %v", required.Data, err)
				}
				questions <- data.Elicitations[0].Message
				if err := (authserver.Browser{}).Open(t.Context(), data.Elicitations[0].URL); err != nil {
					t.Fatal(err)
				}
				if id := <-complete; id != data.Elicitations[0].ElicitationID {
					t.Errorf("%s is complete, of %s", id, data.Elicitations[0].ElicitationID)
				}
				r, err = session.CallTool(t.Context(), call())
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := text(r); got != "in" {
				t.Error(got)
			}
			if got := <-questions; !strings.Contains(got, "Sign in to s") || len(questions) > 0 {
				t.Errorf("asked %q, and %d times more", got, len(questions))
			}
			incapable := dial(t, g, "/mcp", era)
			if err := c.SignOut(t.Context(), url, ""); err != nil {
				t.Fatal(err)
			}
			r, err = incapable.CallTool(t.Context(), call())
			if err != nil || !r.IsError || !strings.Contains(text(r), "indus mcp login s") {
				t.Error(r, err)
			}
		})
	}
}
