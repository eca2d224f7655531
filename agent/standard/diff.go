package standard

import (
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/rogpeppe/go-internal/diff"
)

const (
	// maxDiff is the number of lines of a diff that are shown, and diffWidth the number of bytes of each line. The
	// caller knows its own text.
	maxDiff, diffWidth = 300, 500
	// maxDiffInput is the maximum number of lines of both texts together. Comparing a line takes about a hundred bytes,
	// even if the line has only one.
	maxDiffInput = 500_000
)

// diff shows the differences between before and after, without terminal controls.
func (p *page) diff(name, before, after string) {
	if was, is := countLines(before), countLines(after); was+is > maxDiffInput {
		p.note("%s is changed; with %d lines before and %d now the difference is not shown", name, was, is)
		return
	}
	all := string(diff.Diff(name, []byte(before), name, []byte(after)))
	_, all, _ = strings.Cut(all, "\n") // drop the command line
	total, shown, added, removed := 0, 0, 0, 0
	for line := range strings.Lines(all) {
		line = strings.TrimSuffix(line, "\n")
		switch total++; {
		case total <= 2: // the two names
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
		if total <= maxDiff && p.add(text.Lines(clip([]byte(line), 0, diffWidth))) {
			shown++
		}
	}
	switch {
	case total == 0:
		p.note("%s is changed in what ends its lines", name)
	case shown < total:
		p.note("%d of %d lines of the difference; in all %s and %d removed",
			shown, total, pluralize(added, "line is added", "lines are added"), removed)
	}
}

// countLines returns the number of lines of s. The last line need not have an end.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
