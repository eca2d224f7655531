package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is one answer of a scripted model.
type step func(ctx context.Context, r agent.Request, onPiece func(agent.Piece)) (agent.Reply, error)

// script is a model that performs its steps in order and records the requests.
type script struct {
	mu       sync.Mutex
	steps    []step
	requests []agent.Request
}

func model(steps ...step) *script { return &script{steps: steps} }

func (s *script) Name() string { return "script/model" }

func (s *script) Generate(ctx context.Context, r agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	if len(s.steps) == 0 {
		s.mu.Unlock()
		return agent.Reply{}, errors.New("the script is over")
	}
	next := s.steps[0]
	s.steps = s.steps[1:]
	s.mu.Unlock()
	return next(ctx, r, onPiece)
}

// last returns the last request.
func (s *script) last() agent.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}

// textReply answers with a text.
func textReply(text string) step {
	return replies(agent.StopEnd, agent.Part{Text: text})
}

// calls answers with calls. Each call takes three words: id, name and input.
func calls(words ...string) step {
	var parts []agent.Part
	for c := range slices.Chunk(words, 3) {
		parts = append(parts, agent.Part{Call: &agent.Call{ID: c[0], Name: c[1], Input: json.RawMessage(c[2])}})
	}
	return replies(agent.StopCalls, parts...)
}

func replies(stop agent.Stop, parts ...agent.Part) step {
	return func(_ context.Context, _ agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
		for _, p := range parts {
			switch {
			case p.Text != "":
				onPiece(agent.Piece{Text: p.Text})
			case p.Call != nil:
				onPiece(agent.Piece{Call: p.Call.Name})
			}
		}
		return agent.Reply{
			Message: agent.Message{Role: agent.Assistant, Parts: parts}, Stop: stop, Usage: agent.Usage{Input: 10, Output: 1},
		}, nil
	}
}

// fails returns an error after some text.
func fails(err error, text string) step {
	return func(_ context.Context, _ agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
		if text != "" {
			onPiece(agent.Piece{Text: text})
		}
		return agent.Reply{}, err
	}
}

// hangs sends a text, calls reached, and waits for the end of its context.
func hangs(text string, reached func()) step {
	return func(ctx context.Context, _ agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
		if text != "" {
			onPiece(agent.Piece{Text: text})
		}
		reached()
		<-ctx.Done()
		return agent.Reply{}, ctx.Err()
	}
}

// notes records entries and events in the order of their arrival.
type notes struct {
	mu      sync.Mutex
	entries []agent.Entry
	events  []agent.Event
	fail    func(agent.Entry) error
}

func (n *notes) Append(ctx context.Context, e agent.Entry) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if n.fail != nil {
		if err := n.fail(e); err != nil {
			return err
		}
	}
	n.entries = append(n.entries, e)
	return nil
}

func (n *notes) record(e agent.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
}

func (n *notes) kinds() (kinds []agent.EventKind) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// tool returns a local tool. If run is nil, the result is the tool's name and input.
func tool(name string, run func(ctx context.Context, tc *toolbox.Context, in json.RawMessage) (*toolbox.Result, error)) toolbox.Tool {
	if run == nil {
		run = func(_ context.Context, _ *toolbox.Context, in json.RawMessage) (*toolbox.Result, error) {
			return toolbox.NewResult(toolbox.Text(name + string(in))), nil
		}
	}
	return toolbox.Tool{Name: name, Description: "A tool.", Schema: json.RawMessage(`{"type":"object"}`), Run: run}
}

func registry(tools ...toolbox.Tool) *toolbox.Registry {
	r := toolbox.NewRegistry(nil)
	r.Add(tools...)
	return r
}

func box(tools ...toolbox.Tool) *toolbox.Box { return toolbox.NewBox(nil, registry(tools...)) }

// outputs returns the outputs of the results in a message. Errors have the prefix "!".
func outputs(m agent.Message) (all []string) {
	for _, p := range m.Parts {
		if p.Result == nil {
			continue
		}
		var s string
		if json.Unmarshal(p.Result.Output, &s) != nil {
			s = string(p.Result.Output)
		}
		if p.Result.IsError {
			s = "!" + s
		}
		all = append(all, s)
	}
	return all
}

// checkShape checks that every provider accepts the messages. User and model alternate. Each call has one result in the
// next message, in order.
func checkShape(t *testing.T, messages []agent.Message) {
	t.Helper()
	for i, m := range messages {
		want := agent.User
		if i%2 == 1 {
			want = agent.Assistant
		}
		if m.Role != want || len(m.Parts) == 0 {
			t.Errorf("message %d is %s with %d parts", i, m.Role, len(m.Parts))
		}
		var got, open []string
		for _, p := range m.Parts {
			if p.Result != nil {
				got = append(got, p.Result.ID)
			}
		}
		if i > 0 {
			for _, c := range messages[i-1].Calls() {
				open = append(open, c.ID)
			}
		}
		if !slices.Equal(got, open) {
			t.Errorf("message %d has the results %q of the calls %q", i, got, open)
		}
	}
	if n := len(messages); n > 0 && len(messages[n-1].Calls()) > 0 {
		t.Errorf("the last message's calls have no results")
	}
}
