package openai_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/openai"
	"github.com/indusagi/indus/internal/canonical"
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
		"without a call": {[]string{`{"content":"ok","reasoning_details":[{"type":"reasoning.encrypted","data":"E"},{"type":"reasoning.encrypted","data":"F"}]}`}, "ok", "", `[{"type":"reasoning.encrypted","data":"E"},{"type":"reasoning.encrypted","data":"F"}]`},
		"a pair in two pieces": {[]string{`{"content":"ok","reasoning_details":[{"type":"reasoning.text","text":"a\ud83d","index":0}]}`, `{"reasoning_details":[{"type":"reasoning.text","text":"\ude00b","index":0}]}`}, "ok", "",
			`[{"type":"reasoning.text","text":"a😀b","index":0}]`},
		"of another form":            {[]string{`{"content":"ok","reasoning_details":"x"}`, `{"reasoning_details":[7,null]}`}, "ok", "", ""},
		"arguments as an object":     {[]string{`{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":{"q":9007199254740993}}}]}`}, "", `{"q":9007199254740993}`, ""},
		"arguments of null":          {[]string{`{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":null}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`}, "", `{"a":1}`, ""},
		"content as a list":          {[]string{`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hel"}]}`, `{"content":[{"type":"text","text":"lo"},{"type":"image_url","image_url":{}}]}`}, "hello", "", ""},
		"an empty object, then text": {[]string{`{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":{ }}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`}, "", `{"a":1}`, ""},
		"only an empty object":       {[]string{`{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":{}}}]}`}, "", `{}`, ""},
		"texts in a list":            {[]string{`{"content":["hel",{"type":"text","text":"lo"},7,null]}`}, "hello", "", ""},
		"content as an object":       {[]string{`{"content":{"type":"text","text":"hel"}}`, `{"content":{"text":"lo"}}`}, "hello", "", ""},
		"content of a number":        {[]string{`{"content":7}`, `{"content":"ok"}`}, "ok", "", ""},
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

// TestReasoningGoesBackAfterAResume checks that a resumed conversation sends the reasoning_details of its calls back
// unchanged.
func TestReasoningGoesBackAfterAResume(t *testing.T) {
	t.Parallel()
	const detail = `{"type":"reasoning.encrypted","data":"<E>&\u2028","id":null,"n":9007199254740993,"index":0}`
	s := modelserver.New(t, modelserver.Turn{Raw: `data: {"choices":[{"index":0,"delta":{"reasoning_details":[` + detail + `],` +
		`"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}}]}` +
		"\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"},
		modelserver.Turn{Text: "ok"}, modelserver.Turn{Text: "ok"})
	path := filepath.Join(t.TempDir(), "t.jsonl")
	for _, text := range []string{"one", "two"} {
		journal, err := agent.OpenTranscript(t.Context(), path, agent.Header{})
		if err != nil {
			t.Fatal(err)
		}
		session := agent.New(agent.Options{Provider: model(s, openai.Options{}), Journal: journal, History: journal.Entries()})
		if _, err := session.Prompt(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		journal.Close()
	}
	if len(s.Requests()) != 3 {
		t.Fatal(len(s.Requests()))
	}
	for _, r := range s.Requests()[1:] {
		var sent struct {
			Messages []struct {
				Details []json.RawMessage `json:"reasoning_details"`
			}
		}
		if err := json.Unmarshal(r.Body, &sent); err != nil {
			t.Fatal(err)
		}
		if got := sent.Messages[1].Details; len(got) != 1 || !canonical.Equal(got[0], json.RawMessage(detail)) {
			t.Errorf("%s", got)
		}
	}
}
