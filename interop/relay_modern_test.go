package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recordingClient is a client that records its messages and questions.
type recordingClient struct {
	interop.Client

	mu            sync.Mutex
	notifications []string
	always        []string // outside of requests
}

// newRecordingClient returns a client that answers every question with "NAME": a form with a name
// and colour, a sampling, one root.
func newRecordingClient(era interop.Era, name, capabilities string) *recordingClient {
	a := &recordingClient{Client: interop.Client{Era: era, Capabilities: json.RawMessage(capabilities)}}
	answer := func(m interop.Message) (json.RawMessage, error) {
		switch m.Method {
		case "elicitation/create":
			return json.RawMessage(fmt.Sprintf(`{"action":"accept","content":{"name":%[1]q,"username":%[1]q,"email":"a@b.c","color":"red","ok":true}}`, name)), nil
		case "sampling/createMessage":
			return json.RawMessage(`{"role":"assistant","model":"m","content":{"type":"text","text":"hi"}}`), nil
		case "roots/list":
			return json.RawMessage(`{"roots":[{"uri":"file:///r"}]}`), nil
		}
		return nil, nil
	}
	a.Back = func(_ context.Context, m interop.Message) (json.RawMessage, error) {
		if m.ID == nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.notifications = append(a.notifications, m.Method+" "+string(m.Params))
		}
		return answer(m)
	}
	a.Always = func(_ context.Context, m interop.Message) (json.RawMessage, error) {
		a.mu.Lock()
		a.always = append(a.always, m.Method)
		a.mu.Unlock()
		return answer(m)
	}
	return a
}

func (a *recordingClient) messages() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.notifications...)
}

const everyCapability = `{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}},"experimental":{"x":{}}}`

// fleetOf returns a fleet of one server that is ready.
func fleetOf(t *testing.T, s config.Server, opts *interop.FleetOptions) *interop.Fleet {
	t.Helper()
	fleet, _ := newFleet(t, opts)
	fleet.Apply([]config.Server{s})
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := fleet.Status()[0]; st.Phase != interop.Ready {
		t.Fatal(st.Fault)
	}
	return fleet
}

// callAs calls a tool of the server "a" for a client.
func callAs(ctx context.Context, f *interop.Fleet, c *interop.Client, caller toolbox.Principal, tool, params string) (string, error) {
	name := config.QualifiedName("a", tool)
	call := toolbox.Call{Name: name, Input: json.RawMessage(`{}`), Caller: caller}
	if params != "" {
		call.Wire.JSON = json.RawMessage(params)
	}
	r, err := f.Do(interop.WithClient(ctx, c), call)
	if err != nil {
		return "", err
	}
	if blocks := r.Blocks(); len(blocks) > 0 && blocks[0].Text != nil {
		return *blocks[0].Text, nil
	}
	return string(r.Wire().JSON), nil
}

func TestAModernServerIsGivenWhatItAsksFor(t *testing.T) {
	t.Parallel()
	everything := config.Server{ID: "a", Era: interop.Modern, Transport: config.Stdio{Command: peers.SDKEverythingServer(t)}}
	fleet := fleetOf(t, everything, nil)
	for tool, want := range map[string]string{
		"test_input_required_result_elicitation":     "Hello, Ada!",
		"test_input_required_result_sampling":        "Sampling response: hi",
		"test_input_required_result_list_roots":      "Client exposed 1 root(s): file:///r",
		"test_input_required_result_request_state":   "state-ok: requestState received and confirmation accepted",
		"test_input_required_result_multiple_inputs": "hi Ada — 1 root(s) visible",
		"test_input_required_result_multi_round":     "Multi-round complete: Ada likes red",
		"test_input_required_result_capabilities":    "Capability-aware input requests fulfilled",
	} {
		c := newRecordingClient(interop.Legacy, "Ada", everyCapability)
		if got, err := callAs(t.Context(), fleet, &c.Client, "", tool, ""); got != want || err != nil {
			t.Errorf("%s of a legacy client: %q, %v", tool, got, err)
		}
		modern := newRecordingClient(interop.Modern, "", everyCapability)
		got, err := callAs(t.Context(), fleet, &modern.Client, "", tool, "")
		if !strings.Contains(got, `"input_required"`) || err != nil {
			t.Errorf("%s of a modern client: %q, %v", tool, got, err)
		}
	}
	prompt := interop.Message{Method: "prompts/get", Params: json.RawMessage(`{"name":"test_input_required_result_prompt"}`)}
	for era, want := range map[interop.Era]bool{interop.Legacy: false, interop.Modern: true} {
		c := newRecordingClient(era, "Ada", everyCapability)
		got, err := fleet.Request(interop.WithClient(t.Context(), &c.Client), "a", prompt)
		if err != nil || strings.Contains(string(got), `"input_required"`) != want {
			t.Errorf("a prompt of a %s client: %s, %v", era, got, err)
		}
	}
	c := newRecordingClient(interop.Modern, "", everyCapability)
	got, err := callAs(t.Context(), fleet, &c.Client, "", "test_input_required_result_elicitation",
		`{"name":"x","arguments":{},"inputResponses":{"user_name":{"action":"accept","content":{"name":"Eve"}}}}`)
	if got != "Hello, Eve!" || err != nil {
		t.Errorf("the second request of a modern client: %q, %v", got, err)
	}
}

// A client is never asked for a capability that it does not declare, in any way.
func TestAServerIsShownWhatTheClientDeclares(t *testing.T) {
	t.Parallel()
	everything := config.Server{ID: "a", Era: interop.Modern, Transport: config.Stdio{Command: peers.SDKEverythingServer(t)}}
	fleet := fleetOf(t, everything, nil)
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		nobody := newRecordingClient(era, "", `{}`)
		got, err := callAs(t.Context(), fleet, &nobody.Client, "", "test_input_required_result_capabilities", "")
		if !strings.HasPrefix(got, "No declared") || err != nil {
			t.Errorf("%s without capabilities: %q, %v", era, got, err)
		}
		_, err = callAs(t.Context(), fleet, &nobody.Client, "", "test_input_required_result_elicitation", "")
		wantFault(t, err, interop.Protocol)
		samples := newRecordingClient(era, "", `{"sampling":{}}`)
		_, err = callAs(t.Context(), fleet, &samples.Client, "", "test_input_required_result_elicitation", "")
		wantFault(t, err, interop.Protocol)
	}
	_, err := callAs(t.Context(), fleet, nil, "", "test_input_required_result_elicitation", "")
	wantFault(t, err, interop.Protocol)

	refuses := newRecordingClient(interop.Legacy, "", everyCapability)
	refuses.Back = func(context.Context, interop.Message) (json.RawMessage, error) {
		return nil, &interop.RPCError{Code: -1, Message: "not today"}
	}
	_, err = callAs(t.Context(), fleet, &refuses.Client, "", "test_input_required_result_elicitation", "")
	if f := wantFault(t, err, interop.ToolError); !strings.Contains(f.Message, "the client does not answer elicitation/create: not today") {
		t.Error(f)
	}
}

// If a message names no request and may belong to several, no client receives it.
func TestLogsOverStdioReachTheirCallerAlone(t *testing.T) {
	t.Parallel()
	fleet := fleetOf(t, config.Server{ID: "a", Transport: config.Stdio{Command: peers.SDKEverythingServer(t)}}, nil)
	call := func(c *recordingClient, p toolbox.Principal) {
		t.Helper()
		if _, err := callAs(t.Context(), fleet, &c.Client, p, "test_logging_tool", ""); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`notifications/message {"data":"test_logging_tool executed","level":"info"}`}
	wants, quiet := newRecordingClient(interop.Modern, "", `{}`), newRecordingClient(interop.Modern, "", `{}`)
	wants.LogLevel = "info"
	call(wants, "alice")
	call(quiet, "alice")
	if diff := cmp.Diff(want, wants.messages()); diff != "" {
		t.Error(diff)
	}
	other := newRecordingClient(interop.Modern, "", `{}`)
	other.LogLevel = "debug"
	call(other, "bob")
	call(wants, "alice")
	if diff := cmp.Diff(want, wants.messages()); diff != "" || len(other.messages()) != 0 || len(quiet.messages()) != 0 {
		t.Error("a log of two principals' connection is somebody's: ", diff, other.messages(), quiet.messages())
	}
}

// Progress of any method has the client's own token again.
func TestProgressOfOtherMethodsHasTheClientsToken(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	server.AddPrompt(&mcp.Prompt{Name: "p"}, func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1})
		}
		return &mcp.GetPromptResult{}, nil
	})
	e := newEndpoint(t, config.Server{ID: "a"}, &interop.EndpointOptions{Transport: inMemory(t, server)})
	mustOpen(t, e)
	for params, want := range map[string][]string{
		`{"name":"p","_meta":{"progressToken":"mine"}}`: {`notifications/progress {"progressToken":"mine","progress":1}`},
		`{"name":"p","_meta":{"progressToken":12.50}}`:  {`notifications/progress {"progressToken":12.50,"progress":1}`},
		`{"name":"p"}`: nil,
	} {
		c := newRecordingClient(interop.Modern, "", `{}`)
		if _, err := e.Do(interop.WithClient(t.Context(), &c.Client), interop.Message{Method: "prompts/get", Params: json.RawMessage(params)}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.messages()); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
	if name := e.ServerInfo(); !strings.Contains(string(name), `"s"`) {
		t.Errorf("it is named %s", name)
	}
}

// inMemory connects to a server of the SDK in memory.
func inMemory(t *testing.T, s *mcp.Server) mcp.Transport {
	t.Helper()
	client, end := mcp.NewInMemoryTransports()
	session, err := s.Connect(context.WithoutCancel(t.Context()), end, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return client
}
