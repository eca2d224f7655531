package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
)

// picky is a model that refuses a request with a status if it holds a call with a given id. Otherwise it takes a step of
// its script.
type picky struct {
	*script
	refused []string
	status  int
	reason  string
	sent    int
}

func (p *picky) Generate(ctx context.Context, r agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
	p.sent++
	for _, m := range r.Messages {
		for _, c := range m.Calls() {
			if slices.Contains(p.refused, c.ID) {
				return agent.Reply{}, &agent.ProviderError{Provider: "script", Status: p.status, Message: p.reason}
			}
		}
	}
	return p.script.Generate(ctx, r, onPiece)
}

// TestARefusedCallIsTakenOut checks that a conversation goes on after a provider has refused a call or its result, also
// if it is resumed from any of its entries.
func TestARefusedCallIsTakenOut(t *testing.T) {
	const reason = "messages.2.content.0: content cannot be empty"
	tests := map[string]struct {
		refused  []string
		status   int
		kept     []string // calls in the last request
		requests int      // of the turn
	}{
		"the last call":      {[]string{"c"}, 400, []string{"a", "b", "d"}, 4},
		"one of two":         {[]string{"d"}, 400, []string{"a", "b", "c"}, 5},
		"both":               {[]string{"c", "d"}, 422, []string{"a", "b"}, 6},
		"an earlier message": {[]string{"a"}, 400, nil, 8},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := &notes{}
			m := &picky{script: model(calls("a", "t", "{}", "b", "t", "{}"), calls("c", "t", "{}", "d", "t", "{}"), textReply("done")),
				status: test.status, reason: reason}
			if name != "an earlier message" {
				m.refused = test.refused
			}
			s := agent.New(agent.Options{Provider: m, Tools: box(tool("t", nil)), Journal: n, Hear: n.record})
			got, err := s.Prompt(t.Context(), "go")
			if name == "an earlier message" { // another provider goes on
				m.refused, m.sent, m.steps = test.refused, 3, []step{textReply("done")}
				got, err = s.Prompt(t.Context(), "again")
			}
			if err != nil || got.Text != "done" || m.sent != test.requests {
				t.Fatalf("%v after %d requests: %v", got, m.sent, err)
			}
			checkShape(t, m.last().Messages)
			var kept []string
			for _, message := range m.last().Messages {
				for _, c := range message.Calls() {
					kept = append(kept, c.ID)
				}
			}
			if !slices.Equal(kept, test.kept) {
				t.Errorf("the request has the calls %q, want %q", kept, test.kept)
			}
			if b, _ := json.Marshal(m.last().Messages); !strings.Contains(string(b), "taken out") {
				t.Errorf("the model does not learn it: %s", b)
			}
			if i := slices.IndexFunc(n.events, func(e agent.Event) bool { return e.Kind == agent.EventCompact }); i < 0 || n.events[i].Text != reason {
				t.Errorf("the person does not learn it: %v", n.kinds())
			}
			for i := range n.entries {
				m.steps, m.sent = []step{textReply("ok")}, 0
				again := agent.New(agent.Options{Provider: m, Tools: box(tool("t", nil)), History: n.entries[:i+1]})
				if got, err := again.Prompt(t.Context(), "go on"); err != nil || got.Text != "ok" || i == len(n.entries)-1 && m.sent != 1 {
					t.Errorf("after entry %d: %v, %d requests, %v", i, got, m.sent, err)
				}
			}
		})
	}
}

// TestAnotherRefusalStays checks that a refusal that the messages do not cause costs no further request, and removes
// nothing, not even an image.
func TestAnotherRefusalStays(t *testing.T) {
	for _, reason := range []string{
		"Your credit balance is too low to access the API", "tools.3.input_schema: invalid", "max_tokens: 64000 > 8192",
		"something else", "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
		"Invalid schema for function 'a': In context=('properties', 'x'), array schema missing items",
		"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
		"Unsupported value: 'temperature' does not support 0 with this model.", "Unrecognized request argument supplied: foo",
		"Your organization must be verified to stream this model.", "The model `gpt-9` does not exist", "model: claude-9",
		"registry.ollama.ai/library/gemma:latest does not support tools", "Function calling is not enabled for models/x",
		`"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`,
		`Invalid JSON payload received. Unknown name "const" at 'tools[0].function_declarations[0].parameters'`,
		"User location is not supported for the API use.", "API key not valid. Please pass a valid API key.",
		"thinking.budget_tokens: Input should be greater than or equal to 1024", "reasoning.effort: unknown",
		"This authorization header is not valid", "system: text content blocks must be non-empty",
		"Invalid 'tools': array too long. Expected an array with maximum length 128", "anthropic-beta: unexpected value",
		"Provisioned throughput is not available in this region", "stream_options: Extra inputs are not permitted",
	} {
		refusal := &agent.ProviderError{Provider: "script", Status: 400, Message: reason}
		n := &notes{}
		m := model(calls("1", "show", "{}", "2", "t", "{}"), fails(refusal, ""))
		tools := box(tool("t", nil), showTool(toolbox.Image(dot(t), "image/png")))
		s := agent.New(agent.Options{Provider: m, Tools: tools, Journal: n})
		if _, err := s.Prompt(t.Context(), "go"); err != refusal || len(m.requests) != 2 {
			t.Errorf("%s: %v after %d requests", reason, err, len(m.requests))
		}
		m.steps = []step{textReply("later")}
		got, err := s.Prompt(t.Context(), "")
		messages := m.last().Messages
		if err != nil || got.Text != "later" || len(messages[1].Calls()) != 2 || len(messages[2].Parts[0].Result.Images) != 1 {
			t.Errorf("%s: %v %v", reason, got, err)
		}
	}
}

// TestARefusalOfTheHistoryIsBounded checks that a refusal of the messages costs at most four further requests, whatever
// the number of calls, and one more if a result has an image.
func TestARefusalOfTheHistoryIsBounded(t *testing.T) {
	for _, reason := range []string{
		"messages.1.content.2.tool_use.input: Input should be a valid dictionary", "Invalid 'messages[4].content[0]'",
		"the request body is not valid JSON: no low surrogate in string", "Could not parse the JSON body of your request",
		"Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
		"tool_result: content cannot be empty if `is_error` is true", "Provider returned error", "invalid_request_error",
		"Request contains an invalid argument.", "Bad Request", "text content blocks must contain non-whitespace text",
		"Please ensure that the number of function response parts is equal to the number of function call parts",
		"Conversation roles must alternate user/assistant", "Failed to apply prompt template: Expected object",
		"Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.", "* GenerateContentRequest.contents[3].parts: empty",
		"Invalid value for 'content': expected a string, got null.", "Expected toolResult blocks at messages.2.content",
		"An assistant message with 'tool_calls' must be followed by tool messages", "missing field `arguments`",
	} {
		refusal := &agent.ProviderError{Provider: "script", Status: 400, Message: reason}
		for _, several := range []bool{false, true} {
			ids := []string{"1", "show", "{}"}
			for i := range 7 {
				if several {
					ids = append(ids, strconv.Itoa(i+2), "t", "{}")
				}
			}
			m := model(calls("a", "t", "{}", "b", "t", "{}"), calls(ids...))
			for range 9 {
				m.steps = append(m.steps, fails(refusal, ""))
			}
			tools := box(tool("t", nil), showTool(toolbox.Image(dot(t), "image/png")))
			s := agent.New(agent.Options{Provider: m, Tools: tools})
			_, err := s.Prompt(t.Context(), "go")
			if n := len(m.requests) - 3; err != refusal || n < 2 || n > 5 {
				t.Errorf("%s: %v after %d further requests", reason, err, n)
			}
		}
	}
}

// TestARefusedReasoningIsTakenOut checks that a conversation goes on without the provider's own parts if these are
// refused, also if it is resumed.
func TestARefusedReasoningIsTakenOut(t *testing.T) {
	refusal := &agent.ProviderError{Provider: "script", Status: 400, Message: "messages.1.content.0: Invalid `signature` in `thinking` block"}
	thought := agent.Part{Native: &agent.Native{Provider: "script", JSON: json.RawMessage(`{"type":"thinking"}`)}}
	reply := agent.Message{Role: agent.Assistant, Parts: []agent.Part{thought, {Text: "hm"}}}
	n := &notes{entries: []agent.Entry{{Message: &agent.Message{Role: agent.User, Parts: []agent.Part{{Text: "go"}}}}, {Message: &reply}}}
	m := model(fails(refusal, ""), textReply("done"), textReply("ok"))
	s := agent.New(agent.Options{Provider: m, Tools: box(tool("t", nil)), Journal: n, History: n.entries, Hear: n.record})
	if got, err := s.Prompt(t.Context(), "on"); err != nil || got.Text != "done" || len(m.requests) != 2 {
		t.Fatalf("%v %v after %d requests", got, err, len(m.requests))
	}
	again := agent.New(agent.Options{Provider: m, Tools: box(tool("t", nil)), History: n.entries})
	if _, err := again.Prompt(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false} {
		if b, _ := json.Marshal(m.requests[i].Messages); strings.Contains(string(b), `"native"`) != want {
			t.Errorf("request %d: %s", i, b)
		}
	}
}
