package show_test

import (
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/testkit/linear"
)

// TestWrappedTextHasTheBreaksOfItsReader has the needs of all callers: the usage of a flag is a raw string with line
// breaks and tabs, and a line of markdown has no-break spaces that must stay.
func TestWrappedTextHasTheBreaksOfItsReader(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{"one\n\t\ttwo three\r\nfour", "one two three\nfour"},
		{"one two 1000\u00a0km five", "one two\n1000\u00a0km five"},
		{"one two three\u202ffour", "one two\nthree\u202ffour"},
		{"one\u2003two\u3000three four", "one two three\nfour"},
		{"\x1b[1mone\x1b[0m two three four", "\x1b[1mone\x1b[0m two three\nfour"},
		{"averylongword-that-has-no-blank two", "averylongword-that-has-no-blank\ntwo"},
		{"", ""},
	} {
		if got := strings.Join(show.WrapTo(c.text, 0, 14), "\n"); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestReflow(t *testing.T) {
	const help = `Text that
is one paragraph.

  {"an": "example",
   "stays": "as it is"}

Usage:
  indus one [FLAG]... NAME
  indus two

List:
  --long NAME  text of
               the flag
  --longer-than-the-column NAME
               text below
  - a point of a list that is long
  One more
  sentence.

A session:
  $ indus one two three four five six
  NAME   STATE
  seven  ready  with a long text at the end`
	const want = `Text that is one paragraph.

  {"an": "example",
   "stays": "as it is"}

Usage:
  indus one [FLAG]... NAME
  indus two

List:
  --long NAME  text of the
      flag
  --longer-than-the-column
      NAME
      text below
  - a point of a list that
    is long
  One more sentence.

A session:
  $ indus one two three \
      four five six
  NAME   STATE
  seven  ready  with a long
      text at the end`
	if got := show.Reflow(help, 27); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
}

// TestReflowIsLinear checks that a long line or a long paragraph takes linear time.
func TestReflowIsLinear(t *testing.T) {
	for name, shape := range map[string]string{
		"a command": "  $ a b c ", "a paragraph": "some words\n", "an item": "  --x  a b\n        c d ",
	} {
		linear.Check(t, name, 100*time.Millisecond, func(size int) func() {
			text := strings.Repeat(shape, size/len(shape))
			return func() { show.Reflow(text, 80) }
		})
	}
}
