package show_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/testkit/screen"
)

func TestLiveLinesStandWhereTheyStoodBefore(t *testing.T) {
	s := screen.New(80, 24, func(r rune) int { return show.Columns(string(r)) })
	d := show.NewCanvas(s, func() (int, int) { return 20, 24 })
	draw := func(lines ...string) { d.Draw(func(int) []string { return lines }) }
	fmt.Fprint(s, "$ indus mcp ls\r\n")
	draw("one  connecting  0s", "two  connecting  0s")
	draw("one  ready  3 tools, and more of it", "two  connecting  100ms")
	if diff := cmp.Diff("$ indus mcp ls\none  ready  3 tool…\ntwo  connecting  1…", s.String()); diff != "" {
		t.Error(diff)
	}
	draw("two  ready")
	fmt.Fprint(s, "") // no output between two draws
	d.Clear()
	d.Clear()
	if diff := cmp.Diff("$ indus mcp ls", s.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLiveLinesOfANarrowerTerminalWereWrapped(t *testing.T) {
	width := 80
	var b strings.Builder
	d := show.NewCanvas(&b, func() (int, int) { return width, 24 })
	d.Draw(func(int) []string { return []string{strings.Repeat("x", 50), "short"} })
	b.Reset()
	width = 20
	d.Draw(func(int) []string { return []string{"now"} }) // 50 characters are three rows of 20
	if !strings.Contains(b.String(), "\x1b[4A") {
		t.Errorf("%q", b.String())
	}
}

// TestAWaitIsShownAfterItsDelay checks that a short wait draws nothing, and that a long wait is drawn and removed.
func TestAWaitIsShownAfterItsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := screen.New(80, 24, func(r rune) int { return show.Columns(string(r)) })
		c := show.NewCanvas(s, func() (int, int) { return 80, 24 })
		stop := c.Live(time.Second, func(_ int, elapsed time.Duration) []string {
			return []string{"searching  " + elapsed.Truncate(time.Second).String()}
		})
		for _, step := range []struct {
			after time.Duration
			want  string
		}{{900 * time.Millisecond, ""}, {150 * time.Millisecond, "searching  1s"}, {2 * time.Second, "searching  3s"}} {
			time.Sleep(step.after) // in the fake time of the bubble
			synctest.Wait()
			if got := s.String(); got != step.want {
				t.Errorf("%q, want %q", got, step.want)
			}
		}
		stop()
		stop()
		if got := s.String(); got != "" {
			t.Errorf("the line stays: %q", got)
		}
	})
}

// TestTheEndOfTheInputIsNoAnswer checks the error for Ctrl-D at a question.
func TestTheEndOfTheInputIsNoAnswer(t *testing.T) {
	s := show.New(strings.NewReader(""), io.Discard, io.Discard)
	yes, err := s.Confirm(t.Context(), "write it?", s.Lines())
	if yes || !errors.Is(err, io.EOF) || err.Error() != "no answer was given" {
		t.Errorf("%v, %v", yes, err)
	}
}
