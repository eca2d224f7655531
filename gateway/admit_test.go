package gateway_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/activity"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var bothEras = []interop.Era{interop.Legacy, interop.Modern}

// rules returns an engine with a policy.
func rules(t testing.TB, text string) *policy.Engine {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.cedar")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	engine, err := policy.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// always returns the policy of an engine.
func always(e *policy.Engine, report bool) func() (*policy.Set, bool) {
	return func() (*policy.Set, bool) { return e.Current(), report }
}

// office is a server with two tools, two prompts, two resources and a template. It counts the calls that reach it.
type office struct {
	*mcp.Server
	calls atomic.Int64
}

func newOffice(name string) *office {
	o := &office{}
	o.Server = mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{
		Instructions: "Instructions of " + name + ".",
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			o.calls.Add(1)
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"x"}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { o.calls.Add(1); return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	type input struct {
		Path string `json:"path,omitempty"`
	}
	for _, tool := range []string{"open", "secret"} {
		mcp.AddTool(o.Server, &mcp.Tool{Name: tool, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: tool == "open"}},
			func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
				o.calls.Add(1)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " " + in.Path}}}, nil, nil
			})
		o.AddPrompt(&mcp.Prompt{Name: tool}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			o.calls.Add(1)
			return &mcp.GetPromptResult{}, nil
		})
		read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			o.calls.Add(1)
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text"}}}, nil
		}
		o.AddResource(&mcp.Resource{Name: tool, URI: name + "://" + tool + "/x"}, read)
		o.AddResourceTemplate(&mcp.ResourceTemplate{Name: tool, URITemplate: name + "://" + tool + "/{id}"}, read)
	}
	return o
}

// opened permits the parts of server a with the name open.
const opened = `
permit(principal, action == Action::"call", resource == Tool::"a/open");
permit(principal, action == Action::"get", resource == Prompt::"a/open");
permit(principal, action in [Action::"read", Action::"subscribe", Action::"complete"], resource in Server::"a")
when { resource is Resource && resource has host && resource.host == "open" };
permit(principal, action == Action::"complete", resource == Prompt::"a/open");
`

// beside returns a guard that decides about the gateway of another one.
func beside(g *gateway.Gateway, o control.Options) *control.Control {
	c := control.New(&o)
	c.Attach(g)
	return c
}

// controlled returns a gateway with the servers a and b under a policy.
func controlled(t testing.TB, c control.Options, text string) (*gateway.Gateway, map[string]*office) {
	return controlledHost(t, c, text, host.Options{})
}

func controlledHost(
	t testing.TB, c control.Options, text string, h host.Options,
) (*gateway.Gateway, map[string]*office) {
	offices := map[string]*office{"a": newOffice("a"), "b": newOffice("b")}
	s := shelf{"a": offices["a"].Server, "b": offices["b"].Server}
	c.Activity = cmp.Or(c.Activity, activity.New()) // as "indus serve" has
	if text != "" {
		c.Policy = always(rules(t, text), false)
	}
	g := s.open(t, gateway.Options{Guard: control.New(&c), Host: h, Views: map[string]gateway.View{
		"all":     {},
		"part":    {Tools: []string{"*"}, Resources: []string{"*"}},
		"only":    {Servers: []string{"a"}, Tools: []string{"a__open"}, Resources: []string{"a__a://open/*"}},
		"catalog": {Expose: func(s toolbox.Source) toolbox.Source { return catalog.Over(s, nil) }},
	}}, "a", "b")
	for _, st := range g.Attached().Status() {
		_ = g.Attached().Fleet.Await(t.Context(), st.Server+"__open")
	}
	return g, offices
}

// Every list shows what the policy permits, and every door to the rest is closed: the answer is the answer for a part
// that does not exist, and the server does not learn of the request.
func TestListsAndCallsAreWhatThePolicyPermits(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		for _, path := range []string{"/mcp", "/mcp/a", "/mcp/@all", "/mcp/@part"} {
			t.Run(string(era)+path, func(t *testing.T) {
				t.Parallel()
				g, offices := controlled(t, control.Options{}, opened)
				c := dial(t, g, path, era)
				prefix := "a__"
				if path == "/mcp/a" {
					prefix = ""
				}
				checkLists(t, c, prefix)
				checkOpen(t, c, prefix)
				before := offices["a"].calls.Load() + offices["b"].calls.Load()
				checkSecret(t, c, prefix)
				if after := offices["a"].calls.Load() + offices["b"].calls.Load(); after != before {
					t.Errorf("%d requests reached a server that may not be asked", after-before)
				}
				if text := c.InitializeResult(); text != nil && strings.Contains(text.Instructions, "of b") {
					t.Errorf("the instructions of a server without permitted parts are shown: %q", text.Instructions)
				}
			})
		}
	}
}

func checkLists(t *testing.T, c *mcp.ClientSession, prefix string) {
	t.Helper()
	var got []string
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tools.Tools {
		got = append(got, x.Name)
	}
	prompts, err := c.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range prompts.Prompts {
		got = append(got, x.Name)
	}
	resources, err := c.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range resources.Resources {
		got = append(got, x.URI)
	}
	templates, err := c.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range templates.ResourceTemplates {
		got = append(got, x.URITemplate)
	}
	if want := []string{prefix + "open", prefix + "open", "a://open/x", "a://open/{id}"}; !slices.Equal(got, want) {
		t.Errorf("listed: %q, want %q", got, want)
	}
}

func checkOpen(t *testing.T, c *mcp.ClientSession, prefix string) {
	t.Helper()
	if r, err := c.CallTool(t.Context(), call(prefix+"open")); err != nil || r.IsError {
		t.Errorf("open: %v %v", answerText(r), err)
	}
	if _, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: prefix + "open"}); err != nil {
		t.Error(err)
	}
	for _, uri := range []string{"a://open/x", "a://open/other"} {
		if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err != nil {
			t.Error(err)
		}
	}
}

// checkSecret tries all doors to the parts that are not permitted.
func checkSecret(t *testing.T, c *mcp.ClientSession, prefix string) {
	t.Helper()
	same := func(what string, denied, missing error) {
		t.Helper()
		if denied == nil {
			t.Errorf("%s: it is not permitted, and was answered", what)
			return
		}
		x := strings.NewReplacer("secret", "NAME", "absent", "NAME").Replace(denied.Error())
		y := strings.NewReplacer("secret", "NAME", "absent", "NAME").Replace(missing.Error())
		if x != y {
			t.Errorf("%s: the answers show that it exists:\n%s\n%s", what, x, y)
		}
	}
	tool := func(name string) error {
		r, err := c.CallTool(t.Context(), call(prefix+name))
		if err == nil {
			err = errors.New(answerText(r))
		}
		return err
	}
	same("tools/call", tool("secret"), tool("absent"))
	prompt := func(name string) error {
		_, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: prefix + name})
		return err
	}
	same("prompts/get", prompt("secret"), prompt("absent"))
	read := func(uri string) error {
		_, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		return err
	}
	for _, uri := range []string{"a://secret/x", "a://SECRET/x", "A://secret/x", "a://open/../secret/x", "a://secre%74/x",
		"indus://a/a://secret/x", "b://open/x"} {
		if err := read(uri); err == nil {
			t.Errorf("%s was read", uri)
		}
	}
	same("resources/read", read("a://secret/x"), read("a://absent/x"))
	complete := func(ref *mcp.CompleteReference) error {
		_, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "id", Value: "x"}})
		return err
	}
	same("completion/complete", complete(&mcp.CompleteReference{Type: "ref/prompt", Name: prefix + "secret"}),
		complete(&mcp.CompleteReference{Type: "ref/prompt", Name: prefix + "absent"}))
	if err := complete(&mcp.CompleteReference{Type: "ref/resource", URI: "a://secret/{id}"}); err == nil {
		t.Error("a template that is not permitted was completed")
	}
	if c.InitializeResult().ProtocolVersion > "2026" { // a modern server leaves it out of the acknowledgement
		return
	}
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "a://secret/x"}); err == nil {
		t.Error("a resource that is not permitted was subscribed to")
	}
}

func call(name string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: name, Arguments: map[string]any{"path": "p"}}
}

func answerText(r *mcp.CallToolResult) string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// The four catalog tools find and run only what the policy permits.
func TestTheCatalogObeysThePolicy(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		g, offices := controlled(t, control.Options{}, opened)
		c := dial(t, g, "/mcp/@catalog", era)
		run := func(tool string, args map[string]any) string {
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
			if err != nil {
				return err.Error()
			}
			return answerText(r)
		}
		if found := run("search", map[string]any{"query": "secret open"}); strings.Contains(found, "secret") {
			t.Errorf("search shows %s", found)
		}
		if schema := run("schema", map[string]any{"operation": "a__secret"}); strings.Contains(schema, "path") {
			t.Errorf("schema shows %s", schema)
		}
		if text := run("call", map[string]any{"operation": "a__open", "input": map[string]any{"path": "p"}}); text != "a p" {
			t.Errorf("call: %s", text)
		}
		before := offices["a"].calls.Load()
		run("call", map[string]any{"operation": "a__secret", "input": map[string]any{"path": "p"}})
		run("batch", map[string]any{"calls": []any{
			map[string]any{"operation": "a__secret", "input": map[string]any{"path": "p"}},
			map[string]any{"operation": "b__open", "input": map[string]any{"path": "p"}},
		}})
		if n := offices["a"].calls.Load() + offices["b"].calls.Load() - before; n != 0 {
			t.Errorf("%d calls reached a tool that is not permitted", n)
		}
	}
}

// A policy may judge the arguments. The refusal says so, because the caller sees the tool.
func TestThePolicyJudgesArguments(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		g, _ := controlled(t, control.Options{}, `permit(principal, action == Action::"call", resource in Server::"a")
			when { context.args.path == "p" };`)
		c := dial(t, g, "/mcp", era)
		if r, err := c.CallTool(t.Context(), call("a__open")); err != nil || r.IsError {
			t.Errorf("%s: %v %v", era, answerText(r), err)
		}
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a__open", Arguments: map[string]any{"path": "q"}})
		if err != nil || !r.IsError || !strings.Contains(answerText(r), "the policy does not permit this with these arguments") {
			t.Errorf("%s: %v %v", era, answerText(r), err)
		}
	}
}

// A limit is for each caller and rule. The refusal states the time until the next call.
func TestALimitOfThePolicy(t *testing.T) {
	t.Parallel()
	g, offices := controlled(t, control.Options{}, `@rate("3/m") permit(principal, action == Action::"call", resource);`)
	c := dial(t, g, "/mcp", interop.Modern)
	for i := range 5 {
		r, err := c.CallTool(t.Context(), call("a__open"))
		if err != nil || r.IsError != (i >= 3) {
			t.Errorf("call %d: %s %v", i, answerText(r), err)
		}
		if i == 4 && !strings.Contains(answerText(r), "try again in") {
			t.Error(answerText(r))
		}
	}
	if n := offices["a"].calls.Load(); n != 3 {
		t.Errorf("%d calls reached the server, want 3", n)
	}
}

// A call that needs approval counts once, when it runs.
func TestALimitCountsAnApprovedCallOnce(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		book := approvals(t, t.TempDir()+"/approvals.json", time.Minute)
		g, offices := controlled(t, control.Options{Approvals: book},
			`@approve("caller") @rate("1/h") permit(principal, action == Action::"call", resource);`)
		var asked atomic.Int64
		c := dialWith(t, g, "/mcp", era, answering("accept", true, &asked))
		for n := range 2 {
			r, err := c.CallTool(t.Context(), call("a__open"))
			if err != nil || r.IsError != (n == 1) || offices["a"].calls.Load() != 1 {
				t.Errorf("%s, call %d: %s %v", era, n, answerText(r), err)
			}
		}
		if asked.Load() != 1 {
			t.Errorf("%s: asked %d times, want 1", era, asked.Load())
		}
	}
}

// approvals returns a book in a file.
func approvals(t testing.TB, file string, expire time.Duration) *approval.Book {
	t.Helper()
	book, err := approval.Open(file, &approval.Options{Expire: expire, Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return book
}

// answering returns a client that answers each question with the action and the choice.
func answering(action string, choice any, asked *atomic.Int64) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked.Add(1)
			if !strings.Contains(r.Params.Message, "Allow this call?") {
				return nil, fmt.Errorf("the question is %q", r.Params.Message)
			}
			return &mcp.ElicitResult{Action: action, Content: map[string]any{"approve": choice}}, nil
		},
	}
}

// The caller is asked in the protocol, in both eras, and its answer counts for this one call.
func TestACallerApprovesItsCall(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		for _, test := range []struct {
			action string
			choice any
			text   string // of a refusal
		}{
			{"accept", true, ""},
			{"accept", false, "the client of the caller denied this call"},
			{"accept", "true", "waits for approval"}, // no decision
			{"decline", nil, "the client of the caller denied this call"},
			{"cancel", nil, "waits for approval"},
		} {
			t.Run(fmt.Sprint(era, " ", test.action, " ", test.choice), func(t *testing.T) {
				t.Parallel()
				book := approvals(t, t.TempDir()+"/approvals.json", time.Minute)
				g, offices := controlled(t, control.Options{Approvals: book},
					`@approve("caller") permit(principal, action == Action::"call", resource);`)
				var asked atomic.Int64
				c := dialWith(t, g, "/mcp", era, answering(test.action, test.choice, &asked))
				for n := range 2 {
					r, err := c.CallTool(t.Context(), call("a__open"))
					switch {
					case err != nil && test.choice == "true" && era == interop.Modern: // the SDK does not send it
					case err != nil:
						t.Fatal(err)
					case test.text == "" && (r.IsError || offices["a"].calls.Load() != int64(n+1)):
						t.Errorf("call %d: %s", n, answerText(r))
					case !strings.Contains(answerText(r), test.text):
						t.Errorf("call %d: %s, want %s", n, answerText(r), test.text)
					}
				}
				want := int64(2) // an answer that decides nothing is not asked for again in the same call
				if strings.Contains(test.text, "denied") {
					want = 1
				}
				if asked.Load() != want {
					t.Errorf("asked %d times for two calls, want %d", asked.Load(), want)
				}
				if n := offices["a"].calls.Load(); test.text != "" && n != 0 {
					t.Errorf("%d calls ran without approval", n)
				}
			})
		}
	}
}

// The question shows characters of the arguments that are not drawn, and states that a part is missing.
func TestAQuestionHidesNothing(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		g, _ := controlled(t, control.Options{Approvals: approvals(t, t.TempDir()+"/approvals.json", time.Minute)},
			`@approve("caller") permit(principal, action == Action::"call", resource);`)
		var question string
		c := dialWith(t, g, "/mcp", era, &mcp.ClientOptions{
			ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				question = r.Params.Message
				return &mcp.ElicitResult{Action: "cancel"}, nil
			},
		})
		for path, want := range map[string]string{
			"a\u202eb\u200bc\U000e0041": `"a\u202eb\u200bc\udb40\udc41"`, strings.Repeat("x ", 2100): "… (a part of 4211 bytes)",
			strings.Repeat("y", 9000): "… (a part of 9011 bytes)",
		} {
			params := &mcp.CallToolParams{Name: "a__open", Arguments: map[string]any{"path": path}}
			if _, err := c.CallTool(t.Context(), params); err != nil || !strings.Contains(question, want) {
				t.Errorf("%s: the question has no %s: %.5000s, %v", era, want, question, err)
			}
		}
	}
}

// In a cluster, a caller answers a question although the clock of this machine differs by more than the question lasts.
func TestACallerApprovesWithAnotherClock(t *testing.T) {
	t.Parallel()
	for _, behind := range []time.Duration{time.Hour, -time.Hour} {
		for _, era := range bothEras {
			t.Run(fmt.Sprint(era, behind), func(t *testing.T) {
				t.Parallel()
				book, err := approval.Open(t.TempDir()+"/approvals.json", &approval.Options{
					Now: func() time.Time { return time.Now().Add(-behind) }, // of the cluster
				})
				if err != nil {
					t.Fatal(err)
				}
				g, _ := controlled(t, control.Options{Approvals: book},
					`@approve("caller") permit(principal, action == Action::"call", resource);`)
				var asked atomic.Int64
				r, err := dialWith(t, g, "/mcp", era, answering("accept", true, &asked)).CallTool(t.Context(), call("a__open"))
				if err != nil || r.IsError || asked.Load() != 1 {
					t.Errorf("asked %d times: %v, %v", asked.Load(), r, err)
				}
			})
		}
	}
}

// A client that cannot be asked gets the id of the approval: it has no elicitation, or it called another tool.
func TestAClientThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		g, offices := controlled(t, control.Options{Approvals: approvals(t, t.TempDir()+"/approvals.json", time.Minute)},
			`@approve("caller") permit(principal, action == Action::"call", resource);`)
		r, err := dial(t, g, "/mcp", era).CallTool(t.Context(), call("a__open"))
		if err != nil || !strings.Contains(answerText(r), "waits for approval") {
			t.Errorf("%s, without elicitation: %s %v", era, answerText(r), err)
		}
		if era == interop.Modern {
			var asked atomic.Int64
			c := dialWith(t, g, "/mcp/@catalog", era, answering("accept", true, &asked))
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "call", Arguments: map[string]any{
				"operation": "a__open", "input": map[string]any{"path": "p"},
			}})
			if err != nil || !strings.Contains(answerText(r), "waits for approval") || asked.Load() != 0 {
				t.Errorf("in another tool: %s %v, asked %d times", answerText(r), err, asked.Load())
			}
		}
		if n := offices["a"].calls.Load(); n != 0 {
			t.Errorf("%s: %d calls ran without approval", era, n)
		}
	}
}

// Where another person has to approve, the caller's client is not asked, and cannot answer. The identical request spends
// the grant, also after a restart of the gateway; every other one needs its own.
func TestAnotherPersonApproves(t *testing.T) {
	t.Parallel()
	const text = `@approve("other") permit(principal, action == Action::"call", resource);`
	for _, era := range bothEras {
		file := t.TempDir() + "/approvals.json"
		book := approvals(t, file, time.Minute)
		g, offices := controlled(t, control.Options{Approvals: book}, text)
		var asked atomic.Int64
		c := dialWith(t, g, "/mcp", era, answering("accept", true, &asked))
		try := func(c *mcp.ClientSession, tool, path string) string {
			t.Helper()
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"path": path}})
			if err != nil {
				t.Fatal(err)
			}
			return answerText(r)
		}
		if got := try(c, "a__open", "p"); !strings.Contains(got, "waits for approval") || asked.Load() != 0 {
			t.Fatalf("%s: %s, asked %d times", era, got, asked.Load())
		}
		waiting, err := book.List(t.Context(), nil)
		if err != nil || len(waiting) != 1 {
			t.Fatal(waiting, err)
		}
		id := waiting[0].ID
		if _, err := book.Decide(t.Context(), id, approval.Decision{Allow: true, Channel: approval.ByCaller}); err == nil {
			t.Error("the caller's client approved")
		}
		if _, err := book.Decide(t.Context(), id, approval.Decision{Allow: true, Channel: approval.ByOperator}); err != nil {
			t.Fatal(err)
		}
		for _, other := range [][2]string{{"a__open", "q"}, {"a__secret", "p"}, {"b__open", "p"}} {
			if got := try(c, other[0], other[1]); !strings.Contains(got, "waits for approval") {
				t.Errorf("%s: %v: %s", era, other, got)
			}
		}
		if got := try(dial(t, g, "/mcp/@all", era), "a__open", "p"); !strings.Contains(got, "waits for approval") {
			t.Errorf("%s: the grant counts on another view: %s", era, got)
		}
		if n := offices["a"].calls.Load() + offices["b"].calls.Load(); n != 0 {
			t.Fatalf("%s: %d calls ran without approval", era, n)
		}
		again, offices := controlled(t, control.Options{Approvals: approvals(t, file, time.Minute)}, text)
		c = dial(t, again, "/mcp", era)
		if got := try(c, "a__open", "p"); got != "a p" {
			t.Errorf("%s: after a restart: %s", era, got)
		}
		if got := try(c, "a__open", "p"); !strings.Contains(got, "waits for approval") || offices["a"].calls.Load() != 1 {
			t.Errorf("%s: the grant was used twice: %s", era, got)
		}
	}
}

// A grant is for one definition of the tool. If the tool changed since it was accepted, the approver sees the difference.
func TestAGrantIsForOneDefinition(t *testing.T) {
	t.Parallel()
	book := approvals(t, t.TempDir()+"/approvals.json", time.Minute)
	changes := func(_ context.Context, server, tool string) string { return server + "/" + tool + " has another text" }
	mask := func(json.RawMessage) json.RawMessage { return json.RawMessage(`{"path":"masked"}`) }
	g, offices := controlled(t, control.Options{Approvals: book, Changes: changes, Mask: mask},
		`@approve("other") permit(principal, action == Action::"call", resource);`)
	c := dial(t, g, "/mcp", interop.Legacy)
	if _, err := c.CallTool(t.Context(), call("a__open")); err != nil {
		t.Fatal(err)
	}
	waiting, _ := book.List(t.Context(), nil)
	if _, err := book.Decide(t.Context(), waiting[0].ID, approval.Decision{Allow: true, Channel: approval.ByOperator}); err != nil {
		t.Fatal(err)
	}
	offices["a"].AddTool(&mcp.Tool{Name: "open", Description: "Another.", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			t.Error("the tool ran with another definition")
			return &mcp.CallToolResult{}, nil
		})
	for !g.ToolItem("a", "open").Changed {
		time.Sleep(10 * time.Millisecond)
	}
	for _, tool := range []string{"a__open", "a__secret"} {
		r, err := c.CallTool(t.Context(), call(tool))
		if err != nil || !strings.Contains(answerText(r), "waits for approval") {
			t.Error(answerText(r), err)
		}
	}
	waiting, _ = book.List(t.Context(), nil)
	if len(waiting) != 2 || waiting[0].Changed != "a/open has another text" || waiting[0].Description != "Another." ||
		waiting[1].Changed != "" || string(waiting[1].Shown) != `{"path":"masked"}` {
		t.Errorf("the approver sees %+v", waiting)
	}
}

// While a client is asked, minutes may pass. Then the policy and the definition of the tool count as they are when it
// answers.
func TestAnAnswerIsForTheRulesAndTheToolOfNow(t *testing.T) {
	t.Parallel()
	asks := `@approve("caller") permit(principal, action == Action::"call", resource);`
	for name, test := range map[string]struct {
		rules   string // while the client is asked
		changes bool   // the tool changes meanwhile
		want    string // in the answer
		asked   int    // how often, at least
	}{
		"as it was":        {asks, false, "", 1},
		"declined":         {`permit(principal, action, resource);`, false, "denied this call", 1},
		"forbidden":        {`forbid(principal, action, resource);`, false, "no tool named", 1},
		"with an argument": {asks + `forbid(principal, action == Action::"call", resource) when { context.args.path == "p" };`, false, "does not permit", 1},
		"another person":   {`@approve("other") permit(principal, action == Action::"call", resource);`, false, "waits for approval", 1},
		"another tool":     {asks, true, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book := approvals(t, t.TempDir()+"/approvals.json", time.Minute)
			var set atomic.Pointer[policy.Set]
			set.Store(rules(t, asks).Current())
			later := rules(t, test.rules).Current()
			g, offices := controlled(t, control.Options{
				Approvals: book, Policy: func() (*policy.Set, bool) { return set.Load(), false },
				Changes: func(context.Context, string, string) string { return "another\ntext" },
			}, "")
			asked := 0
			c := dialWith(t, g, "/mcp", interop.Legacy, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if asked++; asked > 1 {
						if m := r.Params.Message; test.changes && (!strings.Contains(m, "\nits server describes it: ") ||
							!strings.Contains(m, "\nit has changed since it was accepted:\nanother\ntext\narguments: ")) {
							t.Errorf("the question is %q", m)
						}
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
					}
					set.Store(later)
					for n := 0; test.changes && !g.ToolItem("a", "open").Changed; n++ { // a server may begin to announce late
						offices["a"].AddTool(
							&mcp.Tool{Name: "open", Description: fmt.Sprint(n), InputSchema: map[string]any{"type": "object"}},
							func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
								return &mcp.CallToolResult{}, nil
							})
						time.Sleep(100 * time.Millisecond)
					}
					if name == "declined" {
						return &mcp.ElicitResult{Action: "decline"}, nil
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
				},
			})
			r, err := c.CallTool(t.Context(), call("a__open"))
			text := ""
			switch {
			case err != nil:
				text = err.Error()
			case r.IsError:
				text = answerText(r)
			}
			ran := offices["a"].calls.Load() == 1 || test.changes && text == ""
			if !strings.Contains(text, test.want) || ran != (test.want == "") || asked < test.asked {
				t.Errorf("%q, ran %v, asked %d times", text, ran, asked)
			}
		})
	}
}

// If tools of two servers have the same name, the policy sees each with the annotations of its own server.
func TestClaimsAreOfTheServer(t *testing.T) {
	t.Parallel()
	s, claims := shelf{}, map[string]bool{"a": true, "b": false}
	for id, destructive := range claims {
		s[id] = mcp.NewServer(&mcp.Implementation{Name: id, Version: "1"}, nil)
		s[id].AddTool(&mcp.Tool{
			Name: "t", InputSchema: map[string]any{"type": "object"},
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive},
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
	g := s.open(t, gateway.Options{}, "a", "b")
	for id, want := range claims {
		it := beside(g, control.Options{}).PolicyItem(id, "t")
		if got := it.Claims.Destructive; it.Server != id || got == nil || *got != want {
			t.Errorf("the tool of %s is %+v, want destructive: %v", id, it, want)
		}
	}
}

// A policy that changes is followed by the lists of clients that are connected.
func TestClientsAreToldThatThePolicyChanged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.cedar")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(opened)
	engine, err := policy.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := controlled(t, control.Options{Policy: always(engine, false)}, "")
	changed := make(chan struct{}, 100)
	c := dialWith(t, g, "/mcp", interop.Legacy, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	checkLists(t, c, "a__")
	write(`permit(principal, action, resource);`)
	if _, err := engine.Reload(); err != nil {
		t.Fatal(err)
	}
	g.ListsChanged()
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Fatal("the client was not notified")
	}
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 4 {
		t.Errorf("%v %v", tools, err)
	}
}

// What only reports decides nothing.
func TestAPolicyThatOnlyReports(t *testing.T) {
	t.Parallel()
	g, _ := controlled(t, control.Options{Policy: always(rules(t, opened), true)}, "")
	c := dial(t, g, "/mcp", interop.Modern)
	r, err := c.CallTool(t.Context(), call("b__secret"))
	if err != nil || r.IsError {
		t.Error(answerText(r), err)
	}
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 4 {
		t.Errorf("%v %v", tools, err)
	}
}
