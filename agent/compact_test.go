package agent_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/agent"
)

// TestCompact checks that the summary replaces the conversation, also in a resumed one, and that an invalid summary
// changes nothing.
func TestCompact(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := model(textReply("One."), calls("1", "read", `{}`), textReply("Two."),
		replies(agent.StopLength, agent.Part{Text: "half a"}), hangs("part of a", cancel), replies(agent.StopEnd),
		textReply("They count."), textReply("Three."), textReply("Four."))
	path := filepath.Join(t.TempDir(), "t.jsonl")
	open := func() (*agent.Transcript, *agent.Session) {
		journal, err := agent.OpenTranscript(t.Context(), path, agent.Header{})
		if err != nil {
			t.Fatal(err)
		}
		return journal, agent.New(agent.Options{Provider: m, Journal: journal, History: journal.Entries(), System: "Count."})
	}
	journal, s := open()
	if _, err := s.Compact(t.Context()); err == nil {
		t.Error("nothing was compacted")
	}
	for _, text := range []string{"one", "two"} {
		if _, err := s.Prompt(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Messages()
	for _, c := range []context.Context{t.Context(), ctx, t.Context()} {
		if _, err := s.Compact(c); err == nil {
			t.Error("it was compacted")
		}
	}
	if d := cmp.Diff(before, s.Messages()); d != "" {
		t.Error(d)
	}
	if a, err := s.Compact(t.Context()); err != nil || a.Text != "They count." {
		t.Fatal(a, err)
	}
	if asked := m.last().Messages; len(asked) != len(before)+1 || !strings.Contains(asked[len(asked)-1].Text(), "summary") {
		t.Errorf("it was asked %v", asked)
	}
	text := func(r agent.Request) (all string) {
		for _, one := range r.Messages {
			all += string(one.Role) + ": " + one.Text() + "|"
		}
		return all
	}
	if _, err := s.Prompt(t.Context(), "three"); err != nil {
		t.Fatal(err)
	}
	const want = "user: [The conversation until here was taken out to make room. This is your own summary of it.]\n\nThey count.\n\nthree|"
	if got := text(m.last()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	journal.Close()
	journal, s = open()
	defer journal.Close()
	if _, err := s.Prompt(t.Context(), "four"); err != nil {
		t.Fatal(err)
	}
	if got := text(m.last()); got != want+"assistant: Three.|user: four|" {
		t.Errorf("resumed: %q", got)
	}
}
