package schema

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	noteGap     = "\n\n" // between a description and a note
	cutMark     = "…"
	replacement = "\uFFFD"
)

// Describe is a tool's description as the profile's consumer takes it: without what no reader sees (invalid UTF-8, control
// characters other than line feed and tab, characters that change the direction of text), and cut at a word if it is too
// long. An empty one stays empty, even where the profile wants one: who knows the tool has something to say.
//
// [Original] and [Seed] leave it as it is. Describing what has been described changes nothing.
func Describe(description string, p *Profile) (string, []Change) {
	return (&Adapted{}).Describe(description, p)
}

// Describe is [Describe] with the note at its end, once. If both are too long together, the description is cut.
func (a *Adapted) Describe(description string, p *Profile) (string, []Change) {
	if p == nil || p.whole != nil {
		return description, nil
	}
	var changes []Change
	did := func(format string, args ...any) {
		changes = append(changes, Change{Rule: RuleDescription, Did: fmt.Sprintf(format, args...)})
	}
	prose := cleanText(description, did)
	limit, note := p.rules.Tool.MaxDescription, strings.TrimSpace(cleanText(a.Note, func(string, ...any) {})) // it quotes the schema
	short := note                                                                                             // as it stands beside a description
	if limit > 0 {
		short = cutAtWord(note, limit/2)
	}
	switch {
	case strings.Contains(prose, short):
		note = "" // it is said
	case strings.HasPrefix(note, strings.TrimSpace(strings.TrimSuffix(prose, cutMark))):
		prose = ""
	default:
		note = short
	}
	if prose != "" && note != "" {
		note = noteGap + note
	}
	if limit == 0 {
		return prose + note, changes
	}
	if room := max(limit-utf8.RuneCountInString(note), 0); !fits(prose, room) {
		prose = cutAtWord(prose, room)
		did("cut to %d characters", limit)
		changes[len(changes)-1].Lost = "the end of the description"
	}
	return cutAtWord(prose+note, limit), changes
}

// isPlainText reports whether nothing in a text needs a look: the most there are.
func isPlainText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7F {
			return false
		}
	}
	return true
}

// cleanText takes out of a text what no reader sees, and tells of it.
func cleanText(text string, did func(string, ...any)) string {
	if isPlainText(text) {
		return text
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, replacement)
		did("replaced bytes that are not UTF-8")
	}
	controls, turns := 0, 0
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r):
			controls++
			return -1
		case unicode.Is(unicode.Bidi_Control, r):
			turns++
			return -1
		}
		return r
	}, text)
	if controls > 0 {
		did("took out %s", howMany(controls, "control character"))
	}
	if turns > 0 {
		did("took out %s that change the direction of text", howMany(turns, "character"))
	}
	return text
}

func howMany(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// fits reports whether a text has at most limit characters.
func fits(text string, limit int) bool {
	return len(text) <= limit || utf8.RuneCountInString(text) <= limit
}

// cutAtWord is the beginning of a text with a mark where it ends, in at most limit characters. A word longer than half of
// that is cut within.
func cutAtWord(text string, limit int) string {
	if fits(text, limit) {
		return text
	}
	if limit == 0 {
		return ""
	}
	end := 0
	for range limit - 1 {
		_, n := utf8.DecodeRuneInString(text[end:])
		end += n
	}
	kept := text[:end]
	if at := strings.LastIndexFunc(kept, unicode.IsSpace); at > end/2 && !unicode.IsSpace(firstRune(text[end:])) {
		kept = kept[:at]
	}
	return strings.TrimRightFunc(kept, unicode.IsSpace) + cutMark
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}
