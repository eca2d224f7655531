package mcpconfig

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// entry is a row with what only the reading needs of it.
type entry struct {
	Row
	n, column int
	from      *file
	key, v    *hujson.Value // in the file's tree; key is nil in a list
	wants     []fetch       // what is to be fetched before it starts
}

// resolve decides who has an id, and who must wait for approval. A row claims its
// id unless it was skipped: a disabled row hides its namesakes, a broken one hides
// nothing.
func (p *place) resolve(sources []*source) {
	owners := map[string]owner{}
	for i, s := range sources {
		for j := range s.entries {
			e := &s.entries[j]
			if e.State == Skipped {
				continue
			}
			id := e.Server.ID
			if old, taken := owners[id]; !taken || s.group != old.group || i == old.source {
				owners[id] = owner{group: s.group, source: i, row: j}
			}
		}
	}
	for i, s := range sources {
		for j := range s.entries {
			e := &s.entries[j]
			if e.State == Skipped {
				continue
			}
			if o := owners[e.Server.ID]; o.source != i || o.row != j {
				s.settle(e, Shadowed, shadowReason(sources, o, i), "remove or rename one of the two")
			} else if e.State == Active && !s.approved {
				if wait := p.waits(s, e); wait != "" {
					s.settle(e, Held, wait, `approve it with "indus mcp approve SERVER", or start it with --trust`)
				}
			}
		}
	}
}

// waits says why a row of a project's file must wait for approval; "" where it is approved.
func (p *place) waits(s *source, e *entry) string {
	const found = "found in a project's file, and "
	file, err := identity(s.path)
	if err != nil {
		return found + "where that is cannot be told"
	}
	switch a, ok := find(p.approved(), file, e.Server.ID); {
	case !ok:
		return found + "not approved yet"
	case a.Fingerprint != e.Approval:
		return found + "changed since it was approved at " + a.At.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return ""
}

// owner is the row that has an id.
type owner struct{ group, source, row int }

func shadowReason(sources []*source, o owner, loser int) string {
	by := sources[o.source]
	where := fmt.Sprintf("%s:%d", by.path, by.entries[o.row].Line)
	switch {
	case o.source == loser:
		return "defined again at " + where + "; of one file the last counts"
	case o.group != sources[loser].group:
		return "defined at " + where + " too, which was named later"
	}
	return "defined at " + where + " too, which takes precedence"
}

// settle changes what becomes of a row, and notes why.
func (s *source) settle(e *entry, state State, reason, hint string) {
	e.State, e.Reason, e.Hint = state, reason, hint
	s.notes = append(s.notes, Note{
		File: s.path, Line: e.Line, Column: e.column,
		Server: e.Server.ID, Row: e.n, State: state, Reason: reason, Hint: hint,
	})
}

// sorted are the notes in the order of the file.
func (s *source) sorted() []Note {
	slices.SortStableFunc(s.notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return s.notes
}
