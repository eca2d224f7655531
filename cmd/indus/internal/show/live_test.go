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
	var d show.Drawing
	fmt.Fprint(s, "$ indus mcp ls\r\n")
	d.Draw(s, []string{"one  connecting  0s", "two  connecting  0s"}, 20)
	d.Draw(s, []string{"one  ready  3 tools, and more of it", "two  connecting  100ms"}, 20)
	if diff := cmp.Diff("$ indus mcp ls\none  ready  3 tool…\ntwo  connecting  1…", s.String()); diff != "" {
		t.Error(diff)
	}
	d.Draw(s, []string{"two  ready"}, 20)
	fmt.Fprint(s, "") // nothing comes between
	d.Draw(s, nil, 20)
	d.Draw(s, nil, 20)
	if diff := cmp.Diff("$ indus mcp ls", s.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLiveLinesOfANarrowerTerminalWereWrapped(t *testing.T) {
	var d show.Drawing
	var b strings.Builder
	d.Draw(&b, []string{strings.Repeat("x", 50), "short"}, 80)
	b.Reset()
	d.Draw(&b, []string{"now"}, 20) // 50 characters are three rows of 20
	if !strings.Contains(b.String(), "\x1b[4A") {
		t.Errorf("%q", b.String())
	}
}
