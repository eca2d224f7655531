package rank

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// What a word is worth that is not the very one.
const (
	asAlike  = 0.5
	asPrefix = 0.6
	asSlip   = 0.5
)

// maxGuesses is how many words one that nobody knows may stand for.
const maxGuesses = 16

// meaning is one word of the index that a word of the query stands for.
type meaning struct {
	term  *term
	worth float32
}

// meanings are the words of the index for one of the query, which is a stem.
func (x *Index) meanings(word string) []meaning {
	var list []meaning
	if t := x.terms[word]; t != nil {
		list = append(list, meaning{t, 1})
	}
	for _, other := range x.vocabulary.alike[word] {
		if t := x.terms[other]; t != nil {
			list = append(list, meaning{t, asAlike})
		}
	}
	if list == nil {
		list = x.guesses(word)
	}
	return list
}

// guesses are the words that begin with one that nobody knows, else those that are a slip away.
func (x *Index) guesses(word string) []meaning {
	if len(word) < 3 {
		return nil
	}
	list := x.prefixed(word)
	if list == nil && len(word) >= 4 {
		list = x.slips(word)
	}
	if len(list) > maxGuesses { // the rarest say most
		slices.SortStableFunc(list, func(a, b meaning) int { return cmp.Compare(len(a.term.postings), len(b.term.postings)) })
		list = list[:maxGuesses]
	}
	return list
}

func (x *Index) prefixed(word string) (list []meaning) {
	at, _ := slices.BinarySearchFunc(x.sorted, word, func(t *term, w string) int { return strings.Compare(t.word, w) })
	for ; at < len(x.sorted) && strings.HasPrefix(x.sorted[at].word, word); at++ {
		list = append(list, meaning{x.sorted[at], asPrefix})
	}
	return list
}

func (x *Index) slips(word string) (list []meaning) {
	allowed := 1
	if len(word) >= 8 {
		allowed = 2
	}
	mask := letters(word)
	for n := len(word) - allowed; n <= len(word)+allowed; n++ {
		for _, t := range x.byLength[n] {
			if bits.OnesCount64(t.letters^mask) <= 2*allowed && edits(word, t.word) <= allowed {
				list = append(list, meaning{t, asSlip})
			}
		}
	}
	return list
}

// letters is the set of the bytes of a word, folded to 64.
func letters(word string) (set uint64) {
	for i := range len(word) {
		set |= 1 << (word[i] & 63)
	}
	return set
}

// edits counts the insertions, deletions, replacements and swaps of neighbours that turn
// a into b, in bytes (optimal string alignment). Both are at most longestWord long.
func edits(a, b string) int {
	var rows [3][longestWord + 2]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			same := 1
			if a[i] == b[j] {
				same = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+same)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
