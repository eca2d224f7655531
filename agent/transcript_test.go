package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
)

func open(t *testing.T, path string) *agent.Transcript {
	t.Helper()
	tr, err := agent.OpenTranscript(t.Context(), path, agent.Header{Dir: "/src", Model: "script/model"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

// converse runs a conversation with every kind of entry. It returns the size of the file when each message and result
// was reported.
func converse(t *testing.T, path string) (s *agent.Session, heard []int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	native := agent.Part{Native: &agent.Native{Provider: "script/model", JSON: json.RawMessage(`{"signature":"<é>\u2028"}`)}}
	m := model(
		calls("1", "a", `{"n": 1}`, "2", "show", `{}`, "2", "none", `{"half`, "", "long", `{"n":10}`),
		replies(agent.StopEnd, native, agent.Part{Text: "line\nline\x00 <b> \u2028 \xff"}),
		calls("1", "long", `{"n":500}`, "2", "long", `{"n":500}`),
		textReply("so it is"),
		hangs("I am about to", cancel),
		textReply("again"),
	)
	for i, s := range m.steps {
		m.steps[i] = unmetered(s)
	}
	tr := open(t, path)
	listen := func(e agent.Event) {
		if e.Kind == agent.EventMessage || e.Kind == agent.EventResult {
			info, err := os.Stat(path)
			if err != nil {
				t.Error(err)
			}
			heard = append(heard, info.Size())
		}
	}
	s = agent.New(agent.Options{
		Provider: m, Tools: box(tool("a", nil), showTool(toolbox.Image(dot(t), "image/png")), long()), Journal: tr, Hear: listen, Context: 2000,
	})
	for i, ctx := range []context.Context{t.Context(), t.Context(), ctx, t.Context()} {
		if _, err := s.Prompt(ctx, "what? "+strings.Repeat("é", i)); (err != nil) != (i == 2) {
			t.Fatal(i, err)
		}
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	return s, heard
}

func TestAConversationIsAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "t.jsonl")
	s, _ := converse(t, path)
	tr := open(t, path)
	if tr.Header().Dir != "/src" || tr.Header().Model != "script/model" || time.Since(tr.Header().At) > time.Minute {
		t.Errorf("%+v", tr.Header())
	}
	again := agent.New(agent.Options{History: tr.Entries()})
	if diff := cmp.Diff(text(t, s.Messages()), text(t, again.Messages())); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(text(t, tr.Entries()), `"dropped"`) {
		t.Error("nothing was taken out")
	}
	if s.Usage() != again.Usage() {
		t.Error(s.Usage(), again.Usage())
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Error(name, info.Mode(), err)
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestACutAtEveryByte checks that a transcript opens wherever kill -9 cut it, and that all reported entries are there.
// The conversation continues without repeating a call.
func TestACutAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.jsonl")
	_, heard := converse(t, path)
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lineEnds := []int64{}
	for i, b := range all {
		if b == '\n' {
			lineEnds = append(lineEnds, int64(i)+1)
		}
	}
	_, whole, err := agent.ReadTranscript(bytes.NewReader(all))
	if err != nil || len(whole) != len(lineEnds)-1 {
		t.Fatal(len(whole), len(lineEnds), err)
	}
	check := func(at int64, entries []agent.Entry) {
		t.Helper()
		want := 0
		for _, end := range lineEnds[1:] {
			if end <= at {
				want++
			}
		}
		if len(entries) != want {
			t.Fatalf("cut at %d: %d entries, want %d", at, len(entries), want)
		}
		s := agent.New(agent.Options{History: entries})
		checkShape(t, s.Messages())
		answered := model(textReply("ok"))
		s.Use(answered, nil)
		if _, err := s.Prompt(t.Context(), "go on"); err != nil {
			t.Fatal(err)
		}
		checkShape(t, s.Messages())
		checkShape(t, answered.last().Messages)
	}
	before := 0
	for at := range int64(len(all)) {
		if at < lineEnds[0] {
			continue
		}
		_, entries, err := agent.ReadTranscript(bytes.NewReader(all[:at]))
		if err != nil {
			t.Fatalf("cut at %d: %v", at, err)
		}
		if all[at-1] == '\n' || all[at] == '\n' {
			check(at, entries)
		} else if len(entries) != before {
			t.Fatalf("cut at %d: %d entries, and %d a byte before", at, len(entries), before)
		}
		before = len(entries)
	}
	if len(all) > 6000 {
		t.Errorf("%d bytes take too long", len(all))
	}
	for _, at := range heard { // at each event the file ended with a whole line
		if !bytes.Contains(all[:at], []byte("\n")) || all[at-1] != '\n' {
			t.Errorf("at %d of %d it is no whole line", at, len(all))
		}
	}
	torn := filepath.Join(dir, "torn.jsonl")
	for _, at := range []int64{0, 1, lineEnds[0] - 1, lineEnds[0], lineEnds[0] + 1, lineEnds[4] - 1, lineEnds[4] + 7, int64(len(all)) - 1} {
		if err := os.WriteFile(torn, all[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		tr := open(t, torn)
		check(at, tr.Entries())
		if left, err := os.ReadFile(torn); err != nil || left[len(left)-1] != '\n' {
			t.Errorf("cut at %d: the torn line is there (%v)", at, err)
		}
		if err := tr.Append(t.Context(), whole[0]); err != nil {
			t.Fatal(err)
		}
		tr.Close()
		again := open(t, torn)
		if n := len(tr.Entries()) + 1; len(again.Entries()) != n || again.Header().Dir != "/src" {
			t.Errorf("cut at %d: %d entries, want %d", at, len(again.Entries()), n)
		}
		again.Close()
	}
}

func TestCallsThatMayHaveRunAreNotRepeated(t *testing.T) {
	asked := agent.Message{Role: agent.Assistant, Parts: []agent.Part{
		{Call: &agent.Call{ID: "1", Name: "a", Input: json.RawMessage(`{}`)}}, {Call: &agent.Call{ID: "2", Name: "a", Input: json.RawMessage(`{}`)}},
	}}
	result := agent.Message{Role: agent.User, Parts: []agent.Part{{Result: &agent.Result{ID: "2", Name: "a", Output: json.RawMessage(`"two"`)}}}}
	history := []agent.Entry{{Message: &agent.Message{Role: agent.User, Parts: []agent.Part{{Text: "go"}}}}, {Message: &asked}, {Message: &result}}
	for _, prompt := range []string{"", "and now?"} {
		m := model(textReply("I see"))
		ran := tool("a", func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
			t.Error("it ran again")
			return nil, nil
		})
		s := agent.New(agent.Options{Provider: m, Tools: box(ran), History: history})
		if _, err := s.Prompt(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
		sent := m.last().Messages
		checkShape(t, sent)
		got := outputs(sent[2])
		if len(got) != 2 || !strings.Contains(got[0], "it is unknown whether this call ran") || got[1] != "two" || sent[2].Text() != prompt {
			t.Error(got, sent[2].Text())
		}
	}
	unanswered := history[:1]
	m := model(textReply("yes"))
	if _, err := agent.New(agent.Options{Provider: m, History: unanswered}).Prompt(t.Context(), "hello?"); err != nil {
		t.Fatal(err)
	}
	if sent := m.last().Messages; len(sent) != 1 || len(sent[0].Parts) != 2 {
		t.Errorf("%+v", sent)
	}
}

func TestDamageIsSaid(t *testing.T) {
	tests := map[string]string{
		"{\"transcript\":1}\n{}\nnonsense\n{}\n":      "line 3 is damaged",
		"{\"transcript\":1}\n{}\n{\"message\":1}\n{}": "line 3 is damaged",
		"{\"transcript\":1,\n{}\n":                    "line 1 is damaged",
		"{\"transcript\":2}\n{}\n":                    "version 2",
		"my diary":                                    "no transcript",
		"{\"transcr\n":                                "no transcript",
	}
	for content, want := range tests {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := agent.OpenTranscript(t.Context(), path, agent.Header{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", content, err)
		}
		if _, _, err := agent.ReadTranscript(strings.NewReader(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != content {
			t.Errorf("%q was changed to %q (%v)", content, now, err)
		}
	}
	if _, _, err := agent.ReadTranscript(strings.NewReader("")); err == nil {
		t.Error("nothing is no transcript")
	}
	if _, err := agent.OpenTranscript(t.Context(), t.TempDir(), agent.Header{}); err == nil {
		t.Error("a directory is no transcript")
	}
}

func TestOneSessionHasIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	tr := open(t, path)
	if _, err := agent.OpenTranscript(t.Context(), path, agent.Header{}); !errors.Is(err, agent.ErrInUse) {
		t.Error(err)
	}
	if err := errors.Join(tr.Close(), tr.Close()); err != nil {
		t.Error(err)
	}
	if err := tr.Append(t.Context(), agent.Entry{}); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	open(t, path)
}

func TestWhatDoesNotFitIsTakenBack(t *testing.T) {
	if os.Getenv("TRANSCRIPT_TEST") == "" {
		// The limit on the size of files applies to a process.
		path := filepath.Join(t.TempDir(), "t.jsonl")
		c := exec.Command("sh", "-c", `ulimit -f 8 && trap '' XFSZ && exec "$0" -test.run=TestWhatDoesNotFitIsTakenBack`, os.Args[0])
		c.Env = append(os.Environ(), "TRANSCRIPT_TEST="+path)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if n := len(open(t, path).Entries()); n != 2 {
			t.Errorf("%d entries", n)
		}
		return
	}
	tr := open(t, os.Getenv("TRANSCRIPT_TEST"))
	say := func(n int) agent.Entry {
		return agent.Entry{Message: &agent.Message{Role: agent.User, Parts: []agent.Part{{Text: strings.Repeat("x", n)}}}}
	}
	if err := tr.Append(t.Context(), say(100)); err != nil {
		t.Error(err)
	}
	if err := tr.Append(t.Context(), say(20_000)); err == nil {
		t.Error("there is room for more than the limit")
	}
	if left, err := os.ReadFile(os.Getenv("TRANSCRIPT_TEST")); err != nil || left[len(left)-1] != '\n' {
		t.Errorf("half a line is there (%v)", err)
	}
	if err := tr.Append(t.Context(), say(100)); err != nil {
		t.Errorf("there is room again: %v", err)
	}
}

func FuzzReadTranscript(f *testing.F) {
	for _, s := range []string{
		"", "{\"transcript\":1}\n", "{\"transcript\":1}\n{\"message\":{\"role\":\"user\",\"parts\":[{\"text\":\"a\"}]}}\n{",
		"{\"transcript\":1}\n{\"message\":{\"role\":\"assistant\",\"parts\":[{\"call\":{\"id\":\"1\",\"name\":\"a\",\"text\":\"{\"}}]}}\n{\"dropped\":[\"1\"]}\n{\"message\":{\"role\":\"user\",\"parts\":[{\"result\":{\"id\":\"1\",\"output\":\"\"}},{\"result\":null},{\"text\":\"b\"}]}}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, all []byte) {
		_, entries, err := agent.ReadTranscript(bytes.NewReader(all))
		if err != nil {
			return
		}
		s := agent.New(agent.Options{History: entries, Provider: model(textReply("ok"))})
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		for i, m := range s.Messages() {
			if i > 0 && m.Role == s.Messages()[i-1].Role {
				t.Errorf("two messages of %s", m.Role)
			}
		}
		var again bytes.Buffer
		again.WriteString("{\"transcript\":1}\n")
		for _, e := range entries {
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			again.Write(append(line, '\n'))
		}
		if _, second, err := agent.ReadTranscript(&again); err != nil || len(second) != len(entries) {
			t.Errorf("%d entries of %d: %v", len(second), len(entries), err)
		}
	})
}
