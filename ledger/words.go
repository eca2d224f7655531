package ledger

import (
	"slices"
	"strings"
	"unicode"
)

// maxWordTable bounds the work of comparing two texts: of longer ones the middle is
// replaced as a whole.
const maxWordTable = 4 << 20

// words is the change from one text to another: together the kept and removed words
// are the first, and the kept and added ones the second.
func words(before, after string) []Word {
	a, b := split(before), split(after)
	var w wordList
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		w.add(Kept, a[0])
		a, b = a[1:], b[1:]
	}
	var tail []string
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, a[len(a)-1])
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	w.middle(a, b)
	for _, s := range slices.Backward(tail) {
		w.add(Kept, s)
	}
	return w.list
}

// split cuts a text into words, each with the space before it.
func split(s string) []string {
	var out []string
	for s != "" {
		space := strings.IndexFunc(s, isNoSpace)
		if space < 0 {
			return append(out, s)
		}
		word := strings.IndexFunc(s[space:], unicode.IsSpace)
		if word < 0 {
			return append(out, s)
		}
		out = append(out, s[:space+word])
		s = s[space+word:]
	}
	return out
}

func isNoSpace(r rune) bool { return !unicode.IsSpace(r) }

type wordList struct{ list []Word }

// add appends a word to the last stretch, or begins another.
func (w *wordList) add(op WordOp, text string) {
	if n := len(w.list); n > 0 && w.list[n-1].Op == op {
		w.list[n-1].Text += text
		return
	}
	w.list = append(w.list, Word{op, text})
}

// middle compares by the longest common subsequence.
func (w *wordList) middle(a, b []string) {
	if len(a)*len(b) > maxWordTable {
		w.all(Removed, a)
		w.all(Added, b)
		return
	}
	common := table(a, b)
	i, j := 0, 0
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
	w.all(Removed, a[i:])
	w.all(Added, b[j:])
}

func (w *wordList) all(op WordOp, words []string) {
	if len(words) > 0 {
		w.add(op, strings.Join(words, ""))
	}
}

// table has at [i][j] how many words a[i:] and b[j:] have in common, in order.
func table(a, b []string) [][]int32 {
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
