package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNearestName bounds the work of one comparison, which is quadratic; nobody mistypes more.
const maxNearestName = 128

// Nearest is at most n of the candidates that resemble name (what someone who mistyped one may have meant), nearest first and
// in the candidates' order where two are equally near. A candidate resembles name
// if few keystrokes part them (one in a short name, three in a long one), or if
// name, of three letters or more, is a part of it. Without one the result is nil.
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

// fold removes what people get wrong without noticing.
func fold(s string) string {
	return joints.Replace(strings.ToLower(s))
}

var joints = strings.NewReplacer("-", "", "_", "")

func resembles(want, have string) (distance int, ok bool) {
	if len(have) > maxNearestName {
		return 0, false
	}
	most := maxEdits(len(want))
	if apart := len(have) - len(want); max(apart, -apart) <= utf8.UTFMax*most { // else more keystrokes part them
		if d := edits([]rune(want), []rune(have)); d <= most && d < len(have) {
			return d, true
		}
	}
	// A part of a name ranks behind every mistyped one.
	return maxNearestName + len(have) - len(want), len(want) >= 3 && strings.Contains(have, want)
}

// maxEdits is how many keystrokes may go wrong in a name of this length.
func maxEdits(length int) int {
	switch {
	case length <= 4:
		return 1
	case length <= 8:
		return 2
	}
	return 3
}

// edits counts the insertions, deletions, replacements and swaps of neighbours
// that turn a into b (optimal string alignment).
func edits(a, b []rune) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
