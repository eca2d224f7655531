package standard

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

// page is the text of a result: lines up to the context's budget, then notes about what
// is not there.
type page struct {
	lines strings.Builder
	notes []string
	room  int
	full  bool
}

const (
	// forNotes is how much of the budget is kept for notes.
	forNotes = 1024
	// maxShownName is how many bytes of a name are shown, as many as a path may have on Linux.
	maxShownName = 4096
	// leastRoom is what a page has under the smallest budget: enough for some line.
	leastRoom = 512
)

func newPage(tc *toolbox.Context) *page {
	limit := tc.Limit()
	return &page{room: max(leastRoom, limit-min(forNotes, limit/4))}
}

// add appends a line, or all of several lines; once one has not fitted, none does.
func (p *page) add(text string) bool {
	if p.full || len(text) >= p.room-p.lines.Len() {
		p.full = true
		return false
	}
	p.lines.WriteString(text)
	p.lines.WriteByte('\n')
	return true
}

func (p *page) isEmpty() bool { return p.lines.Len() == 0 }

func (p *page) note(format string, args ...any) {
	p.notes = append(p.notes, "("+fmt.Sprintf(format, args...)+")\n")
}

// count notes n things of which there may be none.
func (p *page) count(n int, one, several string) {
	if n > 0 {
		p.note("%s", counted(n, one, several))
	}
}

// counted is a number with what there is of it.
func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

func (p *page) text() string {
	return strings.TrimSuffix(p.lines.String()+strings.Join(p.notes, ""), "\n")
}

func (p *page) result() *toolbox.Result { return textResult("%s", p.text()) }

func textResult(format string, args ...any) *toolbox.Result {
	return toolbox.NewResult(toolbox.Text(fmt.Sprintf(format, args...)))
}

// matches notes how many of the things that were found are shown, and that those beyond most were not counted.
func (p *page) matches(shown, found, most int, things, narrow string) {
	switch {
	case found == 0:
		p.note("nothing matches")
	case found > most:
		p.note("%d of more than %d %s; narrow %s", shown, most, things, narrow)
	case shown < found:
		p.note("%d of %d %s; narrow %s", shown, found, things, narrow)
	}
}

// show is a file's name on one line: a name with line breaks, control characters or
// bytes that are not UTF-8 is quoted as Go quotes it. One that no file can have is cut.
func show(name string) string {
	name = text.Clip(name, maxShownName)
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// clip shows at most width bytes of a line around the byte at, and how much is not
// there on either side.
func clip(line []byte, at, width int) string {
	if len(line) <= width {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	from := max(0, min(at-width/4, len(line)-width))
	to := from + width
	for range utf8.UTFMax - 1 { // what is not UTF-8 may be cut anywhere
		if from > 0 && !utf8.RuneStart(line[from]) {
			from++
		}
		if to < len(line) && !utf8.RuneStart(line[to]) {
			to--
		}
	}
	text := strings.ToValidUTF8(string(line[from:to]), "\uFFFD")
	if from > 0 {
		text = fmt.Sprintf("…%d bytes… %s", from, text)
	}
	if to < len(line) {
		text = fmt.Sprintf("%s …%d bytes…", text, len(line)-to)
	}
	return text
}

// valueOr is n where the caller gave one, else standard. The schema has checked its bounds.
func valueOr(n *int, standard int) int {
	if n == nil {
		return standard
	}
	return *n
}
