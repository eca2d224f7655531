package standard

import (
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

const (
	// maxNearest is the number of lines that are shown for a missing text, and nearestWidth the number of bytes of
	// each line.
	maxNearest, nearestWidth = 10, 200
	// minSimilarity is the minimum similarity of two lines, where 1 means equal.
	minSimilarity = 0.5
)

// nearestLines returns the lines of s that are most like old, which is not in s. It compares the longest line of
// old.
func nearestLines(s, old string) string {
	rows, wanted := strings.Split(s, "\n"), strings.Split(strings.TrimSuffix(old, "\n"), "\n")
	if isNumbered(wanted) {
		return ": the numbers before its lines, which read shows, are not in the file"
	}
	longest := 0
	for i, line := range wanted {
		if len(strings.TrimSpace(line)) > len(strings.TrimSpace(wanted[longest])) {
			longest = i
		}
	}
	nearest, best := -1, minSimilarity
	pairs := similarity{}
	eachPair(wanted[longest], func(pair [2]byte) { pairs[pair] = 0 })
	for i, row := range rows {
		if score := pairs.score(row, i+1); score > best {
			nearest, best = i, score
		}
	}
	if nearest < 0 {
		return ""
	}
	first := max(0, nearest-min(longest, maxNearest-1))
	var out strings.Builder
	out.WriteString("; the nearest is:")
	for i, row := range rows[first:min(len(rows), first+min(len(wanted), maxNearest))] {
		out.WriteString("\n" + strconv.Itoa(first+i+1) + "\t" + text.Lines(clip([]byte(row), 0, nearestWidth)))
	}
	return out.String()
}

// isNumbered reports whether all lines begin with a number and a tab, as read shows them.
func isNumbered(rows []string) bool {
	for _, line := range rows {
		number, _, ok := strings.Cut(line, "\t")
		if _, err := strconv.ParseUint(number, 10, 32); !ok || err != nil {
			return false
		}
	}
	return true
}

// similarity compares lines with one line by the pairs of neighbouring bytes that they share, ignoring white space.
type similarity map[[2]byte]int // the last line that had the pair

// score returns the similarity of line number n, at most 1.
func (l similarity) score(line string, n int) float64 {
	shared, all := 0, len(l)
	eachPair(line, func(pair [2]byte) {
		last, ok := l[pair]
		if ok && last == n {
			return // count each pair once
		}
		all++
		if ok {
			l[pair] = n
			shared++
		}
	})
	return 2 * float64(shared) / float64(max(all, 1))
}

func eachPair(line string, do func([2]byte)) {
	last := byte('\n')
	for i := range min(len(line), 2*nearestWidth) {
		if c := line[i]; c != ' ' && c != '\t' {
			do([2]byte{last, c})
			last = c
		}
	}
}
