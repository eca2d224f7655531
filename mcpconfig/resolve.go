package mcpconfig

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// entry is a row with the values that only the reading needs.
type entry struct {
	Row
	n, column int
	from      *configFile
	key, v    *hujson.Value // in the file's tree; key is nil in a list
	wants     []fetch       // the fetches before it starts
	waits     string        // why it must wait for approval; "" if it need not
	taking    string        // see takes
	pinned    []fetch       // the fetches in wants that decide the command line or the address
}

// owner is the row that has an id. Of several searches the later one has it, in one search the first file, and in one
// file the last row.
type owner struct{ group, source, row int }

// outranks reports whether a row takes precedence over another one with its id.
func (o owner) outranks(other owner) bool {
	return cmp.Or(cmp.Compare(o.group, other.group), cmp.Compare(other.source, o.source), cmp.Compare(o.row, other.row)) > 0
}

// eachClaim yields the rows that were not skipped.
func eachClaim(sources []*source) iter.Seq2[owner, *entry] {
	return func(yield func(owner, *entry) bool) {
		for i, s := range sources {
			for j := range s.entries {
				if e := &s.entries[j]; e.State != Skipped && !yield(owner{s.group, i, j}, e) {
					return
				}
			}
		}
	}
}

// resolve decides which row has an id, and which rows must wait for approval. A row claims its id unless it was
// skipped. So a disabled row hides other rows with its id, and a broken row hides none. A row that waits hides no row
// that need not wait: a cloned repository removes no server and switches none off.
func (p *readContext) resolve(sources []*source) {
	type inFile struct {
		source int
		id     string
	}
	last := map[inFile]owner{} // in one file the last row counts, even if it waits
	all, trusted := map[string]owner{}, map[string]owner{}
	give := func(of map[string]owner, id string, me owner) {
		if other, taken := of[id]; !taken || me.outranks(other) {
			of[id] = me
		}
	}
	for me, e := range eachClaim(sources) {
		give(all, e.Server.ID, me)
		last[inFile{me.source, e.Server.ID}] = me
		if s := sources[me.source]; !s.approved || e.taking != "" && !p.Trust {
			e.waits = p.waits(s, e)
		}
	}
	for me, e := range eachClaim(sources) {
		if e.waits == "" && last[inFile{me.source, e.Server.ID}] == me {
			give(trusted, e.Server.ID, me)
		}
	}
	for me, e := range eachClaim(sources) {
		s, first := sources[me.source], all[e.Server.ID]
		counts, any := trusted[e.Server.ID]
		switch {
		case e.waits != "" && (first == me || e.taking != "" && !(any && counts.outranks(me))):
			s.hold(e, any, sources, counts)
		case any && counts == me:
		case any && e.waits == "":
			s.settle(e, Shadowed, shadowReason(sources, counts, me.source), "remove or rename one of the two")
		default:
			s.settle(e, Shadowed, shadowReason(sources, first, me.source), "remove or rename one of the two")
		}
	}
}

const approveHint = `approve it with "indus mcp approve SERVER%s", or start it with --trust`

// hold keeps a row back until it is approved. A disabled row that would switch off no server need not be approved.
func (s *source) hold(e *entry, any bool, sources []*source, counts owner) {
	off := e.State == Disabled
	if off && !any {
		return
	}
	reason := e.waits
	if off {
		reason += ", and would switch the server off"
	}
	if any {
		by := sources[counts.source]
		reason += fmt.Sprintf("; until then the one at %s:%d counts", by.path, by.entries[counts.row].Line)
	}
	file := ""
	if s.scope == Explicit {
		file = " --mcp FILE"
	}
	s.settle(e, Held, reason, fmt.Sprintf(approveHint, file))
}

// waits returns why a row of a project's file must wait for approval. It is "" if the row is approved.
func (p *readContext) waits(s *source, e *entry) string {
	found := "found in a project's file, and "
	file := atomicfile.Real(s.path)
	if !isWithin(atomicfile.Real(e.from.base()), file) {
		found = "found in a project's file that is a link to " + tree.QuoteWord(file) + ", and "
	}
	here := ""
	if e.taking != "" {
		found, here = e.taking+", and ", " for this project"
	}
	switch a, ok := find(p.approved(), file, e.Server.ID, e.Project); {
	case !ok:
		return found + "not approved yet" + here
	case !a.covers(e.Approval):
		return found + "changed since it was approved at " + a.at()
	}
	return ""
}

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

// settle sets the state of a row, and notes the reason.
func (s *source) settle(e *entry, state State, reason, hint string) {
	e.State, e.Reason, e.Hint = state, reason, hint
	s.notes = append(s.notes, Note{
		File: s.path, Line: e.Line, Column: e.column,
		Server: e.Server.ID, Row: e.n, State: state, Reason: reason, Hint: hint,
	})
}

// sorted returns the notes in the order of the file.
func (s *source) sorted() []Note {
	slices.SortStableFunc(s.notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return s.notes
}
