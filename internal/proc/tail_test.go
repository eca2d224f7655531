package proc_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/proc"
)

func TestTail(t *testing.T) {
	const line = "0123456789abcde\n" // 16 bytes: 512 lines fill a tail
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
