package ledger

import (
	"regexp"
	"strings"
	"sync"
)

// maxWordTable bounds the work of comparing two texts: of longer ones the middle is
// replaced as a whole.
const maxWordTable = 4 << 20

// wordPattern is a word with the space before it.
var wordPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\s\p{Z}]*[^\s\p{Z}]+|[\s\p{Z}]+`) })

// diffWords is the change from one text to another: together the kept and removed words
// are the first, and the kept and added ones the second.
func diffWords(before, after string) []Word {
	a, b := wordPattern().FindAllString(before, -1), wordPattern().FindAllString(after, -1)
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var w wordList
	w.add(Kept, a[:head]...)
	w.middle(a[head:len(a)-tail], b[head:len(b)-tail])
	w.add(Kept, a[len(a)-tail:]...)
	return w.list
}

type wordList struct{ list []Word }

// add appends words to the last stretch, or begins another.
func (w *wordList) add(op WordOp, words ...string) {
	switch n := len(w.list); {
	case len(words) == 0:
	case n > 0 && w.list[n-1].Op == op:
		w.list[n-1].Text += strings.Join(words, "")
	default:
		w.list = append(w.list, Word{op, strings.Join(words, "")})
	}
}

// middle compares by the longest common subsequence.
func (w *wordList) middle(a, b []string) {
	i, j := 0, 0
	if len(a)*len(b) <= maxWordTable {
		common := commonTable(a, b)
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				w.add(Kept, a[i])
				i++
				j++
			case common[i+1][j] >= common[i][j+1]:
				w.add(Removed, a[i])
				i++
			default:
				w.add(Added, b[j])
				j++
			}
		}
	}
	w.add(Removed, a[i:]...)
	w.add(Added, b[j:]...)
}

// commonTable has at [i][j] how many words a[i:] and b[j:] have in common, in order.
func commonTable(a, b []string) [][]int32 {
	rows := make([][]int32, len(a)+1)
	for i := range rows {
		rows[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				rows[i][j] = rows[i+1][j+1] + 1
			} else {
				rows[i][j] = max(rows[i+1][j], rows[i][j+1])
			}
		}
	}
	return rows
}
