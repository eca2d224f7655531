package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/wire"
)

func ExampleTooLong_Frame() {
	id, ok := probeID([]byte(`{"jsonrpc":"2.0","id":42,"result":{"content":[{"type":"te`))
	fmt.Println(string(id), ok)
	// Output: 42 true
}

// probeID returns the id that the beginning of a message shows.
func probeID(prefix []byte) (id json.RawMessage, ok bool) {
	id = (&wire.TooLong{Prefix: prefix}).Frame().ID
	return id, id != nil
}

func TestProbeID(t *testing.T) {
	for _, c := range []struct{ prefix, want string }{
		{`{"id":1,`, `1`},
		{`{"id":1}`, `1`},
		{` { "jsonrpc" : "2.0" , "\u0069d" : "a\"b" , "result" : {"id":2`, `"a\"b"`},
		{`{"result":{"id":2},"id":-1.5e3 `, `-1.5e3`},
		{`{"id":1,"result":{broken`, `1`},
		{`{"id":1} trailing`, `1`},
		{`{"id":1,"id`, `1`},
		{`{"id":1,"id":2,`, ``},
		{`{"id":1,"ID":2,`, ``},
		{`{"id":12`, ``},
		{`{"id":"12`, ``},
		{`{"id":null,`, ``},
		{`{"id":[1],`, ``},
		{`{"result":{"id":2,`, ``},
		{`{"result":"\",\"id\":2,`, ``},
		{`[{"id":1,`, ``},
		{`"id":1,`, ``},
		{`{`, ``}, {``, ``}, {`{"id"`, ``}, {`{"id":`, ``}, {`{id:1,`, ``},
	} {
		if id, ok := probeID([]byte(c.prefix)); string(id) != c.want || ok != (c.want != "") {
			t.Errorf("ProbeID(%s) = %s, %v, want %s", c.prefix, id, ok, c.want)
		}
	}
}

func TestProbeAgreesWithScan(t *testing.T) {
	for i, s := range append(corpus(), deep()...) {
		for _, cut := range []int{0, i, len(s) / 2, len(s) - 1, len(s)} {
			checkProbe(t, []byte(s), min(max(cut, 0), len(s)))
		}
	}
}

func FuzzProbeID(f *testing.F) {
	for i, s := range corpus() {
		f.Add([]byte(s), uint16(i))
		f.Add([]byte(s), uint16(len(s)))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		checkProbe(t, b, min(int(cut), len(b)))
	})
}

// checkProbe cuts a message in two. An id from the first part must be the id of the message. If the
// id is well before the cut, it must be found.
func checkProbe(t *testing.T, b []byte, cut int) {
	head, ok := probeID(b[:cut])
	e, err := wire.Scan(b)
	if err != nil {
		return
	}
	if ok && string(head) != string(e.ID) || !ok && head != nil {
		t.Fatalf("ProbeID(%s) = %s, %v, the id is %s", clip(b[:cut]), head, ok, e.ID)
	}
	named := len(e.ID) > 0 && strings.IndexByte(`"-0123456789`, e.ID[0]) >= 0
	end := len(b) - cap(tailOf(b, e.ID))
	if !ok && named && end < cut {
		t.Fatalf("ProbeID(%s) does not find %s", clip(b[:cut]), e.ID)
	}
}

// tailOf returns b from the end of the extent x on.
func tailOf(b, x []byte) []byte {
	for i := range b {
		if len(x) > 0 && &b[i] == &x[0] {
			return b[i+len(x) : len(b) : len(b)]
		}
	}
	return nil
}
