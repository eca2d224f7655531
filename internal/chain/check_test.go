package chain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/chain"
)

// link adds entries to a scan and a check. The hash of entry 3 is "h3".
func link(s *chain.Scan, c *chain.Check, entries ...uint64) {
	for _, seq := range entries {
		s.Line++
		l := chain.Link{Seq: seq, Hash: fmt.Sprint("h", seq)}
		if seq > 1 {
			l.Prev = fmt.Sprint("h", seq-1)
		}
		s.Link(l, false)
		c.Add(chain.Head{Seq: seq, Hash: l.Hash})
	}
}

func TestDamageOfAnOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		order []uint64
		heads []chain.Head
		want  string
	}{
		{[]uint64{1, 2, 3}, []chain.Head{{Seq: 3, Hash: "h3"}, {Hash: "h2"}, {}}, ""},
		{[]uint64{1, 4, 5}, nil, "missing 2-3"},
		{[]uint64{3, 4}, nil, "missing 1-2"},
		{[]uint64{1, 4, 2, 3, 5}, nil, "reordered 2-3, reordered 2-2, reordered 4-4"},
		{[]uint64{1, 2, 2, 3}, nil, "reordered 2-2"},
		{[]uint64{1, 2}, []chain.Head{{Seq: 2, Hash: "h9"}, {Seq: 3, Hash: "h3"}, {Hash: "h9"}},
			"altered 2-2, missing 3-3, missing 0-0"},
		{[]uint64{1, chain.MaxSeq}, nil, fmt.Sprintf("missing 2-%d", uint64(chain.MaxSeq-1))},
	} {
		var s chain.Scan
		check := chain.NewCheck(c.heads...)
		link(&s, check, c.order...)
		var got []string
		for _, d := range check.Finish(&s) {
			got = append(got, fmt.Sprintf("%s %d-%d", d.Kind, d.Seq, d.Last))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%v: got %q, want %q", c.order, text, c.want)
		}
		if check.Head.Seq != slices.Max(c.order) {
			t.Errorf("%v: the head is %v", c.order, check.Head)
		}
	}
}
