package proc_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/proc"
)

func TestTail(t *testing.T) {
	const line = "0123456789abcde\n" // 16 bytes: 512 make a tail
	for _, test := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"short", "a\nb\n", "a\nb"},
		{"exact", strings.Repeat(line, 512), strings.Repeat(line, 512)},
		{"a line more", "x\n" + strings.Repeat(line, 512), strings.Repeat(line, 512)},
		{"in mid-line", strings.Repeat(line, 5000) + "end\n", strings.Repeat(line, 511) + "end"},
		{"one long line", strings.Repeat("x", 50_000), strings.Repeat("x", proc.TailSize)},
		{"a long last line", "a\n" + strings.Repeat("x", 50_000) + "\n", strings.Repeat("x", proc.TailSize-1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, chunk := range []int{1, 7, 4096, 1 << 20} {
				var tail proc.Tail
				for in := test.in; in != ""; {
					n := min(chunk, len(in))
					io.WriteString(&tail, in[:n])
					in = in[n:]
				}
				if got := tail.String(); got != strings.TrimSpace(test.want) {
					t.Errorf("by %d: %d bytes, want %d: %.30q", chunk, len(got), len(test.want), got)
				}
			}
		})
	}
}

func TestHarmless(t *testing.T) {
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
		if got := proc.Harmless(test.in); got != test.want {
			t.Errorf("%q: %q, want %q", test.in, got, test.want)
		}
	}
}

func FuzzHarmless(f *testing.F) {
	for _, seed := range []string{"a\r\n", "\x1b[31mred", "\x1b]0;t\x07", "\xff\u202e\u009b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := proc.Harmless(in)
		if again := proc.Harmless(got); again != got {
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

func ExampleEnviron() {
	ours := []string{"PATH=/usr/bin", "HOME=/home/ada", "AWS_SECRET_ACCESS_KEY=…"}
	for _, entry := range proc.Environ(ours, []string{"API_KEY=k"}, false) {
		fmt.Println(entry)
	}
	// Output:
	// API_KEY=k
	// HOME=/home/ada
	// PATH=/usr/bin
}
