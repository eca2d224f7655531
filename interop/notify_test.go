package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Changes of every kind are reported, in both eras: when the server is ready, and when they
// happen.
func TestEveryListChangedIsTold(t *testing.T) {
	t.Parallel()
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{
				Prompts: &mcp.PromptCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{ListChanged: true},
			}})
			notified := make(chan string, 100)
			fleetOf(t, config.Server{ID: "a", Era: era}, &interop.FleetOptions{
				Endpoint: func(config.Server) *interop.EndpointOptions {
					return &interop.EndpointOptions{Transport: inMemory(t, server)}
				},
				Notify: func(server string, m interop.Message) { notified <- server + " " + m.Server + " " + m.Method },
			})
			until := func(method string) {
				t.Helper()
				for receiveSoon(t, notified, method) != "a a notifications/"+method+"/list_changed" { //nolint:revive // until it comes
				}
			}
			times := 2
			if era == interop.Modern { // and once more when the subscription is confirmed
				times = 4
			}
			for range times {
				receiveSoon(t, notified, "that the lists are there")
			}
			server.AddPrompt(&mcp.Prompt{Name: "p"}, nil)
			until("prompts")
			server.AddResource(&mcp.Resource{Name: "r", URI: "a://b"}, nil)
			until("resources")
		})
	}
}

// rounds is a modern server over HTTP with fixed replies to tools/call. It repeats the last
// reply. It keeps the params that it received, without _meta.
type rounds struct {
	mu      sync.Mutex
	answers []string
	got     []string
}

func (s *rounds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params map[string]json.RawMessage
	}
	_ = json.Unmarshal(body, &m)
	result := `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	switch m.Method {
	case "tools/list":
		result = `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		delete(m.Params, "_meta")
		params, _ := json.Marshal(m.Params)
		s.mu.Lock()
		s.got = append(s.got, string(params))
		result = s.answers[0]
		if len(s.answers) > 1 {
			s.answers = s.answers[1:]
		}
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// The questions of a hostile server are bounded, and its requestState is opaque to us.
func TestRounds(t *testing.T) {
	t.Parallel()
	ask := func(key, rest string) string {
		return `{"resultType":"input_required","inputRequests":{"` + key + `":{"method":"elicitation/create","params":{}}}` + rest + `}`
	}
	many := strings.Repeat(`"k":{"method":"roots/list"},`, 2) + `"l":{"method":"roots/list"}`
	crowd := make([]string, 65)
	for i := range crowd {
		crowd[i] = fmt.Sprintf(`"%d":{"method":"roots/list"}`, i)
	}
	const answer = `{"action":"accept","content":{"name":"Ada","username":"Ada","email":"a@b.c","color":"red","ok":true}}`
	for name, c := range map[string]struct {
		answers []string
		got     []string // nil means not compared
		fault   string
	}{
		"state as it was, and gone with the next result": {
			[]string{ask("a", `,"requestState":"\u0041\/"`), ask("b", ""), `{"resultType":"complete","content":[]}`},
			[]string{`{"arguments":{},"name":"t"}`, `{"arguments":{},"inputResponses":{"a":` + answer + `},"name":"t","requestState":"\u0041\/"}`,
				`{"arguments":{},"inputResponses":{"b":` + answer + `},"name":"t"}`}, "",
		},
		"a server that is busy": {
			[]string{`{"resultType":"input_required","requestState":"s"}`, `{"resultType":"complete","content":[]}`},
			[]string{`{"arguments":{},"name":"t"}`, `{"arguments":{},"name":"t","requestState":"s"}`}, "",
		},
		"a server that never ends":   {[]string{ask("a", "")}, nil, "indus answers 10 requests for input in one call"},
		"nothing that is asked for":  {[]string{`{"resultType":"input_required"}`}, nil, "and does not name any"},
		"two of one key":             {[]string{`{"resultType":"input_required","inputRequests":{` + many + `}}`}, nil, "no object"},
		"no object":                  {[]string{`{"resultType":"input_required","inputRequests":[]}`}, nil, "no object"},
		"too much at once":           {[]string{`{"resultType":"input_required","inputRequests":{` + strings.Join(crowd, ",") + `}}`}, nil, "asks for 65 things"},
		"what nobody may be asked":   {[]string{`{"resultType":"input_required","inputRequests":{"a":{"method":"tools/call"}}}`}, nil, "which the client does not declare"},
		"a URL that it may not open": {[]string{`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url"}}}}`}, nil, "which the client does not declare"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &rounds{answers: c.answers}
			web := httptest.NewServer(s)
			t.Cleanup(web.Close)
			e := newEndpoint(t, config.Server{ID: "a", Transport: config.HTTP{URL: web.URL}}, nil)
			mustOpen(t, e)
			client := newRecordingClient(interop.Legacy, "Ada", `{"elicitation":{},"roots":{}}`)
			_, err := e.Invoke(interop.WithClient(context.WithoutCancel(t.Context()), &client.Client), "t", json.RawMessage(`{}`))
			if c.fault != "" {
				kind := interop.Protocol
				if strings.HasPrefix(c.fault, "indus answers") { // this is no fault of the server
					kind = interop.ToolError
				}
				if f := wantFault(t, err, kind); !strings.Contains(f.Message, c.fault) {
					t.Error(f)
				}
			} else if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.got, s.got); c.got != nil && diff != "" {
				t.Error(diff)
			}
		})
	}
}
