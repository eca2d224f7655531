package text_test

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/text"
)

func TestPrinted(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"plain\ttext\n", "plain\ttext"},
		{"\x1b[1;31mred\x1b[0m", "red"},
		{"\x1b[?25l\x1b[2J\x1b[Hhome", "home"},
		{"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab"},
		{"\x1bP1$r\x1b\\a\x1bcb\x1b(Bc", "abc"},
		{"\x1b]0;endless", "0;endless"},
		{"\x1b\x1b[0m[31m", "\uFFFD[31m"},
		{"\x1b", "\uFFFD"},
		{"10%\r20%\r\n", "10%\n20%"},
		{"\x00\x08\x7f\u009b31m", "\uFFFD\uFFFD\uFFFD\uFFFD31m"},
		{"\xff\xfeok\xe2\x82", "\uFFFDok\uFFFD"},
		{"evil\u202etxt", "evil\uFFFDtxt"},
		{"grüße 👩‍🚀", "grüße 👩‍🚀"},
	} {
		if got := text.Printed(test.in); got != test.want {
			t.Errorf("%q: %q, want %q", test.in, got, test.want)
		}
	}
}

func FuzzPrinted(f *testing.F) {
	for _, seed := range []string{"a\r\n", "\x1b[31mred", "\x1b]0;t\x07", "\xff\u202e\u009b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := text.Printed(in)
		if again := text.Printed(got); again != got {
			t.Errorf("%q: %q, then %q", in, got, again)
		}
		if !utf8.ValidString(got) {
			t.Errorf("%q: invalid %q", in, got)
		}
		for _, r := range got {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Errorf("%q: %q is left in %q", in, r, got)
			}
		}
	})
}
