package markdown_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/cmd/indus/internal/markdown"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/testkit/linear"
	"github.com/indusagi/indus/internal/testkit/screen"
	"github.com/indusagi/indus/internal/text"
)

func TestRender(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"paragraphs", "one two three four five\nsix\n\nseven", "one two three four\nfive six\n\nseven"},
		{"a hard break", "one  \ntwo", "one\ntwo"},
		{"a heading", "## A `b` *c*", "## A `b` *c*"},
		{"emphasis", "a **b** *c* ~~d~~ `e`f", "a **b** *c* ~~d~~\n`e`f"},
		{"a list", "- a\n- b is longer than the line\n  - c\n- [x] d\n-", "• a\n• b is longer than\n  the line\n  • c\n• [x] d\n•"},
		{"a loose list", "3. a\n\n   b\n4. c", "3. a\n\n   b\n\n4. c"},
		{"a quotation", "> a\n>\n> - b\n>   c", "│ a\n│\n│ • b c"},
		{"code", "```go\nif x {\n\tvery long lines of code stay as they are\n}\n```", "  if x {\n      very long lines of code stay as they are\n  }"},
		{"code in a list", "- a\n\n      x\n      y", "• a\n\n    x\n    y"},
		{"a rule", "a\n\n---", "a\n\n────────────────────"},
		{"a table", "|a|b|\n|-|-|\n|long|`c`|\n|日本|d|", "a     b\nlong  `c`\n日本  d"},
		{"a wide table", "|a|b|\n|-|-|\n|a long cell|another one|\n|x|y|", "a: a long cell\nb: another one\na: x\nb: y"},
		{"links", "[a](http://b/c) <http://d> ![e](f.png) [http://g](http://g)", "a (http://b/c)\nhttp://d [image: e]\n(f.png) http://g"},
		{"a link that lies", "[http://good](http://evil \"title\")", "http://good\n(http://evil)"},
		{"HTML is text", "a <b onclick=\"x\">c</b>\n\n<script>\nx()\n</script>", "a <b\nonclick=\"x\">c</b>\n\n  <script>\n  x()\n</script>"},
		{"references", "&lt;a&gt; &amp; \\*b\\*", "<a> & *b*"},
		{"wide letters", "日本語日本 日本語", "日本語日本 日本語"},
		{"nothing", "", ""},
		{"a reference drives nothing", "a&#27;[31mb&#x9b;1m &#7; &#x202e;c", "a[31mb1m c"},
		{"nor does the text", "a\x1b[31mb\u009b1m \x07 \u202ec\U000E0041", "a[31mb1m c"},
		{"nor code, nor an address", "`\x1b[2J` [a](<http://x\x1b]8;;http://y\x07>)\n\n```\n\x1b[H\r\n```", "`[2J` a\n(http://x]8;;http://y)\n\n  [H"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, strings.Join(markdown.Render(c.source, 20, false), "\n")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNoBreakSpace(t *testing.T) {
	const source = "one two three 4\u00a0kilometres"
	if got := markdown.Render(source, 20, false); !slices.Equal(got, []string{"one two three", "4\u00a0kilometres"}) {
		t.Errorf("%q", got)
	}
}

func TestColors(t *testing.T) {
	got := strings.Join(markdown.Render("# a\n\n**b *c*** `d` [e](f)\n\n> g", 40, true), "\n")
	const want = "\x1b[1m#\x1b[0m \x1b[1ma\x1b[0m\n\n\x1b[1mb\x1b[0m \x1b[1;3mc\x1b[0m \x1b[36md\x1b[0m e " +
		"\x1b[2m(f)\x1b[0m\n\n\x1b[2m│\x1b[0m g"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSplitter(t *testing.T) {
	const source = "# one\n\ntwo\ntwo\n\n\n- three\n\n  three\n- " +
		"three\n\n```go\nfour\n\nfour\n~~~\n```\n\n~~~~\nfive\n~~~\n\n~~~~\n\n1. six\n\n2. seven\r\n\r\neight"
	want := []string{
		"# one\n", "two\ntwo\n\n", "- three\n\n  three\n- three\n", "```go\nfour\n\nfour\n~~~\n```\n",
		"~~~~\nfive\n~~~\n\n~~~~\n", "1. six\n", "2. seven\n", "eight",
	}
	for _, size := range []int{1, 3, len(source)} {
		var s markdown.Splitter
		var got []string
		for rest := source; rest != ""; {
			n := min(size, len(rest))
			got = append(got, s.Add(rest[:n])...)
			rest = rest[n:]
		}
		if d := cmp.Diff(want, append(got, s.End()...)); d != "" {
			t.Errorf("in pieces of %d: %s", size, d)
		}
		if s.Rest() != "" {
			t.Errorf("%q", s.Rest())
		}
	}
}

// TestSplittingIsLinear checks that a long line that arrives in small pieces takes linear time.
func TestSplittingIsLinear(t *testing.T) {
	linear.Check(t, "a line in pieces", 100*time.Millisecond, func(size int) func() {
		return func() {
			var s markdown.Splitter
			for range size / 4 {
				s.Add("abc ")
			}
			s.End()
		}
	})
}

// TestHostileMarkup checks that hostile text is rendered fast and without a panic.
func TestHostileMarkup(t *testing.T) {
	code := "```\n" + strings.Repeat("code\n", 20_000) + "```\n"
	for name, source := range map[string]string{
		"images in images":   strings.Repeat("![", 60) + "a" + strings.Repeat("](b)", 60),
		"a rule in quotes":   strings.Repeat("> ", 60) + "---",
		"a rule in lists":    strings.Repeat("- ", 60) + "\n***",
		"brackets":           strings.Repeat("[(*_`", 100_000),
		"quotes":             strings.Repeat("> ", 200_000),
		"brackets past code": "```\n```\n" + strings.Repeat("[", 400_000),
		"code":               code,
		"cells": strings.Repeat("|a", 1000) + "|\n" + strings.Repeat("|-", 1000) + "|\n" + strings.Repeat("|\n",
			1500),
		"empty cells": strings.Repeat("|a", 40) + "|\n" + strings.Repeat("|-", 40) + "|\n" + strings.Repeat("|\n", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			lines := markdown.Render(source, 20, false)
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %v", took)
			}
			if name != "code" && len(lines) > len(source) {
				t.Errorf("%d lines of %d bytes", len(lines), len(source))
			}
			if name == "code" && len(lines) != 20_000 {
				t.Errorf("%d lines of code", len(lines))
			}
		})
	}
}

// FuzzRender checks that the output contains only text and styles, and that character references hide nothing.
func FuzzRender(f *testing.F) {
	f.Add("# a\n\n- b `c`\n\n|d|e|\n|-|-|\n|&#27;|\x1b|\n\n> [f](g)\n\n<b>\n\n```\nh\n```", 20)
	f.Fuzz(func(t *testing.T, source string, width int) {
		for _, color := range []bool{false, true} {
			lines := markdown.Render(source, width%200, color)
			s := screen.New(80, 24, func(r rune) int { return show.Columns(string(r)) })
			_, _ = s.Write([]byte(strings.Join(lines, "\r\n")))
			if u := s.Unknown(); u != nil {
				t.Errorf("%q", u)
			}
			if !color && strings.ContainsFunc(strings.Join(lines, ""), text.Harmful) {
				t.Errorf("%q", lines)
			}
			if !utf8.ValidString(strings.Join(lines, "")) {
				t.Errorf("%q", lines)
			}
		}
	})
}
