package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
)

func TestATurn(t *testing.T) {
	m := model(calls("1", "a", `{"x":1}`, "2", "b", `{}`), textReply("done"))
	n := &notes{}
	s := agent.New(agent.Options{Provider: m, Tools: box(tool("a", nil), tool("b", nil)), System: "be brief", Journal: n, Hear: n.record})
	got, err := s.Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Answer{Text: "done", Stop: agent.StopEnd, Usage: agent.Usage{Input: 20, Output: 2}, Steps: 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	messages := s.Messages()
	checkShape(t, messages)
	if diff := cmp.Diff([]string{`a{"x":1}`, "b{}"}, outputs(messages[2])); diff != "" {
		t.Error(diff)
	}
	if len(n.entries) != 5 || s.Usage() != want.Usage || n.entries[1].Model != "script/model" {
		t.Errorf("%d entries, %v", len(n.entries), s.Usage())
	}
	if r := m.last(); r.System != "be brief" || len(r.Tools) != 2 || string(r.Tools[0].Parameters) != `{"type":"object"}` {
		t.Errorf("%+v", r)
	}
	kinds := n.kinds()
	begin := []agent.EventKind{agent.EventDraft, agent.EventDraft, agent.EventMessage, agent.EventCall}
	end := []agent.EventKind{agent.EventResult, agent.EventText, agent.EventMessage, agent.EventEnd}
	if !slices.Equal(kinds[:4], begin) || !slices.Equal(kinds[len(kinds)-4:], end) {
		t.Error(kinds)
	}
}

func TestResultsAreInTheOrderOfTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := tool("wait", func(ctx context.Context, tc *toolbox.Context, in json.RawMessage) (*toolbox.Result, error) {
			var d struct{ After time.Duration }
			if err := json.Unmarshal(in, &d); err != nil {
				return nil, err
			}
			tc.Report(toolbox.Progress{Done: 1, Total: 2, Message: "half\nway"})
			time.Sleep(d.After * time.Millisecond)
			return toolbox.NewResult(toolbox.JSON(in)), nil
		})
		m := model(calls("1", "wait", `{"after":30}`, "2", "wait", `{"after":10}`, "3", "wait", `{"after":20}`), textReply("done"))
		n := &notes{}
		s := agent.New(agent.Options{Provider: m, Tools: box(slow), Hear: n.record})
		began := time.Now()
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 30*time.Millisecond {
			t.Errorf("all at once take %v", took)
		}
		if diff := cmp.Diff([]string{`{"after":30}`, `{"after":10}`, `{"after":20}`}, outputs(m.last().Messages[2])); diff != "" {
			t.Error(diff)
		}
		var ended []string
		for _, e := range n.events {
			switch e.Kind {
			case agent.EventResult:
				ended = append(ended, e.Result.ID+" "+e.Took.String())
			case agent.EventProgress:
				if e.Text != "1 of 2: half way" {
					t.Error(e.Text)
				}
			}
		}
		if diff := cmp.Diff([]string{"2 10ms", "3 20ms", "1 30ms"}, ended); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCallsAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		slow := tool("wait", func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return nil, nil
		})
		var words []string
		for range 7 {
			words = append(words, "", "wait", "{}")
		}
		s := agent.New(agent.Options{Provider: model(calls(words...), textReply("")), Tools: box(slow), Parallel: 3})
		if _, err := s.Prompt(t.Context(), "go"); err != nil || most.Load() != 3 {
			t.Error(err, most.Load())
		}
		checkShape(t, s.Messages())
	})
}

func TestTheModelReadsWhatIsWrongWithItsCalls(t *testing.T) {
	strict := tool("strict", nil)
	strict.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	boom := tool("boom", func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) { panic("no") })
	m := model(calls("1", "strct", `{}`, "2", "strict", `{"n":`, "3", "strict", `{}`, "4", "boom", ``, "5", "strict", `{"n":1}`, "6", strings.Repeat("x", 1<<20), `{}`), textReply("done"))
	n := &notes{}
	s := agent.New(agent.Options{Provider: m, Tools: box(strict, boom), Journal: n})
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	got := outputs(m.last().Messages[2])
	for i, want := range []string{"Did you mean strict?", "not JSON", "n", "boom: internal error", `{"n":1}`} {
		if !strings.Contains(got[i], want) || strings.HasPrefix(got[i], "!") != (i < 4) {
			t.Errorf("%d: %s", i+1, got[i])
		}
	}
	if len(got[5]) > 5000 {
		t.Errorf("%d bytes say that there is no such tool", len(got[5]))
	}
	again := agent.New(agent.Options{History: n.entries})
	if diff := cmp.Diff(s.Messages(), again.Messages()); diff != "" {
		t.Error(diff)
	}
}

// rude is a toolbox whose Run panics, ends its goroutine, or does not return.
type rude struct{}

func (rude) Descriptors() []toolbox.Descriptor { return nil }

func (rude) Run(_ context.Context, c toolbox.Call) toolbox.Outcome {
	switch c.Name {
	case "panics":
		panic("boo")
	case "exits":
		runtime.Goexit()
	}
	time.Sleep(time.Hour)
	c.Progress(toolbox.Progress{Message: "late"})
	return toolbox.Outcome{Output: json.RawMessage(`"late"`)}
}

func TestACallThatMisbehavesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{}
		m := model(calls("1", "panics", "{}", "2", "exits", "{}"), calls("3", "hangs", "{}"))
		s := agent.New(agent.Options{Provider: m, Tools: rude{}, Hear: n.record})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if _, err := s.Prompt(ctx, "go"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Minute {
			t.Error(err, time.Since(began))
		}
		messages := s.Messages()
		checkShape(t, messages)
		want := []string{"!panics: internal error", "!exits did not answer"}
		if diff := cmp.Diff(want, outputs(messages[2])); diff != "" {
			t.Error(diff)
		}
		if got := outputs(messages[4]); !strings.Contains(got[0], "may still be running") {
			t.Error(got)
		}
		time.Sleep(2 * time.Hour)
		if kinds := n.kinds(); slices.Contains(kinds, agent.EventProgress) {
			t.Errorf("a call that was left behind is heard: %v", kinds)
		}
	})
}

func TestTooManySteps(t *testing.T) {
	m := model(calls("1", "a", "{}"), calls("2", "a", "{}"), textReply("done"))
	s := agent.New(agent.Options{Provider: m, Tools: box(tool("a", nil)), Steps: 2})
	got, err := s.Prompt(t.Context(), "go")
	if !errors.Is(err, agent.ErrSteps) || got.Steps != 2 || got.Usage.Input != 20 {
		t.Error(err, got)
	}
	checkShape(t, s.Messages())
	if got, err := s.Prompt(t.Context(), ""); err != nil || got.Text != "done" {
		t.Error(got, err)
	}
	if _, err := s.Prompt(t.Context(), " "); err == nil {
		t.Error("there is nothing to answer")
	}
	if len(s.Messages()) != 6 {
		t.Error(s.Messages())
	}
}

func TestAMessageThatWasCutRunsNothing(t *testing.T) {
	ran := tool("write", func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
		t.Error("it ran")
		return nil, nil
	})
	half := agent.Part{Call: &agent.Call{ID: "1", Name: "write", Input: json.RawMessage(`{"path":"a","text":"abc`)}}
	m := model(replies(agent.StopLength, agent.Part{Text: "I write"}, half), replies(agent.StopLength, agent.Part{Text: "and"}))
	s := agent.New(agent.Options{Provider: m, Tools: box(ran)})
	got, err := s.Prompt(t.Context(), "go")
	if err != nil || got.Stop != agent.StopLength || got.Text != "and" {
		t.Error(got, err)
	}
	if got := outputs(m.last().Messages[2]); len(got) != 1 || !strings.Contains(got[0], "cut") || got[0][0] != '!' {
		t.Error(got)
	}
}

func TestARefusalRunsNothing(t *testing.T) {
	ran := tool("a", func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
		t.Error("it ran")
		return nil, nil
	})
	call := agent.Part{Call: &agent.Call{ID: "1", Name: "a", Input: json.RawMessage(`{}`)}}
	m := model(replies(agent.StopRefusal, call), replies(agent.StopRefusal, agent.Part{Text: "\n\n"}), textReply("fine"))
	s := agent.New(agent.Options{Provider: m, Tools: box(ran)})
	for range 2 {
		if got, err := s.Prompt(t.Context(), "something"); err != nil || got.Stop != agent.StopRefusal {
			t.Error(got, err)
		}
	}
	if got, err := s.Prompt(t.Context(), "something else"); err != nil || got.Text != "fine" || got.Usage.Input != 10 {
		t.Error(got, err)
	}
	checkShape(t, s.Messages())
	if s.Usage().Input != 30 {
		t.Error(s.Usage())
	}
}

func TestIDsOfCallsAreMadeUnique(t *testing.T) {
	m := model(calls("", "a", `{"n":1}`, "x", "a", `{"n":2}`, "x", "a", `{"n":3}`, "", "a", `{"n":4}`), calls("x", "a", `{"n":5}`), textReply("done"))
	n := &notes{}
	s := agent.New(agent.Options{Provider: m, Tools: box(tool("a", nil)), Journal: n})
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	messages := s.Messages()
	checkShape(t, messages)
	if diff := cmp.Diff([]string{`a{"n":1}`, `a{"n":2}`, `a{"n":3}`, `a{"n":4}`}, outputs(messages[2])); diff != "" {
		t.Error(diff)
	}
	seen := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.Calls() {
			if c.ID == "" || seen[c.ID] {
				t.Errorf("%q is not unique", c.ID)
			}
			seen[c.ID] = true
		}
	}
	if diff := cmp.Diff(messages, agent.New(agent.Options{History: n.entries}).Messages()); diff != "" {
		t.Error(diff)
	}
}

func TestAnotherModelFromTheNextTurnOn(t *testing.T) {
	second := model(textReply("two"))
	var s *agent.Session
	first := model(func(ctx context.Context, r agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
		s.Use(second, nil)
		return calls("1", "a", "{}")(ctx, r, onPiece)
	}, textReply("one"))
	s = agent.New(agent.Options{Provider: first, Tools: box(tool("a", nil))})
	if got, err := s.Prompt(t.Context(), "go"); err != nil || got.Text != "one" {
		t.Error(got, err)
	}
	if got, err := s.Prompt(t.Context(), "go"); err != nil || got.Text != "two" || len(second.last().Tools) != 0 {
		t.Error(got, err)
	}
}

func TestTurnsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := model(func(ctx context.Context, r agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
			<-release
			return textReply("one")(ctx, r, onPiece)
		}, textReply("two"))
		s := agent.New(agent.Options{Provider: m})
		answers := make(chan string, 2)
		for i := range 2 {
			go func() {
				time.Sleep(time.Duration(i) * time.Second)
				got, err := s.Prompt(t.Context(), "go")
				if err != nil {
					t.Error(err)
				}
				answers <- got.Text
			}()
		}
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Prompt(ctx, "never said"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(release)
		if a, b := <-answers, <-answers; a != "one" || b != "two" {
			t.Error(a, b)
		}
		if len(s.Messages()) != 4 {
			t.Error(s.Messages())
		}
	})
}

func TestNothingIsHeardThatIsNotKept(t *testing.T) {
	full := errors.New("no space left")
	for at, wantMessages := range []int{0, 1, 3, 3} {
		n, count := &notes{}, 0
		n.fail = func(agent.Entry) error {
			if count++; count == at+1 {
				return full
			}
			return nil
		}
		m := model(calls("1", "a", "{}"), textReply("done"), textReply("later"))
		s := agent.New(agent.Options{Provider: m, Tools: box(tool("a", nil)), Journal: n, Hear: n.record})
		if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, full) {
			t.Errorf("%d: %v", at, err)
		}
		heard := 0
		for _, e := range n.events {
			if e.Kind == agent.EventMessage || e.Kind == agent.EventResult {
				heard++
			}
		}
		if heard != max(0, len(n.entries)-1) {
			t.Errorf("%d: %d entries, %d were heard", at, len(n.entries), heard)
		}
		m.steps = []step{textReply("later")}
		if got, err := s.Prompt(t.Context(), "again"); err != nil || got.Text != "later" {
			t.Errorf("%d: %v %v", at, got, err)
		}
		messages := s.Messages()
		checkShape(t, messages)
		if diff := cmp.Diff(messages, agent.New(agent.Options{History: n.entries}).Messages()); diff != "" {
			t.Errorf("%d: %s", at, diff)
		}
		if len(messages) < wantMessages {
			t.Errorf("%d: %d messages", at, len(messages))
		}
	}
}
