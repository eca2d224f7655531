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

// page is the text of a result: lines within the context's budget, then notes about the parts that were left
// out.
type page struct {
	lines strings.Builder
	notes []string
	room  int
	full  bool
}

const (
	// notesReserve is the number of bytes of the budget that are reserved for notes.
	notesReserve = 1024
	// maxShownName is the maximum number of bytes of a name that are shown. It equals the longest path on
	// Linux.
	maxShownName = 4096
	// minRoom is the room of a page under the smallest budget. It is enough for some line.
	minRoom = 512
)

func newPage(tc *toolbox.Context) *page {
	limit := tc.Limit()
	return &page{room: max(minRoom, limit-min(notesReserve, limit/4))}
}

// add appends a line, or several lines together. After text has not fit once, no further text is added.
func (p *page) add(text string) bool {
	if p.full || len(text) >= p.room-p.lines.Len() {
		p.full = true
		return false
	}
	p.lines.WriteString(text)
	p.lines.WriteByte('\n')
	return true
}

func (p *page) note(format string, args ...any) {
	p.notes = append(p.notes, "("+fmt.Sprintf(format, args...)+")\n")
}

// noteCount adds a note about n things, if n is not 0.
func (p *page) noteCount(n int, one, several string) {
	if n > 0 {
		p.note("%s", pluralize(n, one, several))
	}
}

// pluralize returns a number with its noun.
func pluralize(n int, one, several string) string {
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

// noteMatches adds a note with the number of shown and found things. Beyond most, things were not counted.
func (p *page) noteMatches(shown, found, most int, things, narrow string) {
	switch {
	case found == 0:
		p.note("nothing matches")
	case found > most:
		p.note("%d of more than %d %s; narrow %s", shown, most, things, narrow)
	case shown < found:
		p.note("%d of %d %s; narrow %s", shown, found, things, narrow)
	}
}

// show returns a file's name on one line. A name with line breaks, control characters or bytes that are not
// UTF-8 is quoted as in Go. A name that is too long for any file is cut.
func show(name string) string {
	name = text.Clip(name, maxShownName)
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// clip returns at most width bytes of a line around the byte at, with the number of bytes missing on either
// side.
func clip(line []byte, at, width int) string {
	if len(line) <= width {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	from := max(0, min(at-width/4, len(line)-width))
	to := from + width
	for range utf8.UTFMax - 1 { // invalid UTF-8 may be cut anywhere
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

// valueOr returns *n, or standard if n is nil. The schema has checked the bounds of *n.
func valueOr(n *int, standard int) int {
	if n == nil {
		return standard
	}
	return *n
}
