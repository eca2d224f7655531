package lineedit

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/text"
)

// search is a search of the history: Ctrl-R, and then part of a text that was typed before.
type search struct {
	query string
	back  int    // how far back in the history the text is from; 0: none is found yet
	lost  bool   // no older text has the query
	draft string // what was typed before the search
}

// prompt stands before the text while the history is searched.
func (s *search) prompt() string {
	found := "search"
	if s.lost {
		found = "not found"
	}
	return found + " \"" + show.CutColumns(show.Clean(s.query), 20) + "\": "
}

// seek does what a key does to a search, and reports whether that is all. Keys of an editor end the search and keep the
// text that it found; Ctrl-C and Esc also end it, and Ctrl-C brings back what was typed before.
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

// find shows the newest text with the query that is at least so far back in the history.
func (r *reading) find(back int) {
	s, all := r.search, r.History.All()
	if s.lost = s.query != ""; s.query == "" {
		return
	}
	for i, old := range slices.Backward(all) {
		if n := len(all) - i; n >= back && strings.Contains(strings.ToLower(old), strings.ToLower(s.query)) {
			s.back, s.lost = n, false
			r.set(text.Lines(old)) // from a file that others may have written
			return
		}
	}
}
