// Package text finds the characters of an untrusted text that must not be shown as they are: characters that a terminal
// acts on, and invisible characters. All functions use one table, so that they always agree.
package text

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// BytesPerToken is the approximate number of bytes of a text or of JSON per token of a model (docs/context.md).
const BytesPerToken = 4

// Kind is the reason why a character is not shown as it is.
type Kind uint8

const (
	Plain     Kind = iota
	Control        // a terminal acts on it: Unicode's Cc, including line feed and tab
	Line           // U+2028 and U+2029, which only some readers treat as line ends
	Direction      // it changes the order of the shown text: Unicode's Bidi_Control
	Invisible      // not drawn: Unicode's Default_Ignorable_Code_Point, and anchors of annotations
)

// kinds is the table. The first entry that contains a character decides.
var kinds = []struct {
	kind   Kind
	tables []*unicode.RangeTable
}{
	{Control, []*unicode.RangeTable{unicode.Cc}},
	{Line, []*unicode.RangeTable{unicode.Zl, unicode.Zp}},
	{Direction, []*unicode.RangeTable{unicode.Bidi_Control}},
	{Plain, []*unicode.RangeTable{unicode.Prepended_Concatenation_Mark, egyptian}},
	{Invisible, []*unicode.RangeTable{unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point}},
}

// egyptian holds format controls that arrange hieroglyphs, and are drawn.
var egyptian = &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0x13430, Hi: 0x1343F, Stride: 1}}}

// KindOf returns the kind of a character. Characters that are useful only in some places, such as joiners, are
// Invisible here. [Visible] checks the places.
func KindOf(r rune) Kind {
	switch {
	case ' ' <= r && r < 0x7F:
		return Plain
	case r < 0xAD:
		if r <= 0x9F {
			return Control
		}
		return Plain
	}
	for _, k := range kinds {
		if unicode.In(r, k.tables...) {
			return k.kind
		}
	}
	return Plain
}

// Harmful reports whether a character affects a terminal or the lines around it.
func Harmful(r rune) bool {
	k := KindOf(r)
	return k != Plain && k != Invisible
}

// OneLine returns s as one line that is harmless for a terminal. Line feeds, tabs and carriage returns become spaces,
// and other harmful characters are removed.
func OneLine(s string) string { return harmless(s, ' ') }

// Lines returns s, harmless for a terminal, with its line feeds and tabs.
func Lines(s string) string { return harmless(s, 0) }

// harmless writes space in place of line feeds, tabs and carriage returns. If space is 0, line feeds and tabs stay.
func harmless(s string, space rune) string {
	return strings.Map(func(r rune) rune {
		switch {
		case space == 0 && (r == '\n' || r == '\t'):
			return r
		case space != 0 && (r == '\n' || r == '\t' || r == '\r'):
			return space
		case Harmful(r):
			return -1
		}
		return r
	}, s)
}

// Visible returns s, which must be UTF-8, without invisible characters, and the removed characters. Line feeds and tabs
// stay. So does one joiner or variation selector if a script or an emoji needs it:
//
//   - a zero-width joiner between two emoji
//   - a joiner or non-joiner after a letter or mark of Arabic, an Indic script and similar scripts
//   - one variation selector after a symbol, a Han character or a Mongolian letter
//
// Further ones in the same place are removed, and so are tags. (The flags of Britain's countries are written with tags,
// and so is hidden text.)
func Visible(s string) (string, []rune) {
	var out strings.Builder
	var removed []rune
	from := 0 // start of the unwritten part
	var previous rune
	for i, r := range s {
		kind := KindOf(r)
		if kind == Plain || r == '\n' || r == '\t' || kind == Invisible && hasMeaning(r, previous, s[i+utf8.RuneLen(r):]) {
			previous = r
			continue
		}
		removed = append(removed, r)
		out.WriteString(s[from:i])
		from = i + utf8.RuneLen(r)
	}
	if removed == nil {
		return s, nil
	}
	out.WriteString(s[from:])
	return out.String(), removed
}

const (
	nonJoiner, joiner = 0x200C, 0x200D
	emojiStyle        = 0xFE0F // the selector after many emoji
)

// hasMeaning reports whether an invisible character has a meaning between before and rest.
func hasMeaning(r, previous rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == joiner && (isSymbol(previous) || previous == emojiStyle):
		return isSymbol(next)
	case r == joiner, r == nonJoiner:
		return unicode.In(previous, joining...)
	case r == 0xFE0E, r == emojiStyle:
		return isSymbol(previous) || unicode.Is(unicode.Han, previous) || strings.ContainsRune("0123456789#*", previous) ||
			unicode.Is(unicode.Po, previous)
	case unicode.Is(unicode.Variation_Selector, r):
		return unicode.Is(unicode.Han, previous) || unicode.Is(unicode.Mongolian, previous) && unicode.IsLetter(previous)
	}
	return false
}

func isSymbol(r rune) bool { return r >= 0xA9 && unicode.In(r, unicode.So, unicode.Sm, unicode.Sk) }

// joining lists the scripts in which a joiner or non-joiner changes the drawn text.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic, unicode.Manichaean, unicode.Adlam,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese,
}

// Cut returns the beginning of s in at most most bytes, in whole characters. If s is not longer, it returns s.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := max(limit, 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// Middle returns a text without its middle, in at most most bytes, and the number of missing bytes. It keeps both ends,
// because the beginning of an output identifies it, and its end shows the outcome. The text begins with head and ends
// with tail, and missing bytes between them are already lost. For a single text s, pass s, s and -len(s). A text that
// fits is returned whole. The note with the number of missing bytes is never cut.
func Middle(head, tail string, missing, limit int) (string, int) {
	if missing <= 0 && len(head)+len(tail)+missing <= limit {
		return head + tail[-missing:], 0
	}
	note := func(n int) string { return fmt.Sprintf("\n… %d bytes cut …\n", n) }
	room := max(0, limit-len(note(missing+len(head)+len(tail)))) // the final number is smaller, so its note is not longer
	begin, from := Cut(head, room-room/2), max(0, len(tail)-room/2)
	for from < len(tail) && !utf8.RuneStart(tail[from]) {
		from++
	}
	missing += len(head) - len(begin) + from
	return begin + note(missing) + tail[from:], missing
}

// Clip is [Cut] with an ellipsis if something is missing. most does not count the ellipsis.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return Cut(s, limit) + "…"
}

// Pattern returns a function that compiles a regular expression at its first call. Most runs of a program need few of
// its expressions, and compiling all of them takes more time than the rest of its start.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// escapes matches the control sequences of ECMA-48: CSI, the strings (OSC, DCS, APC, …), and the short sequences.
var escapes = Pattern(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])`)

// Printed returns the terminal output of a program as harmless lines without white space at their end. Colors and other
// sequences are removed, and a carriage return begins a line. Any other harmful character and invalid UTF-8 become
// U+FFFD.
func Printed(s string) string {
	s = strings.ToValidUTF8(s, string(unicode.ReplacementChar))
	s = escapes().ReplaceAllLiteralString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r': // such as in a progress bar
			return '\n'
		case Harmful(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	return strings.TrimRight(s, " \t\n")
}

// Label returns a line in brackets, in place of content that is no text. Empty words are left out.
func Label(words ...string) string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	return OneLine("[" + strings.Join(words, " ") + "]")
}

// DecodedSize returns the decoded size of the base64 text s as a text.
func DecodedSize(s string) string {
	switch n := len(strings.TrimRight(s, "=")) * 3 / 4; {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n == 1:
		return "1 byte"
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
