package lineedit

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/text"
)

// search is the state of a search in the history, which Ctrl-R starts.
type search struct {
	query    string
	position int    // position of the text in the history, counted from the newest; 0 if none is found yet
	notFound bool   // no older text contains the query
	draft    string // the typed text before the search
}

// prompt returns the prompt during a search.
func (s *search) prompt() string {
	found := "search"
	if s.notFound {
		found = "not found"
	}
	return found + " \"" + show.CutColumns(show.Clean(s.query), 20) + "\": "
}

// handleSearchKey handles a key during a search, and reports whether the key is used up. Ctrl-C ends the search and
// restores the typed text. Esc ends it and keeps the found text. So do all keys of the editor, which the editor then
// handles.
func (r *readState) handleSearchKey(e Event) bool {
	s := r.search
	switch e.Key {
	case KeySearch:
		r.showMatch(s.position + 1)
	case KeyText, KeyPaste:
		s.query += text.OneLine(e.Text)
		r.showMatch(max(s.position, 1))
	case KeyBackspace:
		_, n := utf8.DecodeLastRuneInString(s.query)
		s.query = s.query[:len(s.query)-n]
		r.showMatch(1)
	case KeyInterrupt:
		r.set(s.draft)
		r.search = nil
	case KeyEscape:
		r.search = nil
	default:
		r.search = nil
		return false
	}
	return true
}

// showMatch shows the newest text that contains the query and is at least back entries old.
func (r *readState) showMatch(back int) {
	s, all := r.search, r.History.All()
	s.notFound = s.query != ""
	if s.query == "" {
		return
	}
	for i, entry := range slices.Backward(all) {
		if n := len(all) - i; n >= back && strings.Contains(strings.ToLower(entry), strings.ToLower(s.query)) {
			s.position, s.notFound = n, false
			r.set(text.Lines(entry)) // from a file that other programs may have written
			return
		}
	}
}
