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
// name, three in a long name), or it contains name, which has at least three letters. A candidate with "__" within a
// longer name is nearest of all. If no candidate does, the result is nil.
func Nearest(name string, candidates []string, n int) []string {
	type hit struct {
		name     string
		distance int
	}
	want := fold(name)
	if want == "" || n <= 0 {
		return nil
	}
	var hits []hit
	for _, c := range candidates {
		if strings.Contains(c, "__") && containsName(Cut(name, maxDecorated), c) {
			hits = append(hits, hit{c, -len(c)})
		} else if len(want) > maxNearestName {
			continue
		} else if d, ok := resembles(want, fold(c)); ok {
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

// maxDecorated bounds the part of a name in which a candidate is searched.
const maxDecorated = 512

// containsName reports whether a name contains a qualified name, such as "functions.s__a" or "mcp__s__a". Models add
// such words before and after a name.
func containsName(name, qualified string) bool {
	for rest := name; ; {
		i := strings.Index(rest, qualified)
		if i < 0 {
			return false
		}
		at := len(name) - len(rest) + i
		after := at + len(qualified)
		if (at == 0 || !isWordByte(name[at-1])) && (after == len(name) || name[after] != '_' && !isWordByte(name[after])) {
			return true
		}
		rest = rest[i+1:]
	}
}

func isWordByte(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
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
