package cluster

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A text is the same after it was split, whatever its lines and those of the base are.
func TestPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() []byte {
		var all []string
		for range r.IntN(30) {
			all = append(all, strings.Repeat(fmt.Sprint(r.IntN(9)), r.IntN(2)*r.IntN(200)))
		}
		return []byte(strings.Join(all, "\n"))
	}
	copied := 0
	for range 3000 {
		text, from := random(), random()
		pieces, added := split(text, from, len(text))
		got, err := joinPieces(pieces, from, added)
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%q from %q: %q, %v", text, from, got, err)
		}
		copied += len(text) - len(added)
	}
	if copied == 0 {
		t.Error("nothing was copied")
	}
	from, added := []byte("0123"), []byte("ab")
	for _, p := range [][]piece{
		{{Added: 3}}, {{Added: 1}}, {{Added: -1}, {Added: 3}}, {{Added: 2, At: 4, Bytes: 1}}, {{Added: 2, At: -1, Bytes: 1}},
		{{Added: 2, At: 2, Bytes: -1}}, {{Added: 2, At: 1 << 62, Bytes: 1 << 62}}, {{Added: 1 << 62}, {Added: 1 << 62}},
	} {
		if text, err := joinPieces(p, from, added); err == nil {
			t.Errorf("%v: %q", p, text)
		}
	}
}
