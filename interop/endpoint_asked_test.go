package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

func TestEndpointAnswersPings(t *testing.T) {
	r := openFixture(t, nil, "-era", "legacy", "-pings", "10ms")
	if got := r.WaitN("pong", 3); got != "pong {}" {
		t.Error(got)
	}
}

func TestEndpointAnswersWhatServersAsk(t *testing.T) {
	const refused = `{"code":-32601,"message":"method not found: elicitation/create"}`
	for name, c := range map[string]struct {
		result json.RawMessage
		err    error
		want   string
	}{
		"a result":         {json.RawMessage("{\"action\":\n\"decline\"}"), nil, `{"action": "decline"}`},
		"an error":         {nil, &interop.RPCError{Code: -1, Message: "no", Data: json.RawMessage(`[1.0]`)}, `{"code":-1,"message":"no","data":[1.0]}`},
		"any error":        {nil, errors.New("busy"), `{"code":-32603,"message":"busy"}`},
		"neither":          {nil, nil, refused},
		"no JSON":          {json.RawMessage("{\n"), nil, `{"code":-32603,"message":"the client's answer is not valid JSON"}`},
		"nobody to answer": {nil, nil, refused},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			opts := &interop.EndpointOptions{Receive: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
				asked = append(asked, string(m.ID), m.Method, string(m.Era), string(m.Params))
				return c.result, c.err
			}}
			if name == "nobody to answer" {
				opts = nil
			}
			r := openFixture(t, opts, "-era", "legacy", "-no-list-changed")
			if got := r.invoke("ask", ""); got != c.want {
				t.Errorf("the server got %s, want %s", got, c.want)
			}
			want := []string{`"elicitation/create-1"`, "elicitation/create", "legacy",
				`{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`}
			if diff := cmp.Diff(want, asked); opts != nil && diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// The silence deadline of a call is paused while the server itself waits.
func TestACallWaitsForAnAnswerToItsServer(t *testing.T) {
	t.Parallel()
	const silence = 50 * time.Millisecond
	opts := &interop.EndpointOptions{Receive: func(ctx context.Context, _ interop.Message) (json.RawMessage, error) {
		select {
		case <-time.After(5 * silence): // a person
		case <-ctx.Done():
		}
		return json.RawMessage(`{"action":"accept"}`), nil
	}}
	r := onFixture(t, opts, config.Timeouts{Call: silence}, "-era", "legacy", "-no-list-changed")
	mustOpen(t, r.Endpoint)
	r.Wait("start ")
	if got := r.invoke("ask", ""); got != `{"action":"accept"}` {
		t.Error(got)
	}
}

func TestEndpointAnswersNoRequestThatItsServerCancelled(t *testing.T) {
	ended := make(chan error, 1)
	r := withoutDeadlines(t, &interop.EndpointOptions{Receive: func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		if string(m.ID) == "1" {
			<-ctx.Done()
			ended <- ctx.Err()
		}
		return json.RawMessage(`{}`), nil
	}}, "-era", "legacy", "-no-list-changed")
	// The server numbers its own requests, and uses the same ids 1, 2 and 3 as we do.
	if err := r.writeLines(false, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$ID}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`); err != nil {
		t.Fatal(err)
	}
	if err := receiveSoon(t, ended, "the end of the request"); err != context.Canceled {
		t.Error(err)
	}
	if err := r.writeLines(false, `{"jsonrpc":"2.0","id":"last","method":"roots/list"}`); err != nil {
		t.Fatal(err)
	}
	r.Wait(`answered "last"`)
	if got := r.Events("answered 1"); len(got) != 0 {
		t.Error("a cancelled request was answered")
	}
}

func TestEndpointHeedsAModernServerThatCancels(t *testing.T) {
	t.Parallel()
	r := withoutDeadlines(t, nil, "-era", "modern", "-bare")
	listen := eventID(r.Wait("listening"))
	r.list()
	err := r.writeLines(true, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$ID}}`)
	wantFault(t, err, interop.ToolError)
	if err := r.writeLines(false, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+listen+`}}`); err != nil {
		t.Fatal(err)
	}
	r.WaitN("listening", 2) // again
	wantReady(t, r.Endpoint)
}
