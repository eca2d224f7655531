package lineedit_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/cmd/indus/internal/lineedit"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/testkit/screen"
)

// typed is an editor and its user, inside a synctest bubble.
type typed struct {
	*screen.Screen
	keys   *io.PipeWriter
	editor *lineedit.Editor
}

func atTerminal(t *testing.T, width, height int) *typed {
	keys, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	s := screen.New(width, height, func(r rune) int { return show.Columns(string(r)) })
	return &typed{s, w, &lineedit.Editor{In: lineedit.NewInput(keys), Out: s, Size: s.Size}}
}

// keep types text without sending it, and returns the screen.
func (y *typed) keep(s string) string {
	_, _ = io.WriteString(y.keys, s)
	synctest.Wait()
	return y.String()
}

// read types a text in pieces and returns the result.
func (y *typed) read(t *testing.T, pieces ...string) (string, error) {
	t.Helper()
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		text, err := y.editor.Read(t.Context(), "> ")
		done <- outcome{text, err}
	}()
	for _, p := range pieces {
		y.keep(p)
	}
	o := <-done
	return o.text, o.err
}

func TestKeys(t *testing.T) {
	const left, right, up, down, home, end, del = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B", "\x1b[H", "\x1bOF", "\x1b[3~"
	for _, c := range []struct{ name, keys, want string }{
		{"letters", "hello\r", "hello"},
		{"in the middle", "hllo" + left + left + left + "e\r", "hello"},
		{"backspace and delete", "abcd" + left + "\x7f" + del + "\r", "ab"},
		{"home and end", "b" + home + "a" + end + "c\r", "abc"},
		{"kill", "one two\x17three" + "\x01\x0b" + "x\r", "x"},
		{"kill before", "abc" + left + "\x15\r", "c"},
		{"words", "one two" + "\x1bb\x1b[1;5D" + "X" + "\x1bf" + "Y\r", "XoneY two"},
		{"wide letters", "日本" + left + "x\r", "日x本"},
		{"a mark goes with its letter", "e\u0301f" + left + left + "x\r", "xe\u0301f"},
		{"a mark goes alone", "e\u0301\x7f\r", "e"},
		{"a backslash goes on", "a\\\rb\r", "a\nb"},
		{"Alt-Enter goes on", "a\x1b\rb\x1b\nc\n", "a\nb\nc"},
		{"lines above and below", "abc\x1b\rd" + up + "X" + down + "Y\r", "aXbc\ndY"},
		{"a paste does not send", "\x1b[200~one\rtwo\r\nthree\n\x1b[201~!\r", "one\ntwo\nthree\n!"},
		{"a paste drives nothing", "\x1b[200~a\x1b[2J\u009bb\x07\x1b]0;t\x07\u202ec\u2066\U000E0041\x1b[201~\r", "a[2Jb]0;tc"},
		{"keys without a meaning", "a\x1b[15~\x1b[1;9Z\x1bOP\x1b\x1bxb\x00\x1c\r", "ab"},
		{"a pasted tab", "\x1b[200~if x:\n\treturn\t1\x1b[201~" + left + "\x7f\t\r", "if x:\n\treturn1"},
		{"Ctrl-D deletes", "ab\x01\x04\r", "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				whole, pieces := atTerminal(t, 40, 10), atTerminal(t, 40, 10)
				if got, err := whole.read(t, c.keys); got != c.want || err != nil {
					t.Errorf("%q, %v; want %q", got, err, c.want)
				}
				if got, err := pieces.read(t, strings.Split(c.keys, "")...); got != c.want || err != nil {
					t.Errorf("key by key: %q, %v; want %q", got, err, c.want)
				}
				if u := append(whole.Unknown(), pieces.Unknown()...); u != nil {
					t.Errorf("the terminal was sent %q", u)
				}
			})
		})
	}
}

func TestEnds(t *testing.T) {
	for keys, want := range map[string]error{
		"abc\x03": lineedit.ErrTyped, "a\x7f\x03": lineedit.ErrTyped, "\x03": lineedit.ErrInterrupt, "\x04": io.EOF,
	} {
		synctest.Test(t, func(t *testing.T) {
			if _, err := atTerminal(t, 40, 10).read(t, keys); !errors.Is(err, want) {
				t.Errorf("%q: %v, want %v", keys, err, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		y := atTerminal(t, 40, 10)
		y.keys.Close()
		if _, err := y.read(t); err != io.EOF {
			t.Errorf("a terminal that is gone: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := atTerminal(t, 40, 10).editor.Read(ctx, "> "); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestTheScreen checks that a text of several rows appears once after each edit and each resize.
func TestTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := atTerminal(t, 20, 6)
		_, _ = io.WriteString(y.Screen, "before\r\n")
		go func() { _, _ = y.editor.Read(t.Context(), "> ") }()
		got := []string{
			y.keep("a long line that wraps"),
			y.keep("\x1b\r日本語日本語日本語"),
			y.keep("\x1b[A\x1b[A\x1b[HX"),
		}
		for _, width := range []int{12, 30, 9, 20} {
			y.Resize(width, 12)
			time.Sleep(time.Second)
			synctest.Wait()
			got = append(got, y.String())
		}
		row, column := y.Cursor()
		want := []string{
			"before\n> a long line that \n  wraps",
			"before\n> a long line that \n  wraps\n  日本語日本語日本\n  語",
			"before\n> Xa long line that\n   wraps\n  日本語日本語日本\n  語",
			"before\n> Xa long l\n  ine that \n  wraps\n  日本語日\n  本語日本\n  語",
			"before\n> Xa long line that wraps\n  日本語日本語日本語",
			"before\n> Xa lon\n  g line\n   that \n  wraps\n  日本語\n  日本語\n  日本語",
			"before\n> Xa long line that\n   wraps\n  日本語日本語日本\n  語",
		}
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], " \n", "\n")
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if row != 1 || column != 3 {
			t.Errorf("the cursor is at %d, %d", row, column)
		}
		_ = y.keep("\r")
	})
}

// TestATextTallerThanTheScreen checks that the rows around the cursor are shown.
func TestATextTallerThanTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := atTerminal(t, 20, 4)
		go func() { _, _ = y.editor.Read(t.Context(), "> ") }()
		got := []string{y.keep("1\x1b\r2\x1b\r3\x1b\r4\x1b\r5"), y.keep("\x1b[A\x1b[A\x1b[A\x1b[A")}
		if d := cmp.Diff([]string{"  3\n  4\n  5", "> 1\n  2\n  3"}, got); d != "" {
			t.Error(d)
		}
		_ = y.keep("\r")
	})
}

func TestCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := atTerminal(t, 40, 6)
		y.editor.Complete = func(line string) (offer []string) {
			for _, c := range []string{"/help", "/mcp ", "/model "} {
				if strings.HasPrefix(c, line) {
					offer = append(offer, c)
				}
			}
			return offer
		}
		go func() { _, _ = y.editor.Read(t.Context(), "> ") }()
		got := []string{y.keep("/m\t"), y.keep("o"), y.keep("\t"), y.keep("\x15x\t"), y.keep("\x15/h\t")}
		if d := cmp.Diff([]string{"> /m\n  /mcp   /model", "> /mo", "> /model", "> x", "> /help"}, got); d != "" {
			t.Error(d)
		}
		_ = y.keep("\r")
	})
}

func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state", "history.jsonl")
		h := lineedit.OpenHistory(path)
		for _, s := range []string{
			"first", "two\nlines", "two\nlines", " not this", "export K=ghp_0123456789abcdefghij", "",
		} {
			if err := h.Add(s); err != nil {
				t.Fatal(err)
			}
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		y := atTerminal(t, 40, 6)
		y.editor.History = lineedit.OpenHistory(path)
		if d := cmp.Diff([]string{"first", "two\nlines"}, y.editor.History.All()); d != "" {
			t.Error(d)
		}
		const up, down = "\x1b[A", "\x1b[B"
		if got, _ := y.read(t, "draft", up, up, up, up, "!\r"); got != "first!" { // one of them moves within the two lines
			t.Errorf("%q", got)
		}
		if got, _ := y.read(t, "draft", up, down, "\r"); got != "draft" {
			t.Errorf("%q", got)
		}
	})
}

// TestSearch checks that Ctrl-R finds the newest text with the query, and the next older one when pressed again.
func TestSearch(t *testing.T) {
	h := lineedit.OpenHistory(filepath.Join(t.TempDir(), "history.jsonl"))
	for _, s := range []string{"make test", "go build", "Make bench", "git log"} {
		if err := h.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	const search, escape = "\x12", "\x1b"
	for _, c := range []struct{ name, keys, want string }{
		{"the newest", search + "make\r", "Make bench"},
		{"the one before", search + "make" + search + "\r", "make test"},
		{"no more", search + "make" + search + search + "\r", "make test"},
		{"another query", search + "makex\x7f" + "\r", "Make bench"},
		{"nothing has it", "draft" + search + "nothing\r", "draft"},
		{"goes on in the text", search + "log\x1b[D" + "X\r", "git loXg"},
		{"Ctrl-C brings the draft back", "draft" + search + "make\x03!\r", "draft!"},
		{"Esc keeps the text", search + "build" + escape + "|!\r", "go build!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y := atTerminal(t, 40, 6)
				y.editor.History = h
				go func() {
					for i, part := range strings.Split(c.keys, "|") {
						if i > 0 {
							time.Sleep(time.Second) // in the bubble; ESC then is not part of a sequence
						}
						_, _ = io.WriteString(y.keys, part)
					}
				}()
				if got, err := y.read(t); got != c.want || err != nil {
					t.Errorf("%q, %v; want %q", got, err, c.want)
				}
				if u := y.Unknown(); u != nil {
					t.Errorf("the terminal was sent %q", u)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		y := atTerminal(t, 40, 6)
		y.editor.History = h
		go func() { _, _ = y.editor.Read(t.Context(), "> ") }()
		got := []string{y.keep(search + "mak"), y.keep("ing"), y.keep("\x1b[C")}
		if d := cmp.Diff([]string{"search \"mak\": Make bench", "not found \"making\": Make bench", "> Make bench"},
			got); d != "" {
			t.Error(d)
		}
		_ = y.keep("\r")
	})
}

// TestEscape checks that Esc ends a text if EscapeEnds is set, and otherwise has no effect.
func TestEscape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := atTerminal(t, 40, 6)
		y.editor.EscapeEnds = true
		if _, err := y.read(t, "n", "\x1b"); !errors.Is(err, lineedit.ErrEscape) {
			t.Errorf("%v", err)
		}
		y.editor.EscapeEnds = false
		go func() {
			_, _ = io.WriteString(y.keys, "a\x1b")
			time.Sleep(time.Second)
			_, _ = io.WriteString(y.keys, "b\r")
		}()
		if got, err := y.read(t); got != "ab" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestTheHistoryIsBounded checks the limit, and that invalid lines are skipped.
func TestTheHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat("\"old\"\nnothing\n7\n", 1700)+"\"new\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := lineedit.OpenHistory(path).All()
	if len(all) != 1000 || all[999] != "new" {
		t.Errorf("%d texts", len(all))
	}
	data, err := os.ReadFile(path)
	if n := strings.Count(string(data), "\n"); n != 1000 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("a\x1b[200~b\x1b[201~\x1b[A\t\x1b\rc")
	f.Fuzz(func(t *testing.T, keys string) {
		r, w := io.Pipe()
		s := screen.New(20, 5, func(r rune) int { return show.Columns(string(r)) })
		e := &lineedit.Editor{In: lineedit.NewInput(r), Out: s, Size: s.Size}
		go func() {
			_, _ = io.WriteString(w, keys)
			w.Close()
		}()
		for {
			if _, err := e.Read(context.Background(), "> "); err == io.EOF {
				break
			}
		}
		for range e.In.Events { // until Ctrl-D
		}
		if u := s.Unknown(); u != nil {
			t.Errorf("%q", u)
		}
	})
}

// TestSuspend checks that the shell gets the terminal in its original mode, and that pastes are marked again
// afterwards.
func TestSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := atTerminal(t, 40, 5)
		var all strings.Builder
		y.editor.Out = io.MultiWriter(y.Screen, &all)
		modes := regexp.MustCompile(`\x1b\[\?2004[hl]`)
		var stopped []string
		y.editor.Suspend = func() { stopped = modes.FindAllString(all.String(), -1) }
		if got, err := y.read(t, "ab\x1a", "c\r"); got != "abc" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		on, off := "\x1b[?2004h", "\x1b[?2004l"
		if d := cmp.Diff([]string{on, off}, stopped); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{on, off, on, off}, modes.FindAllString(all.String(), -1)); d != "" {
			t.Error(d)
		}
	})
}
