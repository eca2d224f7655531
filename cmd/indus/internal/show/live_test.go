package show_test

import (
	"fmt"
	"strings"
	"testing"

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
