package tools_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/cmd/indus/internal/tools"
	"github.com/indusagi/indus/toolbox"
)

// TestTextsOfAServerFitTheTerminal checks that no line is left for the terminal to wrap once more.
func TestTextsOfAServerFitTheTerminal(t *testing.T) {
	d := toolbox.Descriptor{
		Name: "s__a", Server: "s", Tool: "a", Description: "A description that needs more than one line.",
		Schema: []byte(`{"type":"object","properties":{"b":{"type":"string","description":"A text that needs two lines."}}}`),
	}
	got, _, _ := strings.Cut(tools.ToolHelp(d, time.Time{}, 30), "\nHow ")
	const want = `s__a, a tool of s.

  A description that needs
  more than one line.

Usage:
  indus mcp call s__a [ARGUMENT]...

Arguments (a "?" marks optional ones):
  b?: string
      A text that needs two
      lines.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
