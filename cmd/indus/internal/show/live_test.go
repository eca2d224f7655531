package show_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/cmd/indus/internal/show"
)

func TestLiveLinesStandWhereTheyStoodBefore(t *testing.T) {
	var s screen
	var d show.Drawing
	fmt.Fprint(&s, "$ indus mcp ls\n")
	d.Draw(&s, []string{"one  connecting  0s", "two  connecting  0s"}, 20)
	d.Draw(&s, []string{"one  ready  3 tools, and more of it", "two  connecting  100ms"}, 20)
	if diff := cmp.Diff("$ indus mcp ls\none  ready  3 tool…\ntwo  connecting  1…\n", s.String()); diff != "" {
		t.Error(diff)
	}
	d.Draw(&s, []string{"two  ready"}, 20)
	fmt.Fprint(&s, "") // nothing comes between
	d.Draw(&s, nil, 20)
	d.Draw(&s, nil, 20)
	if diff := cmp.Diff("$ indus mcp ls\n", s.String()); diff != "" {
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

// screen is as much of a terminal as the live lines need: its lines, the cursor
// at the start of one of them.
type screen struct {
	lines []string
	row   int
}

func (s *screen) Write(b []byte) (int, error) {
	text := string(b)
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\x1b[?7l"), strings.HasPrefix(text, "\x1b[?7h"):
			text = text[5:]
		case strings.HasPrefix(text, "\x1b[J"):
			s.lines, text = s.lines[:s.row], text[3:]
		case strings.HasPrefix(text, "\x1b["):
			n, final := 0, ' '
			if _, err := fmt.Sscanf(text, "\x1b[%d%c", &n, &final); err != nil || final != 'A' {
				return 0, fmt.Errorf("unknown sequence %q", text)
			}
			s.row -= n
			text = text[strings.IndexByte(text, 'A')+1:]
		case text[0] == '\r':
			text = text[1:]
		default:
			line, rest, _ := strings.Cut(text, "\n")
			s.lines, s.row, text = append(s.lines[:s.row], line), s.row+1, rest
		}
	}
	return len(b), nil
}

func (s *screen) String() string { return strings.Join(append(s.lines[:s.row:s.row], ""), "\n") }
