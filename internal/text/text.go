// Package text knows which characters of a stranger's text are not to be shown as they are: those that a terminal obeys, and
// those that no reader sees. Everything here is one function of one table, so that no two places judge differently.
package text

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is why a character is not shown as it is.
type Kind uint8

const (
	Plain     Kind = iota
	Control        // a terminal acts on it: Unicode's Cc, line feed and tab among them
	Line           // U+2028 and U+2029, which end a line for some readers only
	Direction      // it changes the order in which text is shown: Unicode's Bidi_Control
	Invisible      // nothing is drawn for it: Unicode's Default_Ignorable_Code_Point, and the anchors of annotations
)

// kinds is the table. The first that has a character decides.
var kinds = []struct {
	kind Kind
	of   []*unicode.RangeTable
}{
	{Control, []*unicode.RangeTable{unicode.Cc}},
	{Line, []*unicode.RangeTable{unicode.Zl, unicode.Zp}},
	{Direction, []*unicode.RangeTable{unicode.Bidi_Control}},
	{Plain, []*unicode.RangeTable{unicode.Prepended_Concatenation_Mark, egyptian}},
	{Invisible, []*unicode.RangeTable{unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point}},
}

// egyptian are format controls that lay hieroglyphs out, and are drawn.
var egyptian = &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0x13430, Hi: 0x1343F, Stride: 1}}}

// KindOf is the kind of a character. Those that have a use in some places, as joiners have, are Invisible here; [Hidden]
// knows the places.
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
		if unicode.In(r, k.of...) {
			return k.kind
		}
	}
	return Plain
}

// Harmful reports whether a character does something to a terminal, or to the lines around it.
func Harmful(r rune) bool {
	k := KindOf(r)
	return k != Plain && k != Invisible
}

// OneLine is s as one line that is harmless for a terminal: line feeds, tabs and carriage returns are spaces, and what else
// is harmful is not there.
func OneLine(s string) string { return harmless(s, ' ') }

// Lines is s, harmless for a terminal, with its line feeds and tabs.
func Lines(s string) string { return harmless(s, 0) }

// harmless writes space for what separates words, or leaves line feeds and tabs where it is 0.
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

// Visible is s, which is UTF-8, without what no reader sees, and the characters that are gone. Line feeds and
// tabs stay. So does one joiner or variation selector where a script or an emoji needs it: a zero-width joiner between two
// emoji, a joiner or non-joiner behind a letter or mark of Arabic, an Indic script and the like, and one variation selector
// behind a symbol, a Han character or a Mongolian letter. Further ones in the same place, and tags (with which flags of
// Britain's countries are written, and hidden text), go.
func Visible(s string) (string, []rune) {
	var out strings.Builder
	var taken []rune
	from := 0 // what is not written yet
	var before rune
	for i, r := range s {
		kind := KindOf(r)
		if kind == Plain || r == '\n' || r == '\t' || kind == Invisible && isUsed(r, before, s[i+utf8.RuneLen(r):]) {
			before = r
			continue
		}
		taken = append(taken, r)
		out.WriteString(s[from:i])
		from = i + utf8.RuneLen(r)
	}
	if taken == nil {
		return s, nil
	}
	out.WriteString(s[from:])
	return out.String(), taken
}

const (
	nonJoiner, joiner = 0x200C, 0x200D
	emojiStyle        = 0xFE0F // the selector that follows many an emoji
)

// isUsed reports whether an invisible character means something behind before and ahead of rest.
func isUsed(r, before rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == joiner && (isSymbol(before) || before == emojiStyle):
		return isSymbol(next)
	case r == joiner, r == nonJoiner:
		return unicode.In(before, joining...)
	case r == 0xFE0E, r == emojiStyle:
		return isSymbol(before) || unicode.Is(unicode.Han, before) || strings.ContainsRune("0123456789#*", before) || unicode.Is(unicode.Po, before)
	case unicode.Is(unicode.Variation_Selector, r):
		return unicode.Is(unicode.Han, before) || unicode.Is(unicode.Mongolian, before) && unicode.IsLetter(before)
	}
	return false
}

func isSymbol(r rune) bool { return r >= 0xA9 && unicode.In(r, unicode.So, unicode.Sm, unicode.Sk) }

// joining are the scripts in which a joiner or non-joiner changes what is drawn.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic, unicode.Manichaean, unicode.Adlam,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese,
}

// Cut is the beginning of s in at most most bytes, in whole characters; all of it where it is no longer.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := max(most, 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// Middle is a text without its middle, in at most most bytes, and how many bytes are not there: the beginning of an output
// says what it is, and the end how it went. The text begins with head and ends with tail, between which missing bytes are
// gone; of one text s these are s, s and -len(s). The note that says how much is gone is never cut.
func Middle(head, tail string, missing, most int) (string, int) {
	note := func(n int) string { return fmt.Sprintf("\n… %d bytes cut …\n", n) }
	room := max(0, most-len(note(missing+len(head)+len(tail)))) // what is gone is less, so its note is no longer
	begin, from := Cut(head, room-room/2), max(0, len(tail)-room/2)
	for from < len(tail) && !utf8.RuneStart(tail[from]) {
		from++
	}
	missing += len(head) - len(begin) + from
	return begin + note(missing) + tail[from:], missing
}

// Clip is [Cut] with an ellipsis where something is missing, which most does not count.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Cut(s, most) + "…"
}

// escapes are the control sequences of ECMA-48: CSI, the strings (OSC, DCS, APC, …), and the short ones.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])`)

// Printed is what a program wrote for a terminal, as harmless lines without white space at their end: colours and the like
// are taken out, a carriage return begins a line, and any other harmful character and what is not UTF-8 become U+FFFD.
func Printed(s string) string {
	s = strings.ToValidUTF8(s, string(unicode.ReplacementChar))
	s = escapes.ReplaceAllLiteralString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r': // a progress bar
			return '\n'
		case Harmful(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	return strings.TrimRight(s, " \t\n")
}
