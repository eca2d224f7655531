package mcpconfig

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

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
	default:
		if more := e.Sandbox().Beyond(a.Sandbox); len(more) > 0 {
			return found + "its sandbox allows more than was approved at " + a.approvedAt() + ": " + strings.Join(more, ", ")
		}
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

// resolveSettings returns each setting of the file that takes precedence for it.
func resolveSettings(sources []*source) Settings {
	return Settings{
		Auth: resolveSetting(sources, func(s *Settings) *Auth { return s.Auth }, "auth: that at %s:%d takes precedence"),
		Policy: resolveSetting(sources, func(s *Settings) *Policy { return s.Policy },
			"policy: the policy at %s:%d takes precedence"),
		Audit: resolveSetting(sources, func(s *Settings) *Audit { return s.Audit }, "audit: that at %s:%d takes precedence"),
		Approvals: resolveSetting(sources, func(s *Settings) *CallApprovals { return s.Approvals },
			"approvals: those at %s:%d take precedence"),
		Cluster: resolveSetting(sources, func(s *Settings) *Cluster { return s.Cluster },
			"cluster: that at %s:%d takes precedence"),
		Registries: resolveSetting(sources, func(s *Settings) *Registries { return s.Registries },
			"registries: those at %s:%d take precedence"),
	}
}

// resolveSetting returns a setting of the file with the highest precedence, or nil if no file has it. Each other file
// that has it gets a note: precedence is its format, with the place of the setting that counts.
func resolveSetting[T any, S anySetting[T]](sources []*source, of func(*Settings) S, precedence string) S {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s *source) bool { return of(&s.Settings) == nil })
	if len(sources) == 0 {
		return nil
	}
	first := slices.MaxFunc(sources, func(a, b *source) int { return a.group - b.group })
	winner := of(&first.Settings)
	for _, s := range sources {
		if at := of(&s.Settings).place(); s != first && !at.Broken { // a broken one has a better note already
			s.notes = append(s.notes, Note{
				File: s.path, Line: at.Line, Column: 1, Hint: "remove one of the two",
				Reason: fmt.Sprintf(precedence, first.path, winner.place().Line),
			})
		}
	}
	return winner
}

// resolveViews returns the views that count, one for each name. The file with the higher precedence for servers wins. A
// project's file that was only discovered comes last, so that a cloned repository widens no view of the user.
func resolveViews(sources []*source) (out []View) {
	var claims []viewEntry
	for _, s := range sources {
		for _, v := range s.views {
			i := slices.IndexFunc(claims, func(c viewEntry) bool { return c.Name == v.Name })
			if i < 0 {
				claims = append(claims, v)
				continue
			}
			old, loser := claims[i], v
			if old.source == s || s.approved && !old.source.approved ||
				s.approved == old.source.approved && s.group > old.source.group {
				claims[i], loser = v, old
			}
			by := claims[i]
			s.notes = append(s.notes, Note{
				File: loser.File, Line: loser.Line, Column: 1,
				Reason: fmt.Sprintf("view %s: defined at %s:%d too, which takes precedence",
					tree.Quote(v.Name), by.File, by.Line),
				Hint: "remove or rename one of the two",
			})
		}
	}
	for _, c := range claims {
		if !c.unreadable {
			out = append(out, c.View)
		}
	}
	return out
}
