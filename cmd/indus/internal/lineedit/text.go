package lineedit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	chars "github.com/indusagi/indus/internal/text"
)

// buffer is a text with a cursor. Its only control characters are line feeds and tabs. Positions are in bytes.
type buffer struct {
	before, after string // of the cursor
}

func (b *buffer) String() string { return b.before + b.after }

func (b *buffer) set(s string) { b.before, b.after = s, "" }

// insert inserts text at the cursor, without control characters.
func (b *buffer) insert(s string) { b.before += chars.Lines(s) }

// remove deletes the text between two positions, and moves the cursor there.
func (b *buffer) remove(from, to int) {
	all := b.String()
	b.before, b.after = all[:from], all[to:]
}

func (b *buffer) move(to int) { b.remove(to, to) }

// letterBefore and letterAfter return the positions around the letters next to the cursor. A letter includes its marks.
func (b *buffer) letterBefore() int {
	rest := strings.TrimRightFunc(b.before, isMark)
	_, n := utf8.DecodeLastRuneInString(rest)
	return len(rest) - n
}

func (b *buffer) letterAfter() int {
	_, n := utf8.DecodeRuneInString(b.after)
	return len(b.String()) - len(strings.TrimLeftFunc(b.after[n:], isMark))
}

func isMark(r rune) bool { return r != '\n' && r != '\t' && show.Columns(string(r)) == 0 }

// wordBefore returns the start of the word before the cursor. wordAfter returns the end of the word after it.
func (b *buffer) wordBefore() int {
	return len(strings.TrimRightFunc(strings.TrimRightFunc(b.before, isBetweenWords), isLetter))
}

func (b *buffer) wordAfter() int {
	return len(b.String()) - len(strings.TrimLeftFunc(strings.TrimLeftFunc(b.after, isBetweenWords), isLetter))
}

func isLetter(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) || r == '_' }

func isBetweenWords(r rune) bool { return !isLetter(r) }

// lineStart and lineEnd return the start and the end of the cursor's line.
func (b *buffer) lineStart() int { return strings.LastIndexByte(b.before, '\n') + 1 }

func (b *buffer) lineEnd() int {
	line, _, _ := strings.Cut(b.after, "\n")
	return len(b.before) + len(line)
}

// vertical moves the cursor up or down a line, and reports whether there is such a line.
func (b *buffer) vertical(up bool) bool {
	column, to := utf8.RuneCountInString(b.before[b.lineStart():]), b.lineEnd()+1
	if up {
		to = strings.LastIndexByte(b.before[:max(b.lineStart()-1, 0)], '\n') + 1
	}
	if up && b.lineStart() == 0 || to > len(b.String()) {
		return false
	}
	line, _, _ := strings.Cut(b.String()[to:], "\n")
	for range column {
		_, n := utf8.DecodeRuneInString(line)
		to, line = to+n, line[n:]
	}
	b.move(to)
	return true
}

// edit applies a key to the text. Keys without an effect on the text are ignored.
func (b *buffer) edit(e Event) {
	at := len(b.before)
	switch e.Key {
	case KeyText:
		b.insert(e.Text)
	case KeyPaste:
		visible, _ := chars.Visible(PastedLines(e.Text)) // text copied from a page may contain invisible characters
		b.insert(visible)
	case KeyNewline:
		b.insert("\n")
	case KeyBackspace: // one character, so that a mark can be corrected without its letter
		_, n := utf8.DecodeLastRuneInString(b.before)
		b.remove(at-n, at)
	case KeyDelete, KeyHangUp:
		b.remove(at, b.letterAfter())
	case KeyKillBefore:
		b.remove(b.lineStart(), at)
	case KeyKillAfter:
		b.remove(at, b.lineEnd())
	case KeyKillWord:
		b.remove(b.wordBefore(), at)
	case KeyLeft:
		b.move(b.letterBefore())
	case KeyRight:
		b.move(b.letterAfter())
	case KeyWordLeft:
		b.move(b.wordBefore())
	case KeyWordRight:
		b.move(b.wordAfter())
	case KeyHome:
		b.move(b.lineStart())
	case KeyEnd:
		b.move(b.lineEnd())
	}
}
