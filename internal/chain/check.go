package chain

import (
	"cmp"
	"slices"
)

// Check compares the entries of a whole log with kept heads, and finds entries that are in another place.
type Check struct {
	// Head is the entry with the highest number.
	Head  Head
	heads []Head // the kept heads that were not found yet
	spans []span // the numbers in the log
}

// span is a range of numbers.
type span struct{ first, last uint64 }

// NewCheck returns a check that no entry was added to. A head with the Seq 0 is looked up by its hash. A head without
// a hash is ignored.
func NewCheck(heads ...Head) *Check {
	return &Check{heads: slices.DeleteFunc(slices.Clone(heads), func(h Head) bool { return h == Head{} })}
}

// Add adds a good entry.
func (c *Check) Add(h Head) {
	if h.Seq >= c.Head.Seq {
		c.Head = h
	}
	c.heads = slices.DeleteFunc(c.heads, func(kept Head) bool {
		return kept == h || kept.Seq == 0 && kept.Hash == h.Hash
	})
	if n := len(c.spans); n > 0 && c.spans[n-1].last+1 == h.Seq {
		c.spans[n-1].last = h.Seq
	} else {
		c.spans = append(c.spans, span{h.Seq, h.Seq})
	}
}

// Finish reports the heads that are not in the log at the present line of s. It returns all damage of s, with the kind
// of missing entries changed if they are elsewhere in the log.
func (c *Check) Finish(s *Scan) []Damage {
	c.mergeSpans()
	for _, h := range c.heads {
		switch {
		case h.Seq == 0:
			s.Damage = append(s.Damage, Damage{Kind: Missing, Why: "no entry has the hash of the given head"})
		case c.has(h.Seq, h.Seq):
			s.Report(Altered, h.Seq, 0, "it does not match the given head")
		default:
			s.Report(Missing, h.Seq, 0, "the entry of the given head is missing")
		}
	}
	for i, d := range s.Damage {
		if d.Kind == Missing && d.Seq > 0 && c.has(d.Seq, d.Last) {
			s.Damage[i].Kind, s.Damage[i].Why = Reordered, "what belongs before it is elsewhere"
		}
	}
	return s.Damage
}

func (c *Check) mergeSpans() {
	slices.SortFunc(c.spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	merged := c.spans[:0]
	for _, next := range c.spans {
		if n := len(merged); n > 0 && next.first <= merged[n-1].last+1 {
			merged[n-1].last = max(merged[n-1].last, next.last)
		} else {
			merged = append(merged, next)
		}
	}
	c.spans = merged
}

// has reports whether all entries of a range are in the log.
func (c *Check) has(first, last uint64) bool {
	i, ok := slices.BinarySearchFunc(c.spans, first, func(s span, seq uint64) int { return cmp.Compare(s.first, seq) })
	if !ok {
		i--
	}
	return i >= 0 && last <= c.spans[i].last && first <= last
}
