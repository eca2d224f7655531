package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/wire"
)

func ExampleEvents() {
	events := wire.NewEvents(strings.NewReader(": hello\nid: 7\nretry: 3000\ndata:\n\nevent: message\ndata: {\"id\":1,\ndata: \"result\":{}}\n\n"), 1<<20)
	for {
		e, err := events.Next()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %s %d %q\n", e.Name, e.ID, e.Retry, e.Data)
	}
	// Output:
	// message 7 3000 ""
	// message 7 -1 "{\"id\":1,\n\"result\":{}}"
	// EOF
}

// standard runs the standard's algorithm on a whole stream, and returns the result as text.
func standard(b []byte, max int) (want []string) {
	s := strings.TrimPrefix(string(b), "\ufeff")
	bom := len(b) - len(s)
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(s, "\n")
	name, lastID, retry := "message", "", -1
	var data []string
	surface := false
	for i, line := range lines[:len(lines)-1] {
		if line == "" {
			if data != nil || surface {
				want = append(want, describeEvent(name, lastID, data, retry, max))
			}
			name, data, retry, surface = "message", nil, -1, false
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		if field == "data" {
			data = append(data, value)
		}
		if n := len(line); n >= 64<<10 || i == 0 && n+bom >= 64<<10 {
			continue // our own limit for other fields
		}
		switch field {
		case "event":
			name = value
			if name == "" {
				name = "message"
			}
		case "id":
			if !strings.Contains(value, "\x00") {
				lastID, surface = value, true
			}
		case "retry":
			if n, err := strconv.ParseUint(value, 10, 64); strings.Trim(value, "0123456789") == "" && value != "" {
				if err != nil { // out of range
					n = math.MaxInt32
				}
				retry, surface = int(min(n, math.MaxInt32)), true
			}
		}
	}
	return want
}

func describeEvent(name, id string, data []string, retry, max int) string {
	joined := strings.Join(data, "\n")
	if len(joined) > max {
		joined = fmt.Sprintf("%d %s", len(joined), joined[:min(len(joined), 4096)])
	}
	return fmt.Sprintf("%q %q %d %v %s", name, id, retry, data != nil, joined)
}

func checkEvents(t *testing.T, r io.Reader, b []byte, max int) {
	events := wire.NewEvents(r, max)
	want := standard(b, max)
	for i, w := range want {
		e, err := events.Next()
		data, some := string(e.Data), e.Data != nil
		var tooLong *wire.TooLong
		if errors.As(err, &tooLong) {
			data, some = fmt.Sprintf("%d %s", tooLong.Size, tooLong.Prefix), true
		} else if err != nil {
			t.Fatalf("event %d of %d: %v", i, len(want), err)
		}
		if got := fmt.Sprintf("%q %q %d %v %s", e.Name, e.ID, e.Retry, some, data); got != w {
			t.Fatalf("event %d of %d\n got %s\nwant %s", i, len(want), clip([]byte(got)), clip([]byte(w)))
		}
	}
	for range 2 {
		if e, err := events.Next(); err != io.EOF {
			t.Fatalf("after the last event: %+v, %v", e, err)
		}
	}
}

func eventCorpus() []string {
	return []string{
		"", "\n", "data", "data\n", "data\n\n", "data\n\ndata\ndata\n\ndata:", "data:  x\n\n", "data:x\ndata: y\ndata\n\n",
		"\ufeffdata: x\n\n", "\ufeff\ufeffdata: x\n\n", "\ufeff\n\ndata:1\n\n", "\xef\xbbdata: x\n\n",
		"data: a\r\rdata: b\r\n\r\ndata: c\n\ndata: d\r\n\rdata: e\r\r\n\n", "\r\r\r\ndata\r\r",
		": comment\n\n:\ndata: x\n: in between\ndata: y\n\n", "event: add\ndata: 1\n\nevent: gone\n\ndata: 2\n\n", "event\ndata:1\n\n", "event: a\nevent: b\nevent:\ndata\n\n",
		"id: 1\ndata: \n\ndata: next\n\nid\ndata: reset\n\n", "id: 1\n\n", "id: a\x00b\n\n", "id: a\x00b\ndata:\n\n", "id: 7\nid: 8\n\nid: 9\ndata", "id: é \xff\n\n",
		"retry: 10\n\n", "retry: 1x\n\n", "retry:\n\n", "retry: -1\n\n", "retry: +1\n\n", "retry: 99999999999999999999999\n\n", "retry:  5\n\n", "retry:99999999999999999999\x17\n\n", "retry: 007\ndata:x\n\n",
		"Data: x\n\n", " data: x\n\n", "data : x\n\n", "datax: y\n\n", "foo\nbar: x\n\n", "data\x00: x\n\n", "data: {\"id\":1}\n\n",
		"data: L\n\ndata: b\n\n", "data: L\r\ndata: L\r\n\r\n", "data: L", "data: L\n", "id: L\ndata: x\n\n", "event: L\ndata: x\n\n", ":L\ndata: x\n\n", "L\ndata:L\n\n", "L:L\n\n", "\ufeff:L\ndata\n\n",
	}
}

func TestEventsFollowTheStandard(t *testing.T) {
	for _, s := range eventCorpus() {
		for _, n := range []uint32{1, 4085, 4090, 4096, 65528, 65529, 65530, 65531, 65532, 65533, 65534, 65535, 65536,
			199_999} {
			b := stretch(s, n)
			for _, max := range []int{0, 1, 4096, int(n), 1 << 20} {
				checkEvents(t, bytes.NewReader(b), b, max)
				checkEvents(t, &ragged{b, uint64(n)}, b, max)
			}
		}
	}
}

func FuzzEvents(f *testing.F) {
	for i, s := range eventCorpus() {
		f.Add(s, uint32(65_520+i), uint16(i*1000), uint64(i))
	}
	f.Fuzz(func(t *testing.T, s string, n uint32, max uint16, seed uint64) {
		if strings.Count(s, "L") > 8 {
			return
		}
		b := stretch(s, n)
		checkEvents(t, bytes.NewReader(b), b, int(max))
		checkEvents(t, &ragged{b, seed}, b, int(max))
		checkEvents(t, &ragged{b, seed}, b, 1<<30)
	})
}

// An event is returned as soon as its empty line is read: after a CR it does not wait for a
// possible LF.
func TestEventsDoNotWait(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r\n", "\r\n\r"} {
		r, w := io.Pipe()
		events := wire.NewEvents(r, 1<<20)
		go func() { _, _ = io.WriteString(w, "data: x"+end) }()
		if e, err := events.Next(); string(e.Data) != "x" || err != nil {
			t.Errorf("%q: %+v, %v", end, e, err)
		}
		r.Close()
	}
}

func TestEventsGoOnAfterTooLong(t *testing.T) {
	events := wire.NewEvents(strings.NewReader("id: 5\ndata: 123456\n\ndata: 1234\n\n"), 5)
	e, err := events.Next()
	var tooLong *wire.TooLong
	if !errors.As(err, &tooLong) || tooLong.Size != 6 || string(tooLong.Prefix) != "123456" || e.ID != "5" ||
		e.Data != nil {
		t.Errorf("%+v, %v", e, err)
	}
	e, err = events.Next()
	if string(e.Data) != "1234" || e.ID != "5" || err != nil {
		t.Errorf("%+v, %v", e, err)
	}
}
