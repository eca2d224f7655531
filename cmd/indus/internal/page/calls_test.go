package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// evil is text that must not become markup.
const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>`

// connect connects a client over HTTP.
func connect(t *testing.T, s *served) *mcp.ClientSession {
	t.Helper()
	web := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(web.CloseIdleConnections)
	c, err := mcp.NewClient(&mcp.Implementation{Name: "c" + evil, Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: web}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// decode reads the JSON of a section.
func decode[T any](t *testing.T, b *tab, path string) (out T) {
	t.Helper()
	status, text := b.json(path)
	if status != http.StatusOK {
		t.Fatal(path, status, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(path, err, text)
	}
	return out
}

func TestCallsAndUsage(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	began := make(chan bool, 1)
	type input struct {
		Wait bool `json:"wait,omitempty"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "work"}, func(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		if in.Wait {
			began <- true
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	s := serving{servers: map[string]*mcp.Server{"s": server}}.start(t)
	c, b := connect(t, s), s.operator(t)
	for range 3 {
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "s__work"}); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{Name: evil})
	failed := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "s__work", Arguments: map[string]any{"wait": true}})
		failed <- err
	}()
	<-began
	type calls struct {
		InFlight, Recent []struct {
			ID                            json.Number
			Server, Name, Outcome, Client string
		}
	}
	all := decode[calls](t, b, "/calls")
	if len(all.InFlight) != 1 || all.InFlight[0].Name != "work" || all.InFlight[0].Server != "s" {
		t.Fatalf("%+v", all.InFlight)
	}
	if found := decode[calls](t, b, "/calls?q=work&outcome=allowed").Recent; len(found) != 3 {
		t.Errorf("%+v", found)
	}
	_, text := b.get("/calls")
	if strings.Contains(text, "<script>alert") || strings.Contains(text, "<img src=x") || !strings.Contains(text, "&lt;script&gt;") {
		t.Error("hostile names are markup:", text)
	}
	id := all.InFlight[0].ID.String()
	if status, _ := b.send(http.MethodPost, "/calls/cancel", url.Values{"id": {id}}, "Origin: https://evil.example",
		"Sec-Fetch-Site: cross-site"); status != http.StatusForbidden {
		t.Error("another site cancels a call:", status)
	}
	status, text := b.post("/calls/cancel", url.Values{"id": {id}, "return": {"q=work"}})
	if status != http.StatusOK || !strings.Contains(text, "the request is cancelled") {
		t.Error(status, text)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "an operator") {
		t.Error(err)
	}
	status, text = b.post("/calls/cancel", url.Values{"id": {id}})
	if status != http.StatusOK || !strings.Contains(text, "not in flight any more") {
		t.Error(status, text)
	}
	type usages struct {
		Tools []struct {
			Server, Name     string
			Requests, Errors int
		}
		Plot []struct{ Requests int }
	}
	u := decode[usages](t, b, "/usage?hours=6")
	if len(u.Tools) != 1 || u.Tools[0].Requests != 4 || u.Tools[0].Errors != 1 || len(u.Plot) != 60 || u.Plot[59].Requests+u.Plot[58].Requests == 0 {
		t.Errorf("%+v", u)
	}
	if status, text := b.get("/usage"); status != http.StatusOK || !strings.Contains(text, "<svg") {
		t.Error(status, text)
	}
}

// Each call of a batch in flight has a row, and one button cancels them all. Ended calls have their tokens.
func TestABatchHasARowForEachCall(t *testing.T) {
	began := make(chan bool, 2)
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	for _, name := range []string{"first", "second"} {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			began <- true
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
	}
	mcp.AddTool(server, &mcp.Tool{Name: "brief"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("word ", 100)}}}, nil, nil
	})
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": server}, catalog: true})
	operation := func(name string) any { return map[string]any{"operation": "s__" + name, "input": map[string]any{}} }
	batch := func(calls ...any) string { return d.call("", "batch", map[string]any{"calls": calls}) }
	batch(operation("brief"))
	answer := make(chan string, 1)
	go func() { answer <- batch(operation("first"), operation("second")) }()
	<-began
	<-began
	var got struct {
		InFlight []struct {
			ID   uint64
			Name string
		}
		Recent []struct {
			Name             string
			Tokens, BytesOut int
		}
	}
	d.show("/calls", &got)
	if n := got.InFlight; len(n) != 2 || n[0].ID != n[1].ID || n[0].Name == n[1].Name {
		t.Errorf("%+v", n)
	}
	if r := got.Recent; len(r) == 0 || r[0].Name != "brief" || r[0].Tokens < 100 || r[0].Tokens != r[0].BytesOut/4 {
		t.Errorf("%+v", r)
	}
	b := d.browse()
	text := b.open("/calls")
	wants(t, text, "in the same request as the call above", ">Tokens</th>")
	if n := strings.Count(text, ">Cancel</button>"); n != 1 {
		t.Error(n, "buttons")
	}
	b.submit("/calls/cancel", "id", fmt.Sprint(got.InFlight[0].ID))
	if text := <-answer; !strings.Contains(text, "an operator has cancelled") {
		t.Error(text)
	}
}

func TestServers(t *testing.T) {
	server := func(tool string) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		s.AddTool(&mcp.Tool{Name: tool, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		return s
	}
	read := &mcpconfig.Config{}
	for _, id := range []string{"a", "b", "off"} {
		row := mcpconfig.Row{Server: config.Server{ID: id}, Target: evil, File: "f.json", Line: 1, State: mcpconfig.Active}
		if id == "off" {
			row.State, row.Reason = mcpconfig.Disabled, "it is switched off"
		}
		read.Rows = append(read.Rows, row)
	}
	s := serving{servers: map[string]*mcp.Server{"a": server("one"), "b": server("two")}, config: read}.start(t)
	b := s.operator(t)
	type list struct {
		Servers []struct {
			ID, State, Phase string
			Tools            int
		}
		Total int
	}
	all := decode[list](t, b, "/servers")
	if all.Total != 3 || len(all.Servers) != 3 || all.Servers[0].Phase != "ready" || all.Servers[0].Tools != 1 ||
		all.Servers[2].State != "disabled" || all.Servers[2].Phase != "" {
		t.Errorf("%+v", all)
	}
	if found := decode[list](t, b, "/servers?q=off"); len(found.Servers) != 1 {
		t.Errorf("%+v", found)
	}
	_, text := b.get("/servers")
	if strings.Contains(text, "<script>alert") || !strings.Contains(text, "&lt;script&gt;") {
		t.Error(text)
	}
	events := make(chan interop.Event, 100)
	defer s.gateway.Attached().Fleet.Events(func(e interop.Event) { events <- e })()
	if status, text := b.post("/servers/restart", url.Values{"server": {"a"}}); status != http.StatusOK ||
		!strings.Contains(text, "a is being restarted") {
		t.Error(status, text)
	}
	for late := time.After(time.Minute); ; {
		select {
		case e := <-events:
			if e.Server == "b" {
				t.Error("b is concerned:", e)
			}
			if e.Kind != interop.ServerReady {
				continue
			}
		case <-late:
			t.Error("a did not come back")
		}
		break
	}
	status, text := b.send(http.MethodPost, "/servers/restart", url.Values{"server": {"none" + evil}}, "Origin: "+s.url,
		"Accept: application/json")
	if status != http.StatusUnprocessableEntity || !strings.Contains(text, "error") {
		t.Error(status, text)
	}
}

// A call that waits leads to its approval and its record, each leads back, and all have the same call.
func TestACallLeadsToItsRecordAndApproval(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{
		audit: true, servers: map[string]*mcp.Server{"s": newEcho(&mcp.Tool{Name: "one"}).Server}, policy: `
permit(principal, action, resource);
@approve("other") permit(principal, action == Action::"call", resource == Tool::"s/one");`,
	})
	d.call("", "s__one", map[string]any{"text": "a"})
	d.call("", "s__one", map[string]any{"text": "b"})
	var calls struct {
		Recent []struct{ Method, Approval, Record, Name string }
	}
	d.show("/calls?outcome=deferred", &calls)
	if len(calls.Recent) != 2 {
		t.Fatalf("%+v", calls)
	}
	b := d.browse()
	for _, call := range calls.Recent {
		var record auditJSON
		d.show("/audit?record="+call.Record, &record)
		if len(record.Records) != 1 || record.Next != 0 || call.Approval == "" ||
			record.Records[0].Extensions.Indus.Approval != call.Approval {
			t.Errorf("%+v of %+v", record, call)
		}
		var waits struct{ Waiting, Past []struct{ ID, Tool string } }
		d.show("/approvals?id="+strings.ToLower(call.Approval), &waits)
		if len(waits.Waiting) != 1 || waits.Waiting[0].ID != call.Approval || len(waits.Past) != 0 {
			t.Errorf("%+v of %+v", waits, call)
		}
		for _, q := range []string{call.Record, call.Approval} {
			again := calls
			again.Recent = nil
			d.show("/calls?q="+q, &again)
			if len(again.Recent) != 1 || again.Recent[0] != call {
				t.Errorf("%s: %+v", q, again)
			}
		}
		wants(t, b.open("/approvals?id="+call.Approval), "/calls?q="+call.Approval, "/audit?approval="+call.Approval)
		wants(t, b.open("/audit?approval="+call.Approval), "/approvals?id="+call.Approval, "/calls?q="+call.Record)
	}
	var none auditJSON
	d.show("/audit?record=01ARZ3NDEKTSV4RRFFQ69G5FAV", &none)
	if len(none.Records) != 0 || none.Next != 0 {
		t.Errorf("%+v", none)
	}
}
