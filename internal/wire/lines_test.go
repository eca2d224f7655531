package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/indusagi/indus/internal/wire"
)

func ExampleLines() {
	lines := wire.NewLines(strings.NewReader("{\"id\":1}\r\n\n{\"id\":2,\"result\":\"far too long\"}\n{\"id\":3}"), 20)
	for {
		line, err := lines.Next()
		if tooLong, ok := errors.AsType[*wire.TooLong](err); ok {
			id := tooLong.Frame().ID
			fmt.Println(err, "id", string(id))
		} else if err != nil {
			fmt.Println(err)
			return
		} else {
			fmt.Println(string(line))
		}
	}
	// Output:
	// {"id":1}
	// wire: message of 32 bytes is over the limit of 20 id 2
	// {"id":3}
	// EOF
}

// ragged returns reads with sizes that depend on seed.
type ragged struct {
	b    []byte
	seed uint64
}

func (r *ragged) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	r.seed = r.seed*6364136223846793005 + 1442695040888963407
	n := int(r.seed>>33) % 7
	if r.seed>>62 == 0 {
		n = int(r.seed>>33) % 100_000
	}
	n = copy(p, r.b[:min(n, len(r.b))])
	r.b = r.b[n:]
	return n, nil
}

// stretch makes a long stream from a short text: each 'L' becomes n bytes.
func stretch(s string, n uint32) []byte {
	return []byte(strings.ReplaceAll(s, "L", strings.Repeat("x", int(n%200_000))))
}

// oracle returns the results of Lines, from the whole stream at once.
func oracle(b []byte, max int) (want []string) {
	for line := range bytes.SplitSeq(b, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		switch {
		case len(line) == 0:
		case len(line) > max:
			want = append(want, fmt.Sprintf("%d %s", len(line), line[:min(len(line), 4096)]))
		default:
			want = append(want, string(line))
		}
	}
	return want
}

func checkLines(t *testing.T, r io.Reader, b []byte, max int) {
	lines := wire.NewLines(r, max)
	var kept [][]byte
	want := oracle(b, max)
	for i, w := range want {
		got, err := lines.Next()
		var tooLong *wire.TooLong
		if errors.As(err, &tooLong) {
			got = fmt.Appendf(nil, "%d %s", tooLong.Size, tooLong.Prefix)
		} else if err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		kept = append(kept, got)
		if string(got) != w {
			t.Fatalf("line %d of %d\n got %s\nwant %s", i, len(want), clip(got), clip([]byte(w)))
		}
	}
	for range 2 {
		if line, err := lines.Next(); err != io.EOF || line != nil {
			t.Fatalf("after the last line: %s, %v", clip(line), err)
		}
	}
	for i, w := range want {
		if string(kept[i]) != w {
			t.Fatalf("line %d was overwritten", i)
		}
	}
}

func TestLines(t *testing.T) {
	for _, s := range []string{
		"", "\n", "\r\n", "\r", "a", "a\n", "a\r\n", "a\r", "\ra\n", "a\r\r\n", "\n\n a \n\nb", "a\rb\r\nc\x00\n",
		"L", "L\n", "L\r\n", "L\r", "LL\r\nb\n", "a\nL\nb\nL\n", "L\rL\r\n\r\nL", "\rL\r", "LLLLLLLLLLLL\nb", "L\n\r\nL\n\r",
	} {
		for _, n := range []uint32{1, 4094, 4095, 4096, 4097, 65534, 65535, 65536, 65537, 131071, 131072, 199_999} {
			b := stretch(s, n)
			for _, max := range []int{1, 4096, int(n), int(n) + 1, 1 << 20, 64 << 20} {
				checkLines(t, bytes.NewReader(b), b, max)
				checkLines(t, &ragged{b, uint64(n)}, b, max)
				checkLines(t, iotest.DataErrReader(bytes.NewReader(b)), b, max)
			}
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\r\n\nL\nb", uint32(70_000), uint16(60_000), uint64(1))
	f.Add("\rL\r\rL\n\r\n\r", uint32(4096), uint16(4096), uint64(7))
	f.Add("L\r\nL\r", uint32(65_535), uint16(65_535), uint64(9))
	f.Fuzz(func(t *testing.T, s string, n uint32, max uint16, seed uint64) {
		if strings.Count(s, "L") > 8 {
			return
		}
		b := stretch(s, n)
		checkLines(t, bytes.NewReader(b), b, int(max))
		checkLines(t, &ragged{b, seed}, b, int(max))
		checkLines(t, &ragged{b, seed}, b, 1<<30)
	})
}

func TestLinesReportsAReadError(t *testing.T) {
	boom := errors.New("boom")
	lines := wire.NewLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(boom)), 10)
	if line, err := lines.Next(); string(line) != "a" || err != nil {
		t.Errorf("%s, %v", line, err)
	}
	for range 2 { // half a line is not a line
		if line, err := lines.Next(); line != nil || err != boom {
			t.Errorf("%s, %v", line, err)
		}
	}
	if _, err := wire.NewLines(stuck{}, 10).Next(); err != io.ErrNoProgress {
		t.Error(err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// endless counts the bytes that are read from it.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.n > 1<<28 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = 'x'
	}
	e.n += int64(len(p))
	return len(p), nil
}

func TestLinesBoundsMemory(t *testing.T) {
	for _, c := range []struct {
		name   string
		r      io.Reader
		max    int
		budget uint64
	}{
		{"endless", &endless{}, 4 << 20, 10 << 20},
		{"10 MiB", strings.NewReader(strings.Repeat("x", 10<<20)), 64 << 20, 22 << 20},
		{"60 MiB", strings.NewReader(strings.Repeat("x", 60<<20)), 64 << 20, 97 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := wire.NewLines(c.r, c.max).Next()
			runtime.ReadMemStats(&after)
			var tooLong *wire.TooLong
			if errors.As(err, &tooLong) != (c.name == "endless") {
				t.Error(err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > c.budget {
				t.Errorf("%d KiB allocated", n>>10)
			}
		})
	}
}

func TestSmallLinesAllocateOnce(t *testing.T) {
	lines := wire.NewLines(strings.NewReader(strings.Repeat("0123456789abcdef\r\n", 2000)), 1<<20)
	if n := testing.AllocsPerRun(1000, func() { _, _ = lines.Next() }); n != 1 {
		t.Errorf("%v allocations", n)
	}
}
