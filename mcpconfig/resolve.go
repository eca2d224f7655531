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

// entry is a row with what only the reading needs of it.
type entry struct {
	Row
	n, column int
	from      *configFile
	key, v    *hujson.Value // in the file's tree; key is nil in a list
	wants     []fetch       // what is to be fetched before it starts
	waits     string        // why it must wait for approval; "" where it need not
	taking    string        // see takes
	pinned    []fetch       // those of wants that decide what runs, or where it is sent
}

// owner is the row that has an id: of several searches the later has it, of one search the first file, of one file the last
// row.
type owner struct{ group, source, row int }

// outranks reports whether a row goes before another that has its id.
func (o owner) outranks(other owner) bool {
	return cmp.Or(cmp.Compare(o.group, other.group), cmp.Compare(other.source, o.source), cmp.Compare(o.row, other.row)) > 0
}

// claims are the rows that were not skipped.
func claims(sources []*source) iter.Seq2[owner, *entry] {
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

// resolve decides who has an id, and who must wait for approval. A row claims its
// id unless it was skipped: a disabled row hides its namesakes, a broken one hides
// nothing. One that waits hides nobody who need not: a cloned repository takes no server
// away, and switches none off.
func (p *readContext) resolve(sources []*source) {
	type inFile struct {
		source int
		id     string
	}
	last := map[inFile]owner{} // of one file the last counts, whether or not it waits
	all, trusted := map[string]owner{}, map[string]owner{}
	claim := func(of map[string]owner, id string, me owner) {
		if other, taken := of[id]; !taken || me.outranks(other) {
			of[id] = me
		}
	}
	for me, e := range claims(sources) {
		claim(all, e.Server.ID, me)
		last[inFile{me.source, e.Server.ID}] = me
		if s := sources[me.source]; !s.approved || e.taking != "" && !p.Trust {
			e.waits = p.waits(s, e)
		}
	}
	for me, e := range claims(sources) {
		if e.waits == "" && last[inFile{me.source, e.Server.ID}] == me {
			claim(trusted, e.Server.ID, me)
		}
	}
	for me, e := range claims(sources) {
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

// hold keeps a row back until it is approved. A disabled one that would switch off no server
// need not be.
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

// waits says why a row of a project's file must wait for approval; "" where it is approved.
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
