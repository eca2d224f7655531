//lint:file-ignore SA1019 roots and sampling are deprecated, and there for as long as their peers are

package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// person answers all questions to a client of the SDK, and records them.
type person struct {
	name string

	mu        sync.Mutex
	questions []string
}

func (p *person) record(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.questions = append(p.questions, s)
}

// taken returns the questions since the last call.
func (p *person) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.questions
	p.questions = nil
	slices.Sort(all)
	return all
}

// client returns a client of the SDK that declares all capabilities to be asked.
func (p *person) client() *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: "person", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:     &mcp.RootCapabilities{},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			p.record(strings.TrimSpace("elicitation " + r.Params.Mode + " " + r.Params.Message + " " + r.Params.URL))
			if r.Params.Mode == "url" {
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": p.name, "color": "red", "ok": true}}, nil
		},
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			p.record("sampling")
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "hi"}}, nil
		},
	})
	c.AddRoots(&mcp.Root{URI: "file:///r", Name: "r"})
	return c
}

func text(r *mcp.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

// urlAsker returns a server in memory that asks the client to open a URL.
func urlAsker() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "open"}, func(_ context.Context, r *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		if a, ok := r.Params.InputResponses["k"].(*mcp.ElicitResult); ok {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "opened: " + a.Action}}}, nil, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"k": &mcp.ElicitParams{
			Mode: "url", Message: "Please open", URL: "https://a.example/x", ElicitationID: "e1",
		}}}, nil, nil
	})
	return s
}

// In every pairing of eras, the person gets the question of a server with the server's name, and the server gets the
// answer.
func TestEveryPairingAsks(t *testing.T) {
	t.Parallel()
	sdk := peers.SDKEverythingServer(t)
	npm, args := peers.Everything(t, "stdio")
	memory := shelf{"oldurl": urlAsker(), "newurl": urlAsker()}
	servers := []config.Server{
		{ID: "old", Era: interop.Legacy, Transport: config.Stdio{Command: sdk}},
		{ID: "new", Era: interop.Modern, Transport: config.Stdio{Command: sdk}},
		{ID: "npm", Transport: config.Stdio{Command: npm, Args: args}},
		{ID: "oldurl", Era: interop.Legacy},
		{ID: "newurl", Era: interop.Modern},
	}
	inMemory := memory.options(t).Mount.Endpoint
	g := gateway.New(t.Context(), servers, &gateway.Options{Ledger: &ledger.Options{Mount: &interop.MountOptions{
		Wait: 0, FleetOptions: interop.FleetOptions{Endpoint: func(s config.Server) *interop.EndpointOptions {
			switch {
			case s.Transport == nil:
				return inMemory(s)
			case s.ID == "npm": // it lists only tools that its connection supports
				return &interop.EndpointOptions{Capabilities: json.RawMessage(`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`)}
			}
			return nil
		}},
	}}})
	t.Cleanup(g.Close)
	for _, st := range g.Attached().Status() {
		if st.Phase != interop.Ready {
			t.Fatalf("%s: %v", st.Server, st.Fault)
		}
	}
	web := httptest.NewServer(g.Handler())
	t.Cleanup(web.Close)

	calls := []struct {
		tool      string
		args      map[string]any
		want      string   // of the result
		questions []string // with %s for the server that asks
	}{
		{"test_input_required_result_elicitation", nil, "Hello, Ada!", []string{"elicitation form [%s] What is your name?"}},
		{"test_input_required_result_sampling", nil, "Sampling response: hi", []string{"sampling"}},
		{"test_input_required_result_list_roots", nil, "Client exposed 1 root(s): file:///r", nil},
		{"test_input_required_result_multiple_inputs", nil, "hi Ada — 1 root(s) visible", []string{"elicitation form [%s] What is your name?", "sampling"}},
	}
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			p := &person{name: "Ada"}
			opts := &mcp.ClientSessionOptions{}
			if era == interop.Legacy {
				opts.ProtocolVersion = "2025-11-25"
			}
			session, err := p.client().Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp"}, opts)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			check := func(server, tool string, args map[string]any, want string, questions ...string) {
				t.Helper()
				if args == nil {
					args = map[string]any{}
				}
				result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: config.QualifiedName(server, tool), Arguments: args})
				if err != nil {
					t.Errorf("%s of %s: %v", tool, server, err)
					return
				}
				if got := text(result); !strings.Contains(got, want) {
					t.Errorf("%s of %s: %q, want %q", tool, server, got, want)
				}
				for i := range questions {
					if strings.Contains(questions[i], "%s") {
						questions[i] = fmt.Sprintf(questions[i], server)
					}
				}
				if got := p.taken(); !slices.Equal(got, questions) {
					t.Errorf("%s of %s: asked %q, want %q", tool, server, got, questions)
				}
			}
			for _, server := range []string{"old", "new"} {
				for _, c := range calls {
					check(server, c.tool, c.args, c.want, slices.Clone(c.questions)...)
				}
				check(server+"url", "open", nil, "opened: accept", "elicitation url [%s] Please open https://a.example/x")
			}
			check("npm", "trigger-elicitation-request", nil, "Name: Ada", "elicitation  [%s] Please provide inputs for the following fields:")
			check("npm", "trigger-url-elicitation", map[string]any{"url": "https://a.example/y", "elicitationId": "e2"}, "accept",
				"elicitation url [%s] Please open the link to complete this action. https://a.example/y")
			if era == interop.Modern { // -32042; after the URL is opened, the server asks once more
				check("npm", "trigger-url-elicitation", map[string]any{"url": "https://a.example/z", "errorPath": true}, "accept",
					"elicitation url [npm] Open this link to satisfy the prerequisite, then retry the request. https://modelcontextprotocol.io",
					"elicitation url [npm] Please open the link to complete this action. https://a.example/z")
			}
			check("npm", "trigger-sampling-request", map[string]any{"prompt": "p"}, "hi", "sampling")
			check("npm", "get-roots-list", nil, "file:///r")
		})
	}
}

// A server that asks for the roots when its connection begins gets the roots of clients of both eras.
func TestRootsAtTheBeginning(t *testing.T) {
	t.Parallel()
	command, args := peers.Filesystem(t, t.TempDir())
	g := gateway.New(t.Context(), []config.Server{{ID: "fs", Transport: config.Stdio{Command: command, Args: args}}}, nil)
	t.Cleanup(g.Close)
	eras(t, func(t *testing.T, era interop.Era) {
		root := t.TempDir()
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		client.AddRoots(&mcp.Root{URI: "file://" + root, Name: "r"})
		session := dialClient(t, g, "/mcp/fs", era, client)
		for got := ""; !strings.Contains(got, root); { // the server reads the directory after it has the roots
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_allowed_directories", Arguments: map[string]any{}})
			if err != nil {
				t.Fatal(err)
			}
			got = text(result)
		}
	})
}

// bearer sends the requests of one principal.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// Two principals of both eras make the same calls at the same time, at servers of both eras. Each gets the answers of
// its own person.
func TestAnswersDoNotCross(t *testing.T) {
	t.Parallel()
	greeter := func() *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "greet"}, func(_ context.Context, r *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			if a, ok := r.Params.InputResponses["k"].(*mcp.ElicitResult); ok {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("hello ", a.Content["name"])}}}, nil, nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"k": &mcp.ElicitParams{Message: "who?", RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}, "color": map[string]any{"type": "string"}, "ok": map[string]any{"type": "boolean"}},
			}}}, RequestState: "s"}, nil, nil
		})
		return s
	}
	servers := []config.Server{{ID: "old", Era: interop.Legacy}, {ID: "new", Era: interop.Modern}}
	opts := gateway.Options{Ledger: shelf{"old": greeter(), "new": greeter()}.options(t)}
	opts.Host.Authenticate = func(r *http.Request) (toolbox.Principal, error) {
		return toolbox.Principal(r.Header.Get("Authorization")), nil
	}
	g := gateway.New(t.Context(), servers, &opts)
	t.Cleanup(g.Close)
	web := httptest.NewServer(g.Handler())
	t.Cleanup(web.Close)
	var all sync.WaitGroup
	for _, name := range []string{"ann", "bob"} {
		for _, version := range []string{"2025-11-25", ""} {
			for range 2 {
				all.Go(func() {
					p := &person{name: name}
					transport := &mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(name)}}
					session, err := p.client().Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Error(err)
						return
					}
					defer session.Close()
					for i := range 10 {
						tool := config.QualifiedName([]string{"old", "new"}[i%2], "greet")
						if result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool}); err != nil || text(result) != "hello "+name {
							t.Errorf("%s of %s %s: %+v, %v", tool, name, version, result, err)
						}
					}
				})
			}
		}
	}
	all.Wait()
}
