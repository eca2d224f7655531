package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/agent"
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

// TestAnotherRefusalStays checks that a refusal that the calls do not cause removes nothing.
func TestAnotherRefusalStays(t *testing.T) {
	for reason, requests := range map[string]int{
		"Your credit balance is too low to access the API": 1, "tools.3.input_schema: invalid": 1,
		"max_tokens: 64000 > 8192": 1, "something else": 2,
	} {
		refusal := &agent.ProviderError{Provider: "script", Status: 400, Message: reason}
		n := &notes{}
		m := model(calls("1", "t", "{}"), fails(refusal, ""), fails(refusal, ""), textReply("later"))
		s := agent.New(agent.Options{Provider: m, Tools: box(tool("t", nil)), Journal: n})
		if _, err := s.Prompt(t.Context(), "go"); err != refusal || len(m.requests) != 1+requests {
			t.Errorf("%s: %v after %d requests", reason, err, len(m.requests))
		}
		m.steps = []step{textReply("later")}
		if got, err := s.Prompt(t.Context(), ""); err != nil || got.Text != "later" || len(m.last().Messages[1].Calls()) != 1 {
			t.Errorf("%s: %v %v", reason, got, err)
		}
	}
}
