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
	query string
	back  int    // position of the text in the history, counted from the newest; 0 if none is found yet
	lost  bool   // no older text contains the query
	draft string // the typed text before the search
}

// prompt returns the prompt during a search.
func (s *search) prompt() string {
	found := "search"
	if s.lost {
		found = "not found"
	}
	return found + " \"" + show.CutColumns(show.Clean(s.query), 20) + "\": "
}

// seek handles a key during a search, and reports whether the key is used up. Ctrl-C ends the search and restores the
// typed text. Esc ends it and keeps the found text. So do all keys of the editor, which the editor then handles.
func (r *reading) seek(e Event) bool {
	s := r.search
	switch e.Key {
	case KeySearch:
		r.find(s.back + 1)
	case KeyText, KeyPaste:
		s.query += text.OneLine(e.Text)
		r.find(max(s.back, 1))
	case KeyBackspace:
		_, n := utf8.DecodeLastRuneInString(s.query)
		s.query = s.query[:len(s.query)-n]
		r.find(1)
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

// find shows the newest text that contains the query and is at least back entries old.
func (r *reading) find(back int) {
	s, all := r.search, r.History.All()
	if s.lost = s.query != ""; s.query == "" {
		return
	}
	for i, old := range slices.Backward(all) {
		if n := len(all) - i; n >= back && strings.Contains(strings.ToLower(old), strings.ToLower(s.query)) {
			s.back, s.lost = n, false
			r.set(text.Lines(old)) // from a file that other programs may have written
			return
		}
	}
}
