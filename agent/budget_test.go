package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
)

// long returns a tool whose result has the number of bytes that its input names.
func long() toolbox.Tool {
	return tool("long", func(_ context.Context, _ *toolbox.Context, in json.RawMessage) (*toolbox.Result, error) {
		var n struct{ N int }
		if err := json.Unmarshal(in, &n); err != nil {
			return nil, err
		}
		return toolbox.NewResult(toolbox.Text(strings.Repeat("x", n.N))), nil
	})
}

// unmetered returns a step whose provider counts no tokens.
func unmetered(s step) step {
	return func(ctx context.Context, r agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
		reply, err := s(ctx, r, onPiece)
		reply.Usage = agent.Usage{}
		return reply, err
	}
}

// metered returns a step whose provider counts four bytes as a token.
func metered(s step) step {
	return func(ctx context.Context, r agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
		reply, err := s(ctx, r, onPiece)
		raw, _ := json.Marshal(r.Messages)
		reply.Usage = agent.Usage{Input: len(raw) / 4, Output: 10}
		return reply, err
	}
}

func TestOldResultsAreTakenOutAtOnce(t *testing.T) {
	for name, count := range map[string]func(step) step{"counted": metered, "estimated": unmetered} {
		t.Run(name, func(t *testing.T) {
			var steps []step
			for i := range 12 {
				steps = append(steps, count(calls(fmt.Sprint("c", i), "long", `{"n":800}`))) // about 200 tokens each
			}
			n := &notes{}
			m := model(append(steps, count(textReply("done")))...)
			s := agent.New(agent.Options{Provider: m, Tools: box(long()), Context: 3000, Journal: n, Hear: n.record})
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			var dropped [][]string
			for _, e := range n.entries {
				if e.Dropped != nil {
					dropped = append(dropped, e.Dropped)
				}
			}
			if len(dropped) == 0 || len(dropped) > 2 || dropped[0][0] != "c0" || len(dropped[0]) < 3 {
				t.Errorf("taken out: %q", dropped)
			}
			for i, r := range m.requests {
				checkShape(t, r.Messages)
				raw, _ := json.Marshal(r.Messages)
				if tokens := len(raw) / 4; tokens > 2850 {
					t.Errorf("request %d has %d tokens", i, tokens)
				}
			}
			last := m.last().Messages
			if first := outputs(last[2])[0]; !strings.Contains(first, "taken out") || !strings.Contains(first, "802 bytes") {
				t.Error(first)
			}
			for i := range 4 { // the newest results are still there
				if out := outputs(last[len(last)-1-2*i])[0]; len(out) != 800 {
					t.Errorf("%d before the last: %s", i, out)
				}
			}
			if whole := outputs(s.Messages()[2])[0]; len(whole) != 800 {
				t.Errorf("what people see lacks it: %s", whole)
			}
			if !slices.Contains(n.kinds(), agent.EventCompact) {
				t.Error(n.kinds())
			}
			resumed := model(textReply("again"))
			if _, err := agent.New(agent.Options{Provider: resumed, History: n.entries, Context: 3000}).Prompt(t.Context(), "more"); err != nil {
				t.Fatal(err)
			}
			sent := resumed.last().Messages
			if diff := cmp.Diff(last, sent[:len(last)]); diff != "" {
				t.Errorf("who goes on breaks the cache: %s", diff)
			}
		})
	}
}

func TestNothingIsTakenOutForLittle(t *testing.T) {
	var steps []step
	for i := range 12 {
		steps = append(steps, metered(calls(fmt.Sprint("c", i), "long", `{"n":500}`)))
	}
	n := &notes{}
	s := agent.New(agent.Options{Provider: model(append(steps, textReply("done"))...), Tools: box(long()), Context: 10_000, Journal: n})
	if _, err := s.Prompt(t.Context(), strings.Repeat("long ", 6800)); err != nil {
		t.Fatal(err)
	}
	for _, e := range n.entries {
		if e.Dropped != nil {
			t.Error(e.Dropped)
		}
	}
}

// TestAFailureTakesOutNothingMore checks that a conversation has room after a removal, although the provider has not
// counted it since.
func TestAFailureTakesOutNothingMore(t *testing.T) {
	refused := &agent.ProviderError{Provider: "script", Status: 401, Message: "no key"}
	n := &notes{}
	var steps []step
	for i := range 12 {
		reply := metered(calls(fmt.Sprint("c", i), "long", `{"n":800}`))
		steps = append(steps, func(ctx context.Context, r agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
			if slices.Contains(n.kinds(), agent.EventCompact) {
				return agent.Reply{}, refused
			}
			return reply(ctx, r, onPiece)
		})
	}
	m := model(steps...)
	s := agent.New(agent.Options{Provider: m, Tools: box(long()), Context: 3000, Journal: n, Hear: n.record})
	if _, err := s.Prompt(t.Context(), "go"); err != refused {
		t.Fatal(err)
	}
	m.steps = []step{textReply("done")}
	if _, err := s.Prompt(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	times := 0
	for _, kind := range n.kinds() {
		if kind == agent.EventCompact {
			times++
		}
	}
	if times != 1 {
		t.Errorf("results were taken out %d times", times)
	}
}

func TestAResultEntersWithAShareOfTheBudget(t *testing.T) {
	m := model(calls("1", "long", `{"n":60000}`), calls("2", "long", `{"n":60000}`, "3", "long", `{"n":60000}`, "4", "long", `{"n":100}`), textReply("done"))
	s := agent.New(agent.Options{Provider: m, Tools: box(long()), Context: 8000})
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	messages := s.Messages()
	if one := outputs(messages[2]); len(one[0]) > 8000 || !strings.Contains(one[0], "bytes cut") {
		t.Error(len(one[0]))
	}
	if three := outputs(messages[4]); len(three[0]) > 5400 || len(three[2]) != 100 {
		t.Error(len(three[0]), len(three[2]))
	}
}

func TestAConversationThatIsTooLong(t *testing.T) {
	tooLong := &agent.ProviderError{Provider: "script", Status: 400, Message: "prompt is too long", TooLong: true}
	run := func(steps ...step) (*script, *agent.Session, error) {
		m := model(append([]step{calls("1", "long", `{"n":2000}`)}, steps...)...)
		s := agent.New(agent.Options{Provider: m, Tools: box(long())})
		_, err := s.Prompt(t.Context(), "go")
		return m, s, err
	}
	for _, refusal := range []error{tooLong, &agent.ProviderError{Provider: "script", Status: 413, Message: "request too large"}} {
		m, _, err := run(fails(refusal, ""), textReply("it fits"))
		if err != nil || !strings.Contains(outputs(m.last().Messages[2])[0], "taken out") {
			t.Error(err, m.last().Messages)
		}
	}
	_, s, err := run(fails(tooLong, ""), fails(tooLong, ""))
	if !errors.Is(err, agent.ErrFull) || !errors.Is(err, tooLong) || !strings.Contains(err.Error(), "begin a new conversation") {
		t.Error(err)
	}
	checkShape(t, s.Messages())
	if _, err := agent.New(agent.Options{Provider: model(fails(tooLong, ""))}).Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrFull) {
		t.Error(err)
	}
}
