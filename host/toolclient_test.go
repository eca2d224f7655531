package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type orderChoice struct {
	Size  string   `json:"size" jsonschema:"enum=small,enum=large"`
	Count uint8    `json:"count,omitempty" jsonschema:"minimum=1,default=1"`
	With  []string `json:"with,omitempty" jsonschema:"enum=basil,enum=olives"`
}

type orderWish struct {
	Message string `json:"message,omitempty"`
}

// kitchenTools returns tools that ask their clients.
func kitchenTools() *toolbox.Registry {
	tools := toolbox.NewRegistry(nil)
	tools.Add(
		toolbox.Define("elicit", "", func(ctx context.Context, in orderWish) (string, error) {
			c, err := toolbox.Elicit[orderChoice](ctx, in.Message)
			switch {
			case errors.Is(err, toolbox.ErrDeclined):
				return "declined", nil
			case errors.Is(err, toolbox.ErrDismissed):
				return "dismissed", nil
			case errors.Is(err, toolbox.ErrCannotAsk):
				return "cannot ask", nil
			case err != nil:
				return err.Error(), nil
			}
			return fmt.Sprint(c), nil
		}),
		toolbox.Define("sample", "", func(ctx context.Context, in orderWish) (string, error) {
			warm := 0.5
			m, err := toolbox.Sample(ctx, toolbox.Sampling{
				System: "You are brief.", MaxTokens: 9, Temperature: &warm, Stop: []string{"."}, Models: []string{"sonnet"},
				Messages: []toolbox.Message{{Text: in.Message, Blocks: []toolbox.Block{toolbox.Image([]byte{1}, "image/png")}}, {Role: "assistant", Text: "yes?"}},
			})
			if errors.Is(err, toolbox.ErrCannotAsk) {
				return "cannot ask", nil
			}
			return fmt.Sprintf("%s %q %s %s %d", m.Role, m.Text, m.Model, m.Stop, len(m.Blocks)), err
		}),
		toolbox.Define("log", "", func(ctx context.Context, _ struct{}) (string, error) {
			log := toolbox.Log(ctx)
			log.Debug("fine")
			log.Warn("<hot>", "pan", 2)
			log.WithGroup("oven").With("side", "left").Log(ctx, slog.LevelError+4, "burnt", "dish", "dal")
			log.Log(ctx, slog.LevelInfo+2, "plain")
			return fmt.Sprint(log.Enabled(ctx, slog.LevelInfo)), nil
		}))
	return tools
}

// callText returns the text of a tool's result.
func callText(t testing.TB, s *mcp.ClientSession, tool, message string) string {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: orderWish{message}})
	if err != nil {
		t.Error(err)
		return ""
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// A local tool asks real clients of both eras, over every transport of a host.
func TestALocalToolAsksItsClient(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, _ string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession) {
		t.Parallel()
		h := newHost(t, kitchenTools(), nil)
		opts := elicitingClient("ann")
		opts.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			schema, _ := json.Marshal(r.Params.RequestedSchema)
			if !bytes.Contains(schema, []byte(`"enum":["small","large"]`)) || bytes.Contains(schema, []byte("additional")) {
				t.Errorf("the form is %s", schema)
			}
			action, content, _ := strings.Cut(r.Params.Message, " ")
			var given map[string]any
			_ = json.Unmarshal([]byte(content), &given)
			return &mcp.ElicitResult{Action: action, Content: given}, nil
		}
		//lint:ignore SA1019 sampling is deprecated, and there for as long as its peers are
		opts.CreateMessageHandler = func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			p := r.Params
			if len(p.Messages) != 3 || p.Messages[2].Role != "assistant" || p.SystemPrompt != "You are brief." || p.MaxTokens != 9 || p.Temperature != 0.5 || p.StopSequences[0] != "." || p.ModelPreferences.Hints[0].Name != "sonnet" {
				t.Errorf("%+v", p)
			}
			//lint:ignore SA1019 see above
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", StopReason: "endTurn", Content: &mcp.TextContent{Text: "to " + p.Messages[0].Content.(*mcp.TextContent).Text}}, nil
		}
		s := connect(h, opts)
		//lint:ignore SA1019 see above
		if s.InitializeResult().Capabilities.Logging == nil {
			t.Error("the host does not declare logging")
		}
		for message, want := range map[string]string{
			`accept {"size":"small"}`:                              "{small 1 []}",
			`accept {"size":"large","count":3.0,"with":["basil"]}`: "{large 3 [basil]}",
			`decline`: "declined",
			`cancel`:  "dismissed",
		} {
			if got := callText(t, s, "elicit", message); got != want {
				t.Errorf("%s: %s, want %s", message, got, want)
			}
		}
		if got := callText(t, s, "sample", "you"); got != `assistant "to you" m endTurn 0` {
			t.Error(got)
		}
		none := connect(h, nil)
		for _, tool := range []string{"elicit", "sample"} {
			if got := callText(t, none, tool, "accept"); got != "cannot ask" {
				t.Errorf("%s: %s", tool, got)
			}
		}
	})
}

// A client's answer is checked against the form, even if the client has checked it.
func TestAnAnswerFitsItsForm(t *testing.T) {
	for answer, want := range map[string]string{
		`{"action":"accept","content":{"size":"huge"}}`:             "the client's answer does not fit the form: /size: expected",
		`{"action":"accept","content":{"size":"small","count":0}}`:  "/count: expected at least 1",
		`{"action":"accept"}`:                                       `missing required "size"`,
		`{"action":"accept","content":{"size":"small","other":[]}}`: "{small 1 []}",
		`{"action":"maybe"}`:                                        `the action "maybe"`,
		`{}`:                                                        `the action ""`,
	} {
		l := serveLines(t.Context(), t, newHost(t, kitchenTools(), nil))
		l.ask(initializeBody(`{"elicitation":{}}`))
		l.write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"elicit","arguments":{"message":"m"}}}`)
		if got := l.read(); !strings.Contains(got, `"method":"elicitation/create"`) {
			t.Fatal(got)
		}
		l.write(`{"jsonrpc":"2.0","id":1,"result":` + answer + `}`)
		var reply struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(l.read()), &reply); err != nil || len(reply.Result.Content) != 1 ||
			!strings.Contains(reply.Result.Content[0].Text, want) {
			t.Errorf("%s: %+v %v, want %s", answer, reply, err, want)
		}
	}
}

// Log records reach a client from the level on that it sets. A modern client sets it in each request, a legacy one in
// its session.
func TestALocalToolLogs(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, era string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession) {
		t.Parallel()
		records := make(chan string, 10)
		s := connect(newHost(t, kitchenTools(), nil), &mcp.ClientOptions{
			//lint:ignore SA1019 logging is deprecated, and there for as long as its peers are
			LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
				data, _ := json.Marshal(r.Params.Data)
				records <- string(r.Params.Level) + " " + string(data)
			},
		})
		call := &mcp.CallToolParams{Name: "log", Arguments: orderWish{}}
		if era == "2026-07-28" {
			call.Meta = mcp.Meta{"io.modelcontextprotocol/logLevel": "notice"}
			//lint:ignore SA1019 see above
		} else if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "notice"}); err != nil {
			t.Fatal(err)
		}
		r, err := s.CallTool(t.Context(), call)
		if err != nil || r.Content[0].(*mcp.TextContent).Text != "false" {
			t.Errorf("%+v, %v: info is enabled", r, err)
		}
		want := []string{`warning {"msg":"\u003chot\u003e","pan":2}`, `critical {"msg":"burnt","oven":{"dish":"dal","side":"left"}}`, `notice "plain"`}
		var received []string
		for range want {
			received = append(received, <-records)
		}
		if diff := cmp.Diff(want, received); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// waitingTools returns a tool that asks, and then waits for its end. ended receives the cause.
func waitingTools() (tools *toolbox.Registry, ended chan error) {
	ended = make(chan error, 1)
	tools = toolbox.NewRegistry(nil)
	tools.Add(toolbox.Define("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := toolbox.Elicit[orderChoice](ctx, "Which?")
		ended <- err
		return "", err
	}))
	return tools, ended
}

const elicitingMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

// A tool that asks ends when its client disconnects, and when the host drains or closes, in both eras.
func TestAToolThatAsksEndsWithItsClient(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"the client goes", "the host closes", "the host drains"} {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(end+" "+era, func(t *testing.T) {
				t.Parallel()
				tools, ended := waitingTools()
				h := host.New(tools, nil)
				defer h.Close()
				l := serveLines(t.Context(), t, h)
				if era == "legacy" {
					l.ask(initializeBody(`{"elicitation":{}}`))
					l.write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`)
				} else {
					l.write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait",` + elicitingMeta + `}}`)
				}
				if got := l.read(); !strings.Contains(got, `elicitation/create`) {
					t.Fatal(got)
				}
				go func() { // reads the other messages to the client
					for m := json.RawMessage(nil); l.out.Decode(&m) == nil; {
					}
				}()
				switch end {
				case "the client goes":
					l.in.Close()
				case "the host closes":
					h.Close()
				case "the host drains":
					go func() { _ = h.Drain(context.Background()) }()
				}
				if err := <-ended; err == nil {
					t.Error("it was answered")
				}
			})
		}
	}
}

// A tool receives the name of its session, and is notified when the session ends.
func TestAToolLearnsOfTheEndOfASession(t *testing.T) {
	ended := make(chan string, 1)
	tools := toolbox.NewRegistry(nil)
	tools.Add(toolbox.Define("open", "", func(ctx context.Context, _ struct{}) (string, error) {
		name, life := toolbox.ContextOf(ctx).Session()
		context.AfterFunc(life, func() { ended <- name })
		return name, nil
	}))
	l := serveLines(t.Context(), t, newHost(t, tools, nil))
	l.ask(initializeBody(`{}`))
	opened := l.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"open"}}`)
	select {
	case <-ended:
		t.Error("the session has ended before its client went")
	default:
	}
	l.in.Close()
	if name := <-ended; name == "" || !strings.Contains(opened, name) {
		t.Errorf("%q ended, and %s was open", name, opened)
	}
	site := newSite(t, tools, nil)
	if _, got := modern("tools/call", "open", `"name":"open"`).send(t, site); !strings.Contains(got, `"text":""`) {
		t.Errorf("a request that stands alone has a session: %s", got)
	}
	if name := <-ended; name != "" {
		t.Error(name)
	}
}
