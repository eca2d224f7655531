package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// following opens a subscriptions/listen for a principal and returns its messages.
func following(t *testing.T, web *httptest.Server, who, capabilities, id string) <-chan string {
	t.Helper()
	params := fmt.Sprintf(`{"notifications":{"taskIds":[%q]},"_meta":{"%s":"2026-07-28","%s":%s}}`, id, protocol.MetaVersion, protocol.MetaClientCaps, capabilities)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":`+params+`}`))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"Authorization": who, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
		r.Header.Set(key, value)
	}
	modernHeaders(r, "subscriptions/listen", params)
	resp, err := web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	messages := make(chan string, 10)
	go func() {
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if text := strings.TrimPrefix(lines.Text(), "data: "); strings.HasPrefix(text, "{") {
				messages <- text
			}
		}
		close(messages)
	}()
	return messages
}

// The owner of a task is notified of its states under its own id. No other principal is.
func TestTasksAreFollowed(t *testing.T) {
	t.Parallel()
	steps := make(chan string)
	defer close(steps)
	s := &raw{answers: map[string]string{
		"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"public"}`,
		"tools/list":      `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"public"}`,
		"tools/call":      `{"resultType":"task","taskId":"T-1","status":"working"}`,
		"tasks/get":       `{"resultType":"complete","taskId":"T-1","status":"completed","result":{"content":[]}}`,
	}}
	s.streams = func(c mcp.Connection, r *jsonrpc.Request) {
		id, _ := json.Marshal(r.ID.Raw())
		note := func(method, members string) {
			_ = c.Write(context.Background(), &jsonrpc.Request{Method: method, Params: fmt.Appendf(nil, `{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},%s}`, id, members)})
		}
		if !strings.Contains(string(r.Params), "taskIds") {
			note(protocol.NoteAcknowledged, `"notifications":{}`)
			return
		}
		note(protocol.NoteAcknowledged, `"notifications":{"taskIds":["T-1"]}`)
		go func() {
			for step := range steps {
				if step == "" { // the subscription ends
					_ = c.Write(context.Background(), &jsonrpc.Response{ID: r.ID, Result: json.RawMessage(`{"resultType":"complete"}`)})
					return
				}
				note("notifications/tasks", step)
			}
		}()
	}
	web := s.gateway(t, "jobs", interop.Modern, gateway.Options{})
	created, failed := post(t, web, "ann", takesTasks, "tools/call", `{"name":"jobs__t","arguments":{}}`)
	if failed != nil {
		t.Fatal(failed)
	}
	id, _ := protocol.LookupString(created, "taskId")
	want := func(from <-chan string, parts ...string) {
		t.Helper()
		got := <-from
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s lacks %s", got, part)
			}
		}
		if strings.Contains(got, "T-1") || strings.Contains(got, "T-2") {
			t.Errorf("the server's own id: %s", got)
		}
	}
	want(following(t, web, "ann", `{}`, id), `"code":-32021`, `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)
	want(following(t, web, "bob", takesTasks, id), protocol.NoteAcknowledged, `"notifications":{}`)
	ann := following(t, web, "ann", takesTasks, id)
	want(ann, protocol.NoteAcknowledged, `"notifications":{"taskIds":["`+id+`"]}`)
	steps <- `"taskId":"T-2","status":"working"` // not requested
	steps <- `"taskId":"T-1","status":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"who?"}}}`
	want(ann, `"notifications/tasks"`, `"taskId":"`+id+`"`, `"input_required"`, `[jobs] who?`, `"io.modelcontextprotocol/subscriptionId":"L"`)
	steps <- "" // after the connection returns, the state is read
	want(ann, `"notifications/tasks"`, `"taskId":"`+id+`"`, `"completed"`)
}
