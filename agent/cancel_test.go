package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
)

// TestATurnIsCancelled cancels a turn in every state. Acknowledged entries stay, each call has a result, and the next
// turn works. The same holds for a session that continues from the journal.
func TestATurnIsCancelled(t *testing.T) {
	temporary := &agent.ProviderError{Provider: "script", Status: 529, Message: "overloaded"}
	askForever := func(ctx context.Context, _ agent.Ask) (agent.Verdict, error) {
		<-ctx.Done()
		return agent.Once, nil // too late
	}
	tests := map[string]struct {
		steps    []step
		ask      func(context.Context, agent.Ask) (agent.Verdict, error)
		parallel int
		messages int      // number of messages afterwards
		results  []string // of the last calls
		text     string   // of the model's last message
	}{
		"before a word":    {steps: []step{hangs("", func() {})}, messages: 1},
		"while it says":    {steps: []step{hangs("half a sen", func() {})}, messages: 2, text: "half a sen"},
		"in back-off":      {steps: []step{fails(temporary, "void")}, messages: 1},
		"between":          {steps: []step{calls("1", "quick", "{}"), hangs("", func() {})}, messages: 3, results: []string{"quick{}"}},
		"in calls":         {steps: []step{calls("1", "quick", "{}", "2", "slow", "{}", "3", "stubborn", "{}")}, messages: 3, results: []string{"quick{}", "!Cancelled while it ran", "it ended well"}},
		"before calls":     {steps: []step{calls("1", "slow", "{}", "2", "slow", "{}")}, parallel: 1, messages: 3, results: []string{"!Cancelled while it ran", "!Cancelled before it began"}},
		"while one is ask": {steps: []step{calls("1", "quick", "{}", "2", "quick", "{}")}, ask: askForever, messages: 3, results: []string{"!quick did not run", "!quick did not run"}},
	}
	slow := tool("slow", func(ctx context.Context, _ *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	stubborn := tool("stubborn", func(ctx context.Context, _ *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
		<-ctx.Done()
		time.Sleep(time.Second)
		return toolbox.NewResult(toolbox.Text("it ended well")), nil
	})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				permissions := &agent.Permissions{All: test.ask == nil, Ask: test.ask}
				tools := toolbox.NewBox(nil, agent.Guard(registry(tool("quick", nil), slow, stubborn), permissions.Permit))
				m, n := model(test.steps...), &notes{}
				s := agent.New(agent.Options{Provider: m, Tools: tools, Journal: n, Hear: n.record, Parallel: test.parallel})
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					time.Sleep(500 * time.Millisecond)
					cancel()
				}()
				if _, err := s.Prompt(ctx, "go"); err != context.Canceled {
					t.Fatal(err)
				}
				messages := s.Messages()
				checkShape(t, messages)
				if len(messages) != test.messages {
					t.Fatalf("%d messages: %+v", len(messages), messages)
				}
				got := outputs(messages[len(messages)-1])
				for i, want := range test.results {
					if !strings.HasPrefix(got[i], want) {
						t.Errorf("%s, want %s", got[i], want)
					}
				}
				if last := messages[len(messages)-1]; last.Role == agent.Assistant && (last.Text() != test.text || !last.Partial) {
					t.Errorf("%+v", last)
				}
				for _, goOn := range []*agent.Session{s, agent.New(agent.Options{Tools: tools, History: n.entries})} {
					if diff := cmp.Diff(messages, goOn.Messages()); diff != "" {
						t.Error(diff)
					}
					next := model(textReply("here I am"))
					goOn.Use(next, tools)
					if got, err := goOn.Prompt(t.Context(), "and now?"); err != nil || got.Text != "here I am" {
						t.Error(got, err)
					}
					checkShape(t, goOn.Messages())
					sent := next.last().Messages
					checkShape(t, sent)
					if said := sent[len(sent)-1].Text(); strings.Contains(said, "cut off") != (test.text != "") {
						t.Error(said)
					}
				}
			})
		})
	}
}

func TestATurnThatIsOverBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := &notes{}
	s := agent.New(agent.Options{Provider: model(), Journal: n})
	if _, err := s.Prompt(ctx, "go"); !errors.Is(err, context.Canceled) || len(n.entries) != 0 {
		t.Error(err, n.entries)
	}
}
