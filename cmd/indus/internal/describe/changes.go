package describe

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
)

const (
	maxNamed     = 4    // places in a line
	maxUnchanged = 60   // characters of unchanged text between two changes
	maxWords     = 4000 // characters of a changed text
	maxPath      = 200  // characters of a place
)

// Differences returns the fields in which two versions of a tool differ.
func Differences(before, after ledger.Entry) []ledger.Field {
	for _, c := range ledger.Diff([]ledger.Entry{before}, []ledger.Entry{after}) {
		return c.Fields
	}
	return nil
}

// ChangedPlaces names the changed places on one line.
func ChangedPlaces(fields []ledger.Field) string {
	if len(fields) == 0 {
		return "only spaces, the order of members, or parts of which the ledger has only a checksum"
	}
	return show.List(show.Names(fields, func(f ledger.Field) string { return PlaceName(f.Path) }), maxNamed, "places")
}

// PlaceName formats a JSON Pointer for a person. A direct member of the tool has no slash.
func PlaceName(path string) string {
	if strings.Count(path, "/") == 1 {
		path = path[1:]
	}
	if path == "" {
		path = "all of it"
	}
	return show.Cut(show.Escaped(path), maxPath)
}

// ChangeLines returns a line for each changed place, as "indus mcp log" prints it.
func ChangeLines(fields []ledger.Field) string {
	if len(fields) == 0 {
		return "  " + ChangedPlaces(fields) + "\n"
	}
	var b strings.Builder
	for _, f := range fields {
		b.WriteString("  " + PlaceName(f.Path) + ": " + fieldText(f) + "\n")
	}
	return b.String()
}

// fieldText returns the change of one place.
func fieldText(f ledger.Field) string {
	var b strings.Builder
	for _, p := range Pieces(f) {
		switch p.Op {
		case "-":
			b.WriteString("[-" + p.Text + "-]")
		case "+":
			b.WriteString("{+" + p.Text + "+}")
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Piece is a part of a changed text. Op is "-" for removed and "+" for added text, and "" for text that stays. Text is
// escaped, so that nothing hides in it.
type Piece struct{ Op, Text string }

// Pieces returns the change of one place: a text word by word, and other values before and after. Long texts are cut.
func Pieces(f ledger.Field) (pieces []Piece) {
	if f.Words != nil {
		return wordPieces(f.Words)
	}
	if f.Before != nil {
		pieces = append(pieces, Piece{"-", valueText(f.Before)})
	}
	if f.After != nil {
		pieces = append(pieces, Piece{"+", valueText(f.After)})
	}
	return pieces
}

// valueText returns JSON on one line.
func valueText(raw json.RawMessage) string {
	return longText([]rune(show.CompactJSON(raw)))
}

// wordPieces returns the pieces of a text. It shortens unchanged text to the ends beside a change.
func wordPieces(words []ledger.Word) (pieces []Piece) {
	for i, w := range words {
		switch text := []rune(w.Text); w.Op {
		case "-", "+":
			pieces = append(pieces, Piece{w.Op, longText(text)})
		default:
			pieces = append(pieces, Piece{"", show.Escaped(cutMiddle(text, i > 0, i < len(words)-1))})
		}
	}
	return pieces
}

// longText returns changed text. If the text is too long, it is cut and the rest is counted.
func longText(text []rune) string {
	if len(text) <= maxWords {
		return show.Escaped(string(text))
	}
	return show.Escaped(string(text[:maxWords])) + fmt.Sprintf("… and %d more characters", len(text)-maxWords)
}

// cutMiddle returns the ends of a text that are beside a change.
func cutMiddle(text []rune, begin, end bool) string {
	if len(text) <= maxUnchanged {
		return string(text)
	}
	out := "…"
	if begin {
		out = string(text[:maxUnchanged/2]) + out
	}
	if end {
		out += string(text[len(text)-maxUnchanged/2:])
	}
	return out
}
