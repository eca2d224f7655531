package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/chat"
	"github.com/indusagi/indus/cmd/indus/internal/lineedit"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/testkit/screen"
	"github.com/indusagi/indus/toolbox"
)

// talk is a terminal without colours and its user, inside a synctest bubble.
type talk struct {
	*chat.Terminal
	*screen.Screen
	t    *testing.T
	keys *io.PipeWriter
}

// bubble runs a test with a terminal of this size. The terminal may receive only text and the sequences of this
// program.
func bubble(t *testing.T, width, height int, f func(y *talk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		keys, w := io.Pipe()
		s := screen.New(width, height, func(r rune) int { return show.Columns(string(r)) })
		e := &lineedit.Editor{In: lineedit.NewInput(keys), Out: s, Size: s.Size}
		f(&talk{chat.New(e, false), s, t, w})
		w.Close()
		if u := s.Unknown(); u != nil {
			t.Errorf("the terminal was sent %q", u)
		}
	})
}

func (y *talk) press(s string) { _, _ = io.WriteString(y.keys, s) }

// wait waits for this time, and until everything is drawn.
func (y *talk) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// shows compares the screen with the expected one. The first line of want is empty, for the layout of the source.
func (y *talk) shows(want string) {
	y.t.Helper()
	if d := cmp.Diff(strings.TrimPrefix(want, "\n"), strings.TrimLeft(y.String(), "\n")); d != "" {
		y.t.Errorf("%s\nthe screen:\n%s", d, y.String())
	}
}

func call(id, name, input string) *agent.Call {
	return &agent.Call{ID: id, Name: name, Input: json.RawMessage(input)}
}

func result(id, output string, failed bool) *agent.Result {
	return &agent.Result{ID: id, Output: json.RawMessage(output), IsError: failed}
}

func text(s string) agent.Event { return agent.Event{Kind: agent.EventText, Text: s} }

func TestATurn(t *testing.T) {
	bubble(t, 50, 24, func(y *talk) {
		screens := make(chan string)
		err := make(chan error)
		go func() {
			err <- y.Turn(y.t.Context(), func(ctx context.Context) error {
				at := func() { y.wait(150 * time.Millisecond); screens <- y.String() }
				at()
				y.Hear(text("I **look** at it.\n\nThen I te"))
				at()
				y.Hear(text("ll."))
				y.Hear(agent.Event{Kind: agent.EventMessage})
				a, b := call("1", "bash", `{"command":"go test \u001b[2J./..."}`),
					call("2", "weather__now", `{"city":"日本","days":2}`)
				y.Hear(agent.Event{Kind: agent.EventCall, Call: a})
				y.Hear(agent.Event{Kind: agent.EventCall, Call: b})
				y.Hear(agent.Event{Kind: agent.EventProgress, Call: b, Text: "start\nhalf\x1b]0;x\x07way\n"})
				at()
				y.Hear(agent.Event{
					Kind: agent.EventResult, Call: b, Took: 1234 * time.Millisecond, Result: result("2", `{"rain":true}`, false),
				})
				y.Hear(agent.Event{
					Kind: agent.EventResult, Call: a, Took: 2 * time.Second, Result: result("1", `"FAIL\u001b[31m\n\n\tone\nline\n"`,
						true),
				})
				y.Hear(agent.Event{Kind: agent.EventRetry, Text: "overloaded (HTTP 529)", Took: 2 * time.Second})
				y.Hear(agent.Event{Kind: agent.EventCompact, Dropped: 1})
				y.Hear(text("It rains."))
				y.Hear(agent.Event{Kind: agent.EventEnd})
				return nil
			})
		}()
		got := []string{<-screens, <-screens, <-screens}
		if e := <-err; e != nil {
			t.Error(e)
		}
		want := []string{
			"⠙ thinking  0.1s",
			"\nI **look** at it.\n\nThen I te\n\n⠴ thinking  0.3s",
			"\nI **look** at it.\n\nThen I tell.\n⠦ bash go test [2J./...  0.1s\n⠦ weather__now city=日本 days=2  0.1s  half]0;xw…",
		}
		for i := range want {
			if d := cmp.Diff(want[i], got[i]); d != "" {
				t.Errorf("%d: %s", i, d)
			}
		}
		y.shows(`
I **look** at it.

Then I tell.

✓ weather__now city=日本 days=2  1.23s
  {"rain":true}
✗ bash go test [2J./...  2s
  FAIL[31m
      one
  … 1 line more
! overloaded (HTTP 529); asked again in 2s
! the conversation is long: the model no longer
  sees 1 older result

It rains.`)
	})
}

// TestALongBlock checks that the end of a block is shown while it arrives, and all of it afterwards.
func TestALongBlock(t *testing.T) {
	bubble(t, 30, 8, func(y *talk) {
		err := y.Turn(y.t.Context(), func(ctx context.Context) error {
			for range 30 {
				y.Hear(text("- item\n"))
			}
			y.wait(time.Second)
			if n := strings.Count(y.String(), "\n"); n >= 8 {
				t.Errorf("%d lines are live on a screen of 8", n)
			}
			return nil
		})
		if n := strings.Count(y.String(), "• item"); n != 30 || err != nil {
			t.Errorf("%d items, %v", n, err)
		}
	})
}

// TestAWindowIsResized checks that each line appears once if the window is resized during a turn.
func TestAWindowIsResized(t *testing.T) {
	bubble(t, 60, 20, func(y *talk) {
		_ = y.Turn(y.t.Context(), func(ctx context.Context) error {
			y.Hear(agent.Event{
				Kind: agent.EventCall, Call: call("1", "bash", `{"command":"a long command that fills the line of the terminal"}`),
			})
			for _, width := range []int{40, 25, 70, 33} {
				y.wait(time.Second)
				y.Resize(width, 20)
			}
			y.wait(time.Second)
			return nil
		})
		y.shows("")
	})
}

func TestCtrlC(t *testing.T) {
	bubble(t, 60, 10, func(y *talk) {
		go func() { y.wait(time.Second); y.press("\x03") }()
		err := y.Turn(y.t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the first: %v", err)
		}
		stuck, end := make(chan struct{}), make(chan struct{})
		go func() { y.wait(time.Second); y.press("\x03\x03") }()
		err = y.Turn(y.t.Context(), func(ctx context.Context) error { <-stuck; close(end); return nil })
		if !errors.Is(err, chat.ErrLeave) {
			t.Errorf("the second: %v", err)
		}
		close(stuck)
		<-end
		y.keys.Close()
		if err := y.Turn(y.t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }); !errors.Is(err,
			context.Canceled) {
			t.Errorf("the terminal is gone: %v", err)
		}
	})
}

// TestTypeAhead checks that text typed during a turn appears in the next prompt and is not sent.
func TestTypeAhead(t *testing.T) {
	bubble(t, 60, 10, func(y *talk) {
		_ = y.Turn(y.t.Context(), func(ctx context.Context) error {
			y.press("next one\x7f\x7f\x7fquestion\r\x1b[A\tindented") // as a terminal pastes it
			y.wait(time.Second)
			return nil
		})
		go y.press("!\r")
		if got, err := y.ReadLine(y.t.Context(), "> "); got != "next question\n\tindented!" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// asked runs a turn with one question, and types each of the keys after a delay.
func (y *talk) asked(a agent.Ask, always string, keys ...string) (verdict agent.Verdict, err error) {
	_ = y.Turn(y.t.Context(), func(ctx context.Context) error {
		go func() {
			for _, k := range keys {
				y.wait(time.Second)
				y.press(k)
			}
		}()
		verdict, err = y.Ask(ctx, a, always)
		return err
	})
	return verdict, err
}

func askOf(server, tool, input string) agent.Ask {
	name := tool
	if server != "" {
		name = server + "__" + tool
	}
	return agent.Ask{
		Tool: toolbox.Descriptor{Name: name, Server: server, Tool: tool},
		Call: toolbox.Call{Name: name, Input: json.RawMessage(input)},
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		keys   []string
		always string
		want   agent.Verdict
		err    error
	}{
		{[]string{"y\r"}, "", agent.Once, nil},
		{[]string{"YES\r"}, "", agent.Once, nil},
		{[]string{"a\r"}, "this", agent.Always, nil},
		{[]string{"a\r", "n\r"}, "", agent.Refuse, nil},
		{[]string{"never\r"}, "", agent.Never, nil},
		{[]string{"\r", "yes please\r", "\x1b[200~y\nn\x1b[201~\r", "n\r"}, "", agent.Refuse, nil},
		{[]string{"x\x7fy", "\r"}, "", agent.Once, nil},
		{[]string{"y\x03"}, "", agent.Refuse, context.Canceled},
		{[]string{"\x04"}, "", agent.Refuse, context.Canceled},
	} {
		bubble(t, 60, 20, func(y *talk) {
			if got, err := y.asked(askOf("", "bash", `{"command":"ls"}`), c.always, c.keys...); got != c.want ||
				!errors.Is(err, c.err) {
				t.Errorf("%q: %v, %v; want %v, %v", c.keys, got, err, c.want, c.err)
			}
		})
	}
}

// TestCancelling checks that Esc and Ctrl-C cancel a turn. A second Ctrl-C leaves, unless other keys came between.
func TestCancelling(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		want error
	}{
		{"Ctrl-C", []string{"\x03"}, context.Canceled},
		{"Ctrl-C twice", []string{"\x03", "\x03"}, chat.ErrLeave},
		{"text in between", []string{"\x03", "next", "\x03"}, context.Canceled},
		{"Esc", []string{"\x1b"}, context.Canceled},
		{"Esc and Ctrl-C", []string{"\x1b", "\x03"}, context.Canceled},
		{"Esc and Ctrl-C twice", []string{"\x1b", "\x03", "\x03"}, chat.ErrLeave},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, 50, 10, func(y *talk) {
				ended := make(chan struct{})
				err := y.Turn(y.t.Context(), func(ctx context.Context) error {
					defer close(ended)
					for _, k := range c.keys {
						y.press(k)
						y.wait(time.Second)
					}
					<-ctx.Done()
					return ctx.Err()
				})
				<-ended
				if !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
			})
		})
	}
}

// TestWhatWasTypedBeforeIsNoAnswer checks that keys before a question, or continuous typing while it appears, do not
// answer it.
func TestWhatWasTypedBeforeIsNoAnswer(t *testing.T) {
	bubble(t, 60, 20, func(y *talk) {
		var verdict agent.Verdict
		_ = y.Turn(y.t.Context(), func(ctx context.Context) (err error) {
			y.press("y\ry\r")
			go func() {
				for range 20 { // ten times a second
					y.press("y\r")
					y.wait(100 * time.Millisecond)
				}
				y.wait(time.Second)
				y.press("n\r")
			}()
			y.wait(time.Millisecond)
			verdict, err = y.Ask(ctx, askOf("", "bash", `{"command":"ls"}`), "")
			return err
		})
		if verdict != agent.Refuse {
			t.Errorf("%v", verdict)
		}
		y.shows("\n? bash wants to run\n  │ command: ls\n  y once · n no · n WHY · never\n  allow? n")
	})
}

// TestQuestionsShowEverything checks that no part of a call can be hidden, scrolled away or mistaken for the question
// itself.
func TestQuestionsShowEverything(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  agent.Ask
		want string
	}{
		{"a command", askOf("", "bash", `{"command":"ls\n  allow? y\nrm -rf /","timeout":5}`),
			"? bash wants to run\n  │ command:\n  │   ls\n  │     allow? y\n  │   rm -rf /\n  │ timeout: 5"},
		{"a long one", askOf("", "bash", `{"command":"ls`+strings.Repeat(" ", 40)+`; evil"}`),
			"? bash wants to run\n  │ command: ls\n  │                 ; evil"},
		{"hidden characters", askOf("", "bash", `{"command":"a\u001b[2Kb\rc\u202ed\u200be\tf\u00a0"}`),
			"? bash wants to run\n  │ command: a\\u{1b}[2Kb\\u{d}c\\u{202e}d\n  │ \\u{200b}e    f\\u{a0}"},
		{"a server's", askOf("git\x1bhub", "create", `{"a":{"b":1},"a":"twice","\u001b[A":null}`),
			"? git\\u{1b}hub__create wants to run\n  │ create of the server git\\u{1b}hub\n  │ a: {\"b\":1}\n  │ a: twice\n  " +
				"│ \\u{1b}[A: null"},
		{"an edit", askOf("", "edit", `{"path":"a.go","old":"one","new":"two\nthree"}`),
			"? edit wants to run\n  │ path: a.go\n  │ old:\n  │ - one\n  │ new:\n  │ + two\n  │ + three"},
		{"a server's edit is no diff", askOf("x", "edit", `{"old":"one"}`), "? x__edit wants to run\n  │ edit of the server x\n  │ old: one"},
		{"no object", askOf("", "bash", `["x"] `+"\n"), "? bash wants to run\n  │   [\"x\"]\n  │"},
		{"not listed", agent.Ask{Tool: toolbox.Descriptor{Name: "x__y"}, Call: toolbox.Call{Name: "x__y", Input: json.RawMessage(`{}`)}},
			"? x__y wants to run\n  │ no server lists it now, so its defi\n  │ nition is unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, 40, 20, func(y *talk) {
				_, _ = y.asked(c.ask, "it", "n\r")
				y.shows(c.want + "\n  y once · a always: it · n no · n WHY ·\n  never\n  allow? n")
			})
		})
	}
}

// TestRefusals checks that the model receives the reason, and that Esc refuses.
func TestRefusals(t *testing.T) {
	for keys, want := range map[string]string{
		"n\r": "", "\x1b": "",
		"n  use pnpm \r": `the user refused this call, with the reason: "use pnpm". Do not repeat the same call`,
		"y maybe\rno \r": "", "no \x1b[2Jevil\r": `the user refused this call, with the reason: "evil". Do not repeat the same call`,
	} {
		bubble(t, 60, 20, func(y *talk) {
			verdict, err := y.asked(askOf("", "bash", `{"command":"npm i"}`), "",
				slices.DeleteFunc(strings.SplitAfter(keys, "\r"), func(s string) bool { return s == "" })...)
			got := ""
			if why, ok := errors.AsType[agent.Refusal](err); ok {
				got, err = string(why), nil
			}
			if verdict != agent.Refuse || got != want || err != nil {
				t.Errorf("%q: %v, %q, %v", keys, verdict, got, err)
			}
		})
	}
}

// TestFill checks that invalid values of a form are asked for again, and that untrusted text is shown as text.
func TestFill(t *testing.T) {
	positive := func(text string) error {
		if text == "0" {
			return errors.New("at least\x1b[2J 1")
		}
		return nil
	}
	form := chat.Form{Head: "server s\x1b]0;x\x07 asks", Lines: []string{"How many?\n  answer? y"}, Yes: "answers",
		Fields: []chat.Field{{Prompt: "name\x1b[A (any text)", Check: positive}, {Prompt: "n", Check: positive}}}
	for _, c := range []struct {
		keys []string
		want []string
		err  error
	}{
		{[]string{"y\r", "me\r", "0\r", "2\r"}, []string{"me", "2"}, nil},
		{[]string{"what?\r", "n\r"}, nil, chat.ErrDeclined},
		{[]string{"\x1b"}, nil, chat.ErrDismissed},
		{[]string{"y\r", "me\r", "\x1b"}, nil, chat.ErrDismissed},
		{[]string{"\x03"}, nil, context.Canceled},
	} {
		bubble(t, 60, 20, func(y *talk) {
			var got []string
			err := y.Turn(y.t.Context(), func(ctx context.Context) (err error) {
				go func() {
					for _, k := range c.keys {
						y.wait(time.Second)
						y.press(k)
					}
				}()
				got, err = y.Fill(ctx, form)
				return err
			})
			if d := cmp.Diff(c.want, got); d != "" || !errors.Is(err, c.err) {
				t.Errorf("%q: %v, %s", c.keys, err, d)
			}
			if c.want != nil {
				y.shows("\n? server s\\u{1b}]0;x\\u{7} asks\n  │ How many?\n  │   answer? y\n  y answers · n declines\n  " +
					"answer? y\n" +
					"  name\\u{1b}[A (any text): me\n  n: 0\n  at least[2J 1\n  n: 2")
			}
		})
	}
	bubble(t, 60, 20, func(y *talk) {
		if _, err := y.Fill(t.Context(), form); !errors.Is(err, chat.ErrDismissed) {
			t.Errorf("without a turn: %v", err)
		}
	})
}

func TestLongArgumentsAreShownByPages(t *testing.T) {
	long := `{"path":"x","content":"` + strings.Repeat(`line\n`, 30) + `"}`
	for _, c := range []struct {
		keys  []string
		want  agent.Verdict
		lines int
	}{
		{[]string{"y\r", "\r", "\r", "\r", "\r", "y\r"}, agent.Once, 30},
		{[]string{"\r", "s\r", "y\r"}, agent.Once, 10},
		{[]string{"n\r"}, agent.Refuse, 4},
	} {
		bubble(t, 70, 12, func(y *talk) {
			got, err := y.asked(askOf("", "write", long), "", c.keys...)
			if n := strings.Count(y.String(), "│   line"); got != c.want || err != nil || n != c.lines {
				t.Errorf("%q: %v, %v, %d lines\n%s", c.keys, got, err, n, y.String())
			}
		})
	}
}
