package history

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
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
	return show.List(show.Names(fields, func(f ledger.Field) string { return placeName(f.Path) }), maxNamed, "places")
}

// placeName formats a JSON Pointer for a person. A direct member of the tool has no slash.
func placeName(path string) string {
	if strings.Count(path, "/") == 1 {
		path = path[1:]
	}
	if path == "" {
		path = "all of it"
	}
	return show.Cut(show.Escaped(path), maxPath)
}

// changeLines returns a line for each changed place.
func changeLines(fields []ledger.Field) string {
	if len(fields) == 0 {
		return "  " + ChangedPlaces(fields) + "\n"
	}
	var b strings.Builder
	for _, f := range fields {
		b.WriteString("  " + placeName(f.Path) + ": " + fieldText(f) + "\n")
	}
	return b.String()
}

// fieldText returns the change of one place: a text word by word, and other values before and after.
func fieldText(f ledger.Field) string {
	switch {
	case f.Words != nil:
		return wordsText(f.Words)
	case f.Before == nil:
		return "{+" + valueText(f.After) + "+}"
	case f.After == nil:
		return "[-" + valueText(f.Before) + "-]"
	}
	return "[-" + valueText(f.Before) + "-]{+" + valueText(f.After) + "+}"
}

// valueText returns JSON on one line.
func valueText(raw json.RawMessage) string {
	return longText([]rune(show.CompactJSON(raw)))
}

// wordsText marks removed and added text. It shortens unchanged text to the ends beside a change.
func wordsText(words []ledger.Word) string {
	var b strings.Builder
	for i, w := range words {
		switch text := []rune(w.Text); w.Op {
		case "-":
			b.WriteString("[-" + longText(text) + "-]")
		case "+":
			b.WriteString("{+" + longText(text) + "+}")
		default:
			b.WriteString(show.Escaped(cutMiddle(text, i > 0, i < len(words)-1)))
		}
	}
	return b.String()
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

// versionTracker tracks the approved version of each tool while the log is read in order.
type versionTracker struct {
	known    map[command.Version]ledger.Entry
	approved map[command.Version]string // sum by version; the sum of the key is ""
}

// process processes the next entry. If e is not the approved version, it returns that version, or isNew if there is
// none.
func (v *versionTracker) process(e ledger.Entry) (approved ledger.Entry, ok, isNew bool) {
	if e.Tool == "" || e.Sum == "" {
		return ledger.Entry{}, false, false
	}
	version := command.VersionOf(e)
	t := version
	t.Sum = ""
	switch e.Op {
	case ledger.Accept:
		v.approved[t] = e.Sum
		return ledger.Entry{}, false, false
	case ledger.Enroll, ledger.Hold:
		if _, seen := v.approved[t]; !seen && !e.Changed && e.Op == ledger.Enroll {
			v.approved[t] = e.Sum
		}
		v.known[version] = e
	}
	if v.approved[t] == e.Sum {
		return ledger.Entry{}, false, false
	}
	t.Sum = v.approved[t]
	approved, ok = v.known[t]
	return approved, ok, t.Sum == ""
}
