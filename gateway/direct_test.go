package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// visiting describes a program that calls tools directly, as a page does.
func visiting() *interop.Client { return &interop.Client{Name: "a page", Address: "127.0.0.1"} }

// Drain waits for calls through the program itself, and takes no further ones. A call that does not end in time ends with
// the gateway.
func TestDrainWaitsForDirectCalls(t *testing.T) {
	t.Parallel()
	began, release := make(chan bool), make(chan bool)
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		began <- true
		select {
		case <-release:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "slowly"}}}, nil, nil
	})
	g, _ := watched(t, shelf{"s": s}, gateway.Options{}, "s__slow")
	results, failures := make(chan string, 2), make(chan error, 2)
	try := func() {
		r, err := g.Call(t.Context(), "", visiting(), "s__slow", json.RawMessage(`{}`))
		results <- string(r)
		failures <- err
	}
	for range 2 {
		go try()
		<-began
	}
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Drain(short); err == nil {
		t.Error("Drain did not wait")
	}
	if _, err := g.Call(t.Context(), "", visiting(), "s__slow", json.RawMessage(`{}`)); err == nil ||
		!strings.Contains(err.Error(), "takes no new calls") {
		t.Error(err)
	}
	release <- true
	if r, err := <-results, <-failures; err != nil || !strings.Contains(r, "slowly") {
		t.Error(r, err)
	}
	g.Close()
	if err := <-failures; err == nil || !strings.Contains(err.Error(), "is not known") {
		t.Error(err)
	}
	if err := g.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}

// principalOf returns the principal of an identity. Nil is the local user.
func principalOf(id *identity.Identity) toolbox.Principal {
	if id == nil {
		return ""
	}
	return id.Principal
}

// A call through the program itself takes the way of a client's call: policy, approval and records.
func TestADirectCallIsAdmitted(t *testing.T) {
	t.Parallel()
	log, read := recorded(t)
	book := approvals(t, t.TempDir()+"/approvals.json", time.Minute)
	g, offices := controlled(t, control.Options{Audit: log, Approvals: book}, `
		permit(principal in Group::"dev", action == Action::"call", resource == Tool::"a/open");
		@approve("other") permit(principal in Group::"dev", action == Action::"call", resource == Tool::"b/open");`)
	dev := &identity.Identity{Principal: "user:alice", Groups: []string{"dev"}}
	names := func(id *identity.Identity) (all []string) {
		for _, d := range g.Tools(identity.NewContext(t.Context(), id), principalOf(id), visiting()).Tools {
			all = append(all, d.Name)
		}
		return all
	}
	if got := names(dev); !slices.Equal(got, []string{"a__open", "b__open"}) {
		t.Errorf("a member sees %q", got)
	}
	if got := names(nil); got != nil {
		t.Errorf("the local user sees %q", got)
	}
	try := func(id *identity.Identity, name string) (string, error) {
		t.Helper()
		r, err := g.Call(identity.NewContext(t.Context(), id), principalOf(id), visiting(), name, json.RawMessage(`{"path":"p"}`))
		return string(r), err
	}
	if got, err := try(dev, "a__open"); err != nil || !strings.Contains(got, `"a p"`) {
		t.Errorf("%s, %v", got, err)
	}
	for _, refused := range []struct {
		id   *identity.Identity
		name string
	}{{dev, "a__secret"}, {nil, "a__open"}, {&identity.Identity{Principal: "user:bob"}, "a__open"}, {dev, "none"}} {
		if got, err := try(refused.id, refused.name); err == nil {
			t.Errorf("%+v: %s", refused, got)
		}
	}
	if got, err := try(dev, "b__open"); err != nil || !strings.Contains(got, "waits for approval") {
		t.Errorf("%s, %v", got, err)
	}
	waiting, err := book.List(t.Context(), nil)
	if err != nil || len(waiting) != 1 || waiting[0].Principal != "user:alice" || waiting[0].Client != "a page" {
		t.Fatal(waiting, err)
	}
	allow := approval.Decision{Allow: true, Channel: approval.ByOperator}
	if _, err := book.Decide(t.Context(), waiting[0].ID, allow); err != nil {
		t.Fatal(err)
	}
	if got, err := try(dev, "b__open"); err != nil || !strings.Contains(got, `"b p"`) {
		t.Errorf("%s, %v", got, err)
	}
	if a, b := offices["a"].calls.Load(), offices["b"].calls.Load(); a != 1 || b != 1 {
		t.Errorf("%d and %d calls ran", a, b)
	}
	var outcomes []audit.Outcome
	for _, r := range read() {
		outcomes = append(outcomes, r.Outcome)
		if r.Client != "a page" || r.Address != "127.0.0.1" || r.View != "" || r.Method != "tools/call" {
			t.Errorf("%+v", r)
		}
	}
	if want := []audit.Outcome{"allowed", "denied", "denied", "denied", "error", "deferred", "allowed"}; !slices.Equal(
		outcomes, want) {
		t.Errorf("recorded %v, want %v", outcomes, want)
	}
	if _, err := g.Call(identity.NewContext(t.Context(), dev), dev.Principal, visiting(), "a__open", json.RawMessage(`[]`)); err == nil {
		t.Error("arguments that are no object were sent")
	}
}

// Behind the catalog, all tools can be called directly. A server's question reaches the caller.
func TestADirectCallReachesEveryTool(t *testing.T) {
	t.Parallel()
	asking := mcp.NewServer(&mcp.Implementation{Name: "ask", Version: "1"}, nil)
	mcp.AddTool(asking, &mcp.Tool{Name: "ask"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Really?"})
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Action}}}, nil, nil
		})
	local := toolbox.NewRegistry(nil)
	local.Add(toolbox.Define("own", "", func(context.Context, struct{}) (string, error) { return "mine", nil }))
	g := shelf{"a": asking}.open(t, gateway.Options{Local: local, Expose: func(s toolbox.Source) toolbox.Source {
		return catalog.Over(s, nil)
	}}, "a")
	if err := g.Attached().Fleet.Await(t.Context(), "a__ask"); err != nil {
		t.Fatal(err)
	}
	c := visiting()
	c.Capabilities = json.RawMessage(`{"elicitation":{}}`)
	var asked string
	c.Back = func(_ context.Context, m interop.Message) (json.RawMessage, error) {
		asked = m.Server + " " + m.Method
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	r, err := g.Call(t.Context(), "", c, "a__ask", json.RawMessage(`{}`))
	if err != nil || !strings.Contains(string(r), `"decline"`) || asked != "a elicitation/create" {
		t.Errorf("%s, %v, asked %q", r, err, asked)
	}
	r, err = g.Call(t.Context(), "", c, "own", json.RawMessage(`{}`))
	if err != nil || !strings.Contains(string(r), "mine") {
		t.Errorf("%s, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Call(ctx, "", c, "a__ask", json.RawMessage(`{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	g.Close()
	if _, err := g.Call(t.Context(), "", c, "own", json.RawMessage(`{}`)); err == nil {
		t.Error("a closed gateway ran a call")
	}
}
