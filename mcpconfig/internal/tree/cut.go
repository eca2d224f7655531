package tree

import (
	"cmp"
	"slices"
)

// Cut is a part of a text, and what comes in its place.
type Cut struct {
	From, To int
	By       string
}

// Splice makes cuts that do not overlap; of two at one place the first comes first.
func Splice(text []byte, cuts []Cut) []byte {
	slices.SortStableFunc(cuts, func(a, b Cut) int { return cmp.Compare(a.From, b.From) })
	var out []byte
	at := 0
	for _, c := range cuts {
		out = append(append(out, text[at:c.From]...), c.By...)
		at = c.To
	}
	return append(out, text[at:]...)
}
