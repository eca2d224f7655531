package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/openai"
	"github.com/indusagi/indus/internal/testkit/modelserver"
)

// TestWhatGoesBackToItsServer checks answers in the forms of several servers: their text, their calls, and the message
// that the next request sends back.
func TestWhatGoesBackToItsServer(t *testing.T) {
	t.Parallel()
	const call = `{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}`
	for name, test := range map[string]struct {
		deltas                []string
		text, input, goesBack string // goesBack is the value of reasoning_details
	}{
		"one detail": {[]string{`{"reasoning":"hm","reasoning_details":[{"type":"reasoning.encrypted", "data":"ENC","id":"r1","index":0}]}`, call}, "", "{}",
			`[{"type":"reasoning.encrypted","data":"ENC","id":"r1","index":0}]`},
		"pieces": {[]string{`{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.text","text":"x","index":1}]}`,
			`{"reasoning_details":[{"type":"reasoning.text","text":"b","index":0,"signature":null}]}`,
			`{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"S"},{"type":"reasoning.encrypted","data":"E","index":0}]}`, call}, "", "{}",
			`[{"type":"reasoning.text","text":"ab","index":0,"signature":"S"},{"type":"reasoning.text","text":"x","index":1},{"type":"reasoning.encrypted","data":"E","index":0}]`},
		"without a call":         {[]string{`{"content":"ok","reasoning_details":[{"type":"reasoning.encrypted","data":"E"},{"type":"reasoning.encrypted","data":"F"}]}`}, "ok", "", `[{"type":"reasoning.encrypted","data":"E"},{"type":"reasoning.encrypted","data":"F"}]`},
		"of another form":        {[]string{`{"content":"ok","reasoning_details":"x"}`, `{"reasoning_details":[7,null]}`}, "ok", "", ""},
		"arguments as an object": {[]string{`{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":{"q":9007199254740993}}}]}`}, "", `{"q":9007199254740993}`, ""},
		"arguments of null":      {[]string{`{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":null}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`}, "", `{"a":1}`, ""},
		"content as a list":      {[]string{`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hel"}]}`, `{"content":[{"type":"text","text":"lo"},{"type":"image_url","image_url":{}}]}`}, "hello", "", ""},
		"content of a number":    {[]string{`{"content":7}`, `{"content":"ok"}`}, "ok", "", ""},
	} {
		var raw strings.Builder
		for _, delta := range test.deltas {
			raw.WriteString(`data: {"choices":[{"index":0,"delta":` + delta + "}]}\n\n")
		}
		raw.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		s := modelserver.New(t, modelserver.Turn{Raw: raw.String()}, modelserver.Turn{Text: "ok"})
		m := model(s, openai.Options{})
		r := agent.Request{Messages: []agent.Message{{Role: agent.User, Parts: []agent.Part{{Text: "go"}}}}}
		var reasoning string
		got, err := m.Generate(t.Context(), r, func(p agent.Piece) { reasoning += p.Reasoning })
		if err != nil || got.Message.Text() != test.text {
			t.Errorf("%s: %q, %v", name, got.Message.Text(), err)
			continue
		}
		if name == "content as a list" && reasoning != "hm" {
			t.Errorf("the reasoning is %q", reasoning)
		}
		next := agent.Message{Role: agent.User}
		for _, c := range got.Message.Calls() {
			if string(c.Input) != test.input {
				t.Errorf("%s: the call has %s, want %s", name, c.Input, test.input)
			}
			next.Parts = append(next.Parts, agent.Part{Result: &agent.Result{ID: c.ID, Output: json.RawMessage(`1`)}})
		}
		next.Parts = append(next.Parts, agent.Part{Text: "go on"})
		r.Messages = append(r.Messages, got.Message, next)
		if _, err := m.Generate(t.Context(), r, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var sent struct {
			Messages []struct {
				Details any `json:"reasoning_details"`
			}
		}
		var want any
		if test.goesBack != "" && json.Unmarshal([]byte(test.goesBack), &want) != nil || json.Unmarshal(s.Requests()[1].Body, &sent) != nil {
			t.Fatal(name)
		}
		if diff := cmp.Diff(want, sent.Messages[1].Details); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
