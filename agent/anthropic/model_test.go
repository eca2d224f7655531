package anthropic_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/anthropic"
	"github.com/indusagi/indus/internal/testkit/modelserver"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func model(s *modelserver.Server, name string) *anthropic.Model {
	return anthropic.New(name, &anthropic.Options{BaseURL: s.URL,
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
}

func user(parts ...agent.Part) agent.Message {
	return agent.Message{Role: agent.User, Parts: parts}
}

func TestTheRequest(t *testing.T) {
	t.Parallel()
	s := modelserver.New(t, modelserver.Turn{Text: "ok"})
	r := agent.Request{System: "Be brief.", Messages: []agent.Message{
		user(agent.Part{Text: "look"}),
		{Role: agent.Assistant, Parts: []agent.Part{{Text: "I do."}, {Call: &agent.Call{ID: "x", Name: "shot", Input: json.RawMessage(`{"b":1, "a":"<"}`)}}}},
		user(agent.Part{Text: "and?"}, agent.Part{Result: &agent.Result{ID: "x", Name: "shot", Output: json.RawMessage(`{"n":1}`), IsError: true, Images: []agent.Image{{MIME: "image/png", Data: []byte("png")}}}}),
	}, Tools: []toolbox.Descriptor{{Name: "bare"}, {Name: "shot", Description: "A picture.", Parameters: json.RawMessage(`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"]}`)}}}
	if _, err := model(s, "m").Generate(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	const cached = `,"cache_control":{"type":"ephemeral"}`
	const want = `{"max_tokens":32000,"messages":[{"content":[{"text":"look","type":"text"` + cached + `}],"role":"user"},` +
		`{"content":[{"text":"I do.","type":"text"},{"id":"x","input":{"b":1,"a":"<"},"name":"shot","type":"tool_use"}],"role":"assistant"},` +
		`{"content":[{"tool_use_id":"x","is_error":true,"content":[{"text":"{\"n\":1}","type":"text"}],"type":"tool_result"},` +
		`{"text":"An image from shot:","type":"text"},{"source":{"data":"cG5n","media_type":"image/png","type":"base64"},"type":"image"},{"text":"and?","type":"text"` + cached + `}],"role":"user"}],` +
		`"model":"m","stream":true,"system":[{"text":"Be brief.","type":"text"` + cached + `}],"tools":[{"name":"bare","input_schema":{"type":"object","properties":{}}},` +
		`{"name":"shot","description":"A picture.","input_schema":{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"]}` + cached + `}]}`
	var sent, wanted any
	if json.Unmarshal(s.Requests()[0].Body, &sent) != nil || json.Unmarshal([]byte(want), &wanted) != nil || cmp.Diff(wanted, sent) != "" {
		t.Error(cmp.Diff(wanted, sent))
	}
	if !strings.Contains(string(s.Requests()[0].Body), `"properties":{"b":{"type":"integer"},"a":`) {
		t.Error("the order of the properties is lost")
	}
}

// block returns the two events of a block that arrives at once: its start and its stop.
func block(b string) string {
	return `data: {"type":"content_block_start","index":0,"content_block":` + b + "}\n\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n"
}

const (
	start = "event: message_start\n" + `data: {"type":"message_start","message":{"content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":70,"cache_creation_input_tokens":900,"output_tokens":1}}}` + "\n\n"
	end   = `data: {"type":"message_delta","delta":{"stop_reason":"STOP"},"usage":{"output_tokens":8}}` + "\n\n"
	stop  = `data: {"type":"message_stop"}` + "\n\n"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	text := block(`{"type":"text","text":"a"}`)
	for _, c := range []struct{ name, raw, want string }{
		{"the end", start + text + strings.ReplaceAll(end, "STOP", "end_turn") + stop, "a|end"},
		{"no last event", start + text + strings.ReplaceAll(end, "STOP", "stop_sequence"), "a|end"},
		{"no reason", start + text + stop, "a|end"},
		{"cut", start + text + strings.ReplaceAll(end, "STOP", "max_tokens") + stop, "a|length"},
		{"full", start + text + strings.ReplaceAll(end, "STOP", "model_context_window_exceeded") + stop, "a|length"},
		{"refused", start + text + strings.ReplaceAll(end, "STOP", "refusal") + stop, "a|refusal"},
		{"no end", start + text, "the answer broke off"},
		{"unknown events and blocks", start + `data: {"type":"news","index":-1}` + "\n\n" + block(`{"type":"server_tool_use","id":"s","name":"web","input":{}}`) + text + stop, "a|end"},
		{"whole calls", start + block(`{"type":"tool_use","id":"x","name":"f","input":{"a":1}}`) + block(`{"type":"tool_use","id":"x","name":"g"}`) + stop, `f{"a":1} g{}|calls`},
		{"a delta of nothing", start + `data: {"type":"content_block_delta","index":-7,"delta":{"type":"text_delta","text":"a"}}` + "\n\n", "has not begun"},
		{"an error at the end", start + text + strings.ReplaceAll(end, "STOP", "end_turn") + `data: {"type":"error","error":{"type":"api_error","message":"Oops"}}` + "\n\n", "Oops (HTTP 500)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := modelserver.New(t, modelserver.Turn{Raw: c.raw})
			r, err := model(s, "m").Generate(t.Context(), agent.Request{Messages: []agent.Message{user(agent.Part{Text: "x"})}}, nil)
			got := r.Message.Text() + "|" + string(r.Stop)
			if err != nil {
				got = err.Error()
			}
			var all []string
			for _, one := range r.Message.Calls() {
				all = append(all, one.Name+string(one.Input))
			}
			if got = strings.Join(all, " ") + got; !strings.HasSuffix(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
			if u := r.Usage; err == nil && (u.Input != 975 || u.CacheRead != 70 || u.CacheWrite != 900) {
				t.Errorf("%+v", u)
			}
		})
	}
}

func TestThoughtsGoBackToTheirModelAlone(t *testing.T) {
	t.Parallel()
	raw := start + block(`{"type":"redacted_thinking","data":"secret"}`) + block(`{"type":"thinking","thinking":"without a signature"}`) +
		block(`{"type":"tool_use","id":"x","name":"f","input":{}}`) + stop
	s := modelserver.New(t, modelserver.Turn{Raw: raw}, modelserver.Turn{Text: "ok"}, modelserver.Turn{Text: "ok"})
	r := agent.Request{Messages: []agent.Message{user(agent.Part{Text: "x"})}}
	first, err := model(s, "m").Generate(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, first.Message, user(agent.Part{Result: &agent.Result{ID: "x", Output: json.RawMessage(`null`)}}))
	for i, name := range []string{"m", "n"} {
		if _, err := model(s, name).Generate(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		sent := s.Requests()[1+i]
		if body := string(sent.Body); strings.Contains(body, `{"type":"redacted_thinking","data":"secret"}`) != (i == 0) || strings.Contains(body, "without") {
			t.Errorf("%s: %s", name, body)
		}
		if tools := sent.Tools(); len(tools) != 1 || tools[0].Name != "none" { // a conversation with calls needs tools
			t.Errorf("%v", tools)
		}
	}
}

func TestProfile(t *testing.T) {
	t.Parallel()
	if m := anthropic.New("claude", &anthropic.Options{}); m.Name() != "anthropic/claude" || m.Profile() != schema.Anthropic {
		t.Error(m.Name(), m.Profile().Name())
	}
}
