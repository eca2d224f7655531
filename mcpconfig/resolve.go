package mcpconfig

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// entry is a row with the values that only the reading needs.
type entry struct {
	Row
	n, column  int
	file       *configFile
	v          *hujson.Value // in the file's tree
	typed      *typedRow     // nil: it cannot be read at all
	fetches    []fetch       // the fetches before it starts
	waitReason string        // why it must wait for approval; "" if it need not
	projectUse string        // see describeProjectUse
	pinned     []fetch       // the fetches that decide the command line or the address
}

// settle takes the server and the state from the values of the row.
func (e *entry) settle(r *valuedRow) {
	e.State, e.Reason, e.Hint, e.Server = Active, r.reason, r.hint, r.server
	if r.skipped {
		e.State = Skipped
	}
	if r.skipped || r.disabled {
		e.Server = config.Server{ID: r.id, Changes: r.server.Changes}
	}
}

// owner is the row that has an id. Of several searches the later one has it, in one search the first file, and in one
// file the last row.
type owner struct{ group, source, row int }

// outranks reports whether a row takes precedence over another one with its id.
func (o owner) outranks(other owner) bool {
	return cmp.Or(
		cmp.Compare(o.group, other.group), cmp.Compare(other.source, o.source), cmp.Compare(o.row, other.row),
	) > 0
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
	lastInFile := map[inFile]owner{} // in one file the last row counts, even if it waits
	owners, trustedOwners := map[string]owner{}, map[string]owner{}
	assign := func(owners map[string]owner, id string, candidate owner) {
		if previous, taken := owners[id]; !taken || candidate.outranks(previous) {
			owners[id] = candidate
		}
	}
	for candidate, e := range eachClaim(sources) {
		assign(owners, e.Server.ID, candidate)
		lastInFile[inFile{candidate.source, e.Server.ID}] = candidate
		if s := sources[candidate.source]; !s.approved || e.projectUse != "" && !p.Trust {
			e.waitReason = p.approvalReason(s, e)
		}
	}
	for candidate, e := range eachClaim(sources) {
		if e.waitReason == "" && lastInFile[inFile{candidate.source, e.Server.ID}] == candidate {
			assign(trustedOwners, e.Server.ID, candidate)
		}
	}
	for candidate, e := range eachClaim(sources) {
		s, first := sources[candidate.source], owners[e.Server.ID]
		winner, hasWinner := trustedOwners[e.Server.ID]
		switch {
		case e.waitReason != "" && (first == candidate || e.projectUse != "" && !(hasWinner && winner.outranks(candidate))):
			s.holdBack(e, hasWinner, sources, winner)
		case hasWinner && winner == candidate:
		case hasWinner && e.waitReason == "":
			s.setState(e, Shadowed, shadowReason(sources, winner, candidate.source), "remove or rename one of the two")
		default:
			s.setState(e, Shadowed, shadowReason(sources, first, candidate.source), "remove or rename one of the two")
		}
	}
}

const approveHint = `approve it with "indus mcp approve SERVER%s", or start it with --trust`

// holdBack keeps a row back until it is approved. A disabled row that would switch off no server need not be approved.
func (s *source) holdBack(e *entry, hasWinner bool, sources []*source, winner owner) {
	off := e.State == Disabled
	if off && !hasWinner {
		return
	}
	reason := e.waitReason
	if off {
		reason += ", and would switch the server off"
	}
	if hasWinner {
		by := sources[winner.source]
		reason += fmt.Sprintf("; until then the one at %s:%d counts", by.path, by.entries[winner.row].Line)
	}
	file := ""
	if s.scope == Explicit {
		file = " --mcp FILE"
	}
	s.setState(e, Held, reason, fmt.Sprintf(approveHint, file))
}

// approvalReason returns why a row of a project's file must wait for approval. It is "" if the row is approved.
func (p *readContext) approvalReason(s *source, e *entry) string {
	found := "found in a project's file, and "
	file := atomicfile.Real(s.path)
	if !isWithin(atomicfile.Real(e.file.site.base()), file) {
		found = "found in a project's file that is a link to " + tree.QuoteWord(file) + ", and "
	}
	here := ""
	if e.projectUse != "" {
		found, here = e.projectUse+", and ", " for this project"
	}
	switch a, ok := findApproval(p.approved(), file, e.Server.ID, e.Project); {
	case !ok:
		return found + "not approved yet" + here
	case !a.covers(e.Approval):
		return found + "changed since it was approved at " + a.approvedAt()
	}
	return ""
}

func shadowReason(sources []*source, o owner, shadowed int) string {
	by := sources[o.source]
	where := fmt.Sprintf("%s:%d", by.path, by.entries[o.row].Line)
	switch {
	case o.source == shadowed:
		return "defined again at " + where + "; of one file the last counts"
	case o.group != sources[shadowed].group:
		return "defined at " + where + " too, which was named later"
	}
	return "defined at " + where + " too, which takes precedence"
}

// setState sets the state of a row, and notes the reason.
func (s *source) setState(e *entry, state State, reason, hint string) {
	e.State, e.Reason, e.Hint = state, reason, hint
	s.notes = append(s.notes, Note{
		File: s.path, Line: e.Line, Column: e.column,
		Server: e.Server.ID, Row: e.n, State: state, Reason: reason, Hint: hint,
	})
}

// sortedNotes returns the notes in the order of the file.
func (s *source) sortedNotes() []Note {
	slices.SortStableFunc(s.notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return s.notes
}

// raisePolicies gives each row at least the policy that the user's own files have for its id, or in general. A
// project's file cannot lower it.
func raisePolicies(sources []*source) {
	least, all := map[string]config.ChangePolicy{}, config.ChangePolicy("")
	for _, s := range sources {
		if !s.isUserFile() {
			continue
		}
		if p, ok := policyOf(s.changes); ok {
			all = all.Strictest(p)
		}
		for _, e := range s.entries {
			least[e.Server.ID] = least[e.Server.ID].Strictest(e.Server.Changes)
		}
	}
	for _, s := range sources {
		for i := range s.entries {
			e := &s.entries[i].Server
			if p := least[e.ID].Strictest(all); !s.isUserFile() && p.Guards() {
				e.Changes = e.Changes.Strictest(p)
			}
		}
	}
}
