package lineedit

import (
	"slices"
	"unicode"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	chars "github.com/indusagi/indus/internal/text"
)

// buffer is a text and the cursor in it. Its only characters that drive a terminal are line feeds and tabs.
type buffer struct {
	runes []rune
	at    int
}

func (b *buffer) String() string { return string(b.runes) }

func (b *buffer) set(s string) {
	b.runes = []rune(s)
	b.at = len(b.runes)
}

// insert puts text at the cursor, harmless as it then is.
func (b *buffer) insert(s string) {
	clean := []rune(chars.Lines(s))
	b.runes = slices.Insert(b.runes, b.at, clean...)
	b.at += len(clean)
}

// remove takes out what is between two places.
func (b *buffer) remove(from, to int) {
	b.runes = slices.Delete(b.runes, from, to)
	b.at = from
}

// before and after are where the neighbours of the cursor begin and end: a letter, and the marks on it.
func (b *buffer) before() int {
	i := b.at
	for i > 0 {
		if i--; !isMark(b.runes[i]) {
			break
		}
	}
	return i
}

func (b *buffer) after() int {
	i := min(b.at+1, len(b.runes))
	for i < len(b.runes) && isMark(b.runes[i]) {
		i++
	}
	return i
}

func isMark(r rune) bool { return r != '\n' && r != '\t' && show.Columns(string(r)) == 0 }

// wordBefore and wordAfter are where the word before the cursor begins, and the one behind it ends.
func (b *buffer) wordBefore() int {
	i := b.at
	for i > 0 && !isLetter(b.runes[i-1]) {
		i--
	}
	for i > 0 && isLetter(b.runes[i-1]) {
		i--
	}
	return i
}

func (b *buffer) wordAfter() int {
	i := b.at
	for i < len(b.runes) && !isLetter(b.runes[i]) {
		i++
	}
	for i < len(b.runes) && isLetter(b.runes[i]) {
		i++
	}
	return i
}

func isLetter(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) || r == '_' }

// lineStart and lineEnd are those of the line that the cursor is in.
func (b *buffer) lineStart() int {
	for i := b.at; i > 0; i-- {
		if b.runes[i-1] == '\n' {
			return i
		}
	}
	return 0
}

func (b *buffer) lineEnd() int {
	if i := slices.Index(b.runes[b.at:], '\n'); i >= 0 {
		return b.at + i
	}
	return len(b.runes)
}

// vertical moves the cursor by a line, and reports whether there is one.
func (b *buffer) vertical(up bool) bool {
	start := b.lineStart()
	column := b.at - start
	if up {
		if start == 0 {
			return false
		}
		b.at = start - 1
		b.at = min(b.lineStart()+column, start-1)
		return true
	}
	end := b.lineEnd()
	if end == len(b.runes) {
		return false
	}
	b.at = end + 1
	b.at = min(b.at+column, b.lineEnd())
	return true
}

// edit does what a key does to the text; false: it does nothing to it.
func (b *buffer) edit(e Event) bool {
	switch e.Key {
	case KeyText:
		b.insert(e.Text)
	case KeyPaste:
		visible, _ := chars.Visible(PastedLines(e.Text)) // a page may have more than one sees of it
		b.insert(visible)
	case KeyNewline:
		b.insert("\n")
	case KeyBackspace:
		b.remove(b.eraseFrom(), b.at)
	case KeyDelete, KeyHangUp:
		b.remove(b.at, b.after())
	case KeyKillBefore:
		b.remove(b.lineStart(), b.at)
	case KeyKillAfter:
		b.remove(b.at, b.lineEnd())
	case KeyKillWord:
		b.remove(b.wordBefore(), b.at)
	case KeyLeft:
		b.at = b.before()
	case KeyRight:
		b.at = b.after()
	case KeyWordLeft:
		b.at = b.wordBefore()
	case KeyWordRight:
		b.at = b.wordAfter()
	case KeyHome:
		b.at = b.lineStart()
	case KeyEnd:
		b.at = b.lineEnd()
	default:
		return false
	}
	return true
}

// eraseFrom is what Backspace takes: one character, so that a mark can be mended without its letter.
func (b *buffer) eraseFrom() int { return max(0, b.at-1) }
