package schema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/schema/rule"
)

const (
	noteGap     = "\n\n" // between a description and a note
	cutMark     = "…"
	replacement = "\uFFFD"
)

// Describe returns a tool's description in the form that the profile's consumer accepts. It removes characters that no
// reader sees, and cuts a description that is too long at a word. It removes invalid UTF-8, control characters other
// than line feed and tab, and characters that change the direction of text. It also removes invisible characters such
// as tags, zero-width spaces and variation selectors, unless a script or an emoji needs them. An empty description
// stays empty even if the profile requires one, because the caller knows the tool.
//
// [Original] and [Seed] leave the description unchanged. Describing a result again changes nothing.
func Describe(description string, p *Profile) (string, []Change) {
	return (&Adapted{}).Describe(description, p)
}

// Describe is like the function [Describe], and appends the note once. If both are too long, it cuts the description.
func (a *Adapted) Describe(description string, p *Profile) (string, []Change) {
	if p == nil || p.transform != nil {
		return description, nil
	}
	var changes []Change
	report := func(format string, args ...any) {
		changes = append(changes, Change{Rule: rule.Description, Did: fmt.Sprintf(format, args...)})
	}
	prose := cleanText(description, report)
	limit := p.rules.Tool.MaxDescription
	note := strings.TrimSpace(cleanText(a.Note, func(string, ...any) {})) // it quotes the schema
	short := note                                                         // the note beside a description
	if limit > 0 {
		short = cutAtWord(note, limit/2)
	}
	switch {
	case strings.Contains(prose, short):
		note = "" // the description contains the note
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
	if room := max(limit-utf8.RuneCountInString(note), 0); !isAtMost(prose, room) {
		prose = cutAtWord(prose, room)
		report("cut to %d characters", limit)
		changes[len(changes)-1].Lost = "the end of the description"
	}
	return cutAtWord(prose+note, limit), changes
}

// cleanText removes the characters that no reader sees, and reports its changes.
func cleanText(s string, report func(string, ...any)) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, replacement)
		report("replaced bytes that are not UTF-8")
	}
	s, removed := text.Visible(s)
	var counts [text.Invisible + 1]int
	for _, r := range removed {
		counts[text.KindOf(r)]++
	}
	for kind, n := range counts {
		if n > 0 {
			report("took out %s", signature.Count(strconv.Itoa(n), kindNames[kind]))
		}
	}
	return s
}

var kindNames = [...]string{
	text.Control: "control character", text.Line: "line separator", text.Direction: "direction mark",
	text.Invisible: "invisible character",
}

// isAtMost reports whether a text has at most limit characters.
func isAtMost(text string, limit int) bool {
	return len(text) <= limit || utf8.RuneCountInString(text) <= limit
}

// cutAtWord cuts a text to at most limit characters and appends a mark. It cuts at a word, unless the last word would
// take more than half of the text.
func cutAtWord(s string, limit int) string {
	if isAtMost(s, limit) {
		return s
	}
	if limit == 0 {
		return ""
	}
	end := 0
	for range limit - 1 {
		_, n := utf8.DecodeRuneInString(s[end:])
		end += n
	}
	head := s[:end]
	next, _ := utf8.DecodeRuneInString(s[end:])
	if at := strings.LastIndexFunc(head, unicode.IsSpace); at > end/2 && !unicode.IsSpace(next) {
		head = head[:at]
	}
	head, _ = text.Visible(strings.TrimRightFunc(head, unicode.IsSpace)) // a joiner may have lost its neighbour
	return head + cutMark
}
