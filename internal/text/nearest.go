package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNearestName bounds the work of one comparison, which is quadratic. Mistyped names are shorter.
const maxNearestName = 128

// Nearest returns at most n of the candidates that resemble a possibly mistyped name, nearest first. Equally near
// candidates keep their order. A candidate resembles name in two cases: it differs in few keystrokes (one in a short
// name, three in a long name), or it contains name, which has at least three letters. If no candidate does, the result
// is nil.
func Nearest(name string, candidates []string, n int) []string {
	type hit struct {
		name     string
		distance int
	}
	want := fold(name)
	if want == "" || len(want) > maxNearestName || n <= 0 {
		return nil
	}
	var hits []hit
	for _, c := range candidates {
		if d, ok := resembles(want, fold(c)); ok {
			hits = append(hits, hit{c, d})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, h := range hits {
		if len(names) < n && !slices.Contains(names, h.name) {
			names = append(names, h.name)
		}
	}
	return names
}

// fold removes differences that people often do not notice.
func fold(s string) string {
	return separators.Replace(strings.ToLower(s))
}

var separators = strings.NewReplacer("-", "", "_", "")

func resembles(want, have string) (distance int, ok bool) {
	if len(have) > maxNearestName {
		return 0, false
	}
	limit := maxEdits(len(want))
	apart := len(have) - len(want)
	if max(apart, -apart) <= utf8.UTFMax*limit { // otherwise they differ in more keystrokes
		if d := edits([]rune(want), []rune(have)); d <= limit && d < len(have) {
			return d, true
		}
	}
	// A candidate that contains the name ranks behind every mistyped one.
	return maxNearestName + len(have) - len(want), len(want) >= 3 && strings.Contains(have, want)
}

// maxEdits returns how many keystrokes may differ in a name of this length.
func maxEdits(length int) int {
	switch {
	case length <= 4:
		return 1
	case length <= 8:
		return 2
	}
	return 3
}

// edits counts the insertions, deletions, replacements and swaps of neighbors that turn a into b (optimal string
// alignment).
func edits(a, b []rune) int {
	previous, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], previous[j-2]+1)
			}
		}
		previous, last = last, row
	}
	return last[len(b)]
}
