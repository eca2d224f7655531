package modelserver_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/indusagi/indus/internal/testkit/modelserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ask     = `{"model":"m","max_tokens":9,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hello"}],`
	oneTool = `"tools":[{"name":"t","input_schema":{"type":"object"}}]}`
)

func post(t *testing.T, ctx context.Context, s *modelserver.Server, path, body string) (status int, answer string,
	err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Anthropic-Version", "2023-06-01")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// joined concatenates the strings of one member in all events.
func joined(t *testing.T, answer, member string) (all string) {
	t.Helper()
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if s, ok := v[member].(string); ok {
				all += s
			}
			for _, child := range v {
				walk(child)
			}
		case []any:
			for _, child := range v {
				walk(child)
			}
		}
	}
	for line := range strings.Lines(answer) {
		data, ok := strings.CutPrefix(line, "data: {")
		var v map[string]any
		if ok && json.Unmarshal([]byte("{"+data), &v) != nil {
			t.Errorf("no JSON: %s", line)
		}
		walk(v)
	}
	return all
}

func TestBothWiresSayTheSame(t *testing.T) {
	t.Parallel()
	turn := modelserver.Turn{
		Reasoning: "Let me see…", Text: "Grüße, 日本語, <b> & 😀 and so on until it is long enough to be cut",
		Calls: []modelserver.Call{{Name: "t", Input: `{"path":"a\nb"}`}, {ID: "mine", Name: "u", Input: ``}},
	}
	s := modelserver.New(t, turn, turn)
	_, anthropic, err := post(t, t.Context(), s, "/v1/messages", ask+oneTool)
	if err != nil {
		t.Fatal(err)
	}
	_, openai, err := post(t, t.Context(), s, "/chat/completions",
		ask+`"tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object"}}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ answer, member, want string }{
		{anthropic, "thinking", turn.Reasoning},
		{anthropic, "partial_json", turn.Calls[0].Input},
		{openai, "reasoning_content", turn.Reasoning},
		{openai, "content", turn.Text},
	} {
		if got := joined(t, c.answer, c.member); got != c.want {
			t.Errorf("%s: %s", c.member, cmp.Diff(c.want, got))
		}
	}
	for _, want := range []string{`"stop_reason":"tool_use"`, `"id":"mine"`, "event: message_stop\n"} {
		if !strings.Contains(anthropic, want) {
			t.Errorf("no %s in\n%s", want, anthropic)
		}
	}
	for _, want := range []string{`"finish_reason":"tool_calls"`, `"id":"mine"`, `"prompt_tokens":100`,
		"data: [DONE]\n\n"} {
		if !strings.Contains(openai, want) {
			t.Errorf("no %s in\n%s", want, openai)
		}
	}
	want := []modelserver.Tool{{Name: "t", Schema: json.RawMessage(`{"type":"object"}`)}}
	for _, r := range s.Requests() {
		if diff := cmp.Diff(want, r.Tools()); diff != "" || r.Prompt() != "hello" {
			t.Errorf("%q %s", r.Prompt(), diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := modelserver.New(t)
	const start = `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"x"},`
	tooled := `{"tools":[{"name":"t","input_schema":{"type":"object"}}],` + start[1:]
	for _, c := range []struct{ path, body, want string }{
		{"/v1/messages", tooled + `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}}]}]}`, "without `tool_result`"},
		{"/v1/messages", tooled + `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}}]},{"role":"user","content":"x"}]}`, "without `tool_result`"},
		{"/v1/messages", start + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}]}`, "unexpected `tool_use_id`"},
		{"/v1/messages", tooled + `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":"{}"}]}]}`, "valid dictionary"},
		{"/v1/messages", start + `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}}]}]}`, "must define tools"},
		{"/v1/messages", start + `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"x"},{"type":"text","text":"x"}]}]}`, "signature"},
		{"/v1/messages", start + `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"x"}]}]}`, "final block"},
		{"/v1/messages", start + `{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"thinking","thinking":"x","signature":"x"}]}]}`, "first block"},
		{"/v1/messages", start + `{"role":"assistant","content":[{"type":"text","text":" "}]}]}`, "non-whitespace"},
		{"/v1/messages", start + `{"role":"user","content":""}]}`, "non-empty"},
		{"/v1/messages", ask + `"tools":[]}`, "too short"},
		{"/v1/messages", ask + `"tools":[{"name":"a b","input_schema":{"type":"object"}}]}`, "pattern"},
		{"/v1/messages", ask + `"tools":[{"name":"t","input_schema":{}}]}`, "'object'"},
		{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[]}`, "streams only"},
		{"/chat/completions", start + `{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"t","arguments":""}}]}]}`, "did not have response messages: 1"},
		{"/chat/completions", start + `{"role":"tool","tool_call_id":"1","content":"x"}]}`, "must be a response"},
		{"/chat/completions", start + `{"role":"assistant","content":null}]}`, "got null"},
		{"/chat/completions", start + `{"role":"assistant","tool_calls":[{"id":"","function":{"name":"t","arguments":""}}]}]}`, "tool_calls"},
	} {
		status, answer, err := post(t, t.Context(), s, c.path, c.body)
		if err != nil || status != http.StatusBadRequest || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s: %d %s %v, want %s", c.path, c.body, status, answer, err, c.want)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := modelserver.New(t, modelserver.Turn{Status: 429, RetryAfter: "3", Text: "slow down"},
		modelserver.Turn{Text: "a long text in many pieces", Break: true},
		modelserver.Turn{Break: true, Status: 529, Text: "busy"},
		modelserver.Turn{Text: "first", Hang: true})
	if status, answer, _ := post(t, t.Context(), s, "/v1/messages", ask+oneTool); status != 429 ||
		!strings.Contains(answer, "slow down") {
		t.Error(status, answer)
	}
	if status, answer, err := post(t, t.Context(), s, "/v1/messages", ask+oneTool); status != 200 || err == nil ||
		strings.Contains(answer, "message_stop") {
		t.Error(status, answer, err)
	}
	if status, answer, err := post(t, t.Context(), s, "/v1/messages", ask+oneTool); status != 200 || err != nil ||
		!strings.Contains(answer, "event: error\n") {
		t.Error(status, answer, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, _, err := post(t, ctx, s, "/v1/messages", ask+oneTool)
		done <- err
	}()
	if r := s.Wait(4); r.Path != "/v1/messages" {
		t.Error(r.Path)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("it did not hang")
	}
	s.Left(4)
	s.Func(func(r modelserver.Request) modelserver.Turn { return modelserver.Turn{Text: "you said " + r.Prompt()} })
	if _, answer, _ := post(t, t.Context(), s, "/chat/completions", strings.TrimSuffix(ask, ",")+"}"); joined(t, answer,
		"content") != "you said hello" {
		t.Error(answer)
	}
}
