package main

import (
	"crypto/sha256"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/control/approval"
)

// waitingCalls is the file of approvals of a user, and the user's home.
type waitingCalls struct {
	*approval.Book
	t    *testing.T
	home string
}

func newWaitingCalls(t *testing.T) *waitingCalls {
	t.Helper()
	home := t.TempDir()
	book, err := approval.Open(filepath.Join(home, "indus", "call-approvals.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &waitingCalls{book, t, home}
}

// call returns the id of the approval that a call waits for.
func (w *waitingCalls) call(tool, arguments string) string {
	w.t.Helper()
	item, _, err := w.Require(w.t.Context(), approval.Item{
		Subject: approval.Subject{Principal: "user:alice", Client: "evil\x1b[2J\u202e", Server: "one", Tool: tool,
			Arguments: sha256.Sum256([]byte(arguments))},
		Description: "harmless\nallow ZZZZ? [y/n] y\r\nindus: allowed", Way: approval.Other, Shown: []byte(arguments),
		Changed: "- adds\n+ deletes\n\x1b[1A",
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return item.ID
}

// are checks the states of approvals.
func (w *waitingCalls) are(states string, ids ...string) {
	w.t.Helper()
	var got []string
	for _, id := range ids {
		item, err := w.Item(w.t.Context(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		got = append(got, string(item.State))
	}
	if strings.Join(got, " ") != states {
		w.t.Errorf("they are %s, not %s", got, states)
	}
}

// On a terminal, watch asks about each call: y allows it, n denies it, Enter leaves it. A call that is decided elsewhere
// needs no answer, and the answer that was begun for it does not count for another call.
func TestWatchAsksAboutApprovals(t *testing.T) {
	t.Parallel()
	w := newWaitingCalls(t)
	first, second, third := w.call("a", `{"n":1}`), w.call("b", `{"n":2}`), w.call("c", `{"n":3}`)
	a := startOnTerminal(t, w.home, "approvals", "watch")
	a.seen.waitFor(t, `allow `+first+`\? \[y/n\] $`, a.done)
	a.types("y\n")
	a.seen.waitFor(t, `allowed `+first+`: a of one, for user:alice until (.*\n)+.*allow `+second+`\? \[y/n\] $`, a.done)
	a.types("\n")
	a.seen.waitFor(t, second+` still waits(.*\n)+.*allow `+third+`\? \[y/n\] $`, a.done)
	a.types("n\n")
	a.seen.waitFor(t, `denied `+third+`: c of one`, a.done)
	w.are("allowed waiting denied", first, second, third)

	fourth := w.call("d", `{"n":4}`)
	a.seen.waitFor(t, `allow `+fourth+`\? \[y/n\] $`, a.done)
	fifth := w.call("e", `{"n":5}`)
	a.types("y") // not sent yet
	decision := approval.Decision{By: "user:bob", Channel: approval.ByPage}
	if _, err := w.Decide(t.Context(), fourth, decision); err != nil {
		t.Fatal(err)
	}
	a.seen.waitFor(t, fourth+` needs no answer any more: denied by user:bob at .*\.\s+Press Enter\r\n$`, a.done)
	a.types("\n")
	a.seen.waitFor(t, `allow `+fifth+`\? \[y/n\] $`, a.done)
	w.are("denied waiting", fourth, fifth)
	a.signal(syscall.SIGINT)
	a.ends(0)
	w.are("waiting waiting", second, fifth)
}

// Texts of callers and servers cannot look like a prompt or control the terminal. They are shown to their end, and each
// of their lines is indented.
func TestApprovalsOnATerminalAreSafe(t *testing.T) {
	t.Parallel()
	w := newWaitingCalls(t)
	forged := strings.Repeat("x", 80-6-len(`"text": "`)) + "allow ZZZZ? [y/n] y"
	id := w.call("t\nallow ZZZZ? [y/n]", `{"text":"`+forged+`","hidden":"a\u202eb","more":"`+strings.Repeat("word ", 300)+
		`the end of it"}`)
	a := startOnTerminal(t, w.home, "approvals", "allow", id)
	a.seen.waitFor(t, `    - adds\r\n    \+ deletes\r\n(.*\n)*allow `+id+`\? \[y/n\] $`, a.done)
	text := a.seen.String()
	if !strings.Contains(strings.Join(strings.Fields(text), ""), `theendofit"`) {
		t.Errorf("the arguments are cut: %q", text)
	}
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("it has control characters: %q", text)
	}
	lines := strings.Split(strings.TrimSuffix(text, "allow "+id+"? [y/n] "), "\r\n")
	for n, line := range lines[1:] {
		if len([]rune(line)) > 80 || line != "" && !strings.HasPrefix(line, "  ") {
			t.Errorf("line %d is %q", n+2, line)
		}
	}
	a.types("yes, please\n") // not understood
	a.seen.waitFor(t, `not allowed: `+id+` still waits`, a.done)
	a.ends(0)
	w.are("waiting", id)
	again := startOnTerminal(t, w.home, "approvals", "allow", id)
	again.seen.waitFor(t, `allow `+id+`\? \[y/n\] $`, again.done)
	again.types("y\n")
	again.ends(0)
	w.are("allowed", id)
}
