package mcpconfig

import (
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// A setting is a member beside the rows: "auth", "policy", "audit", "approvals", "cluster" and "registries". It is in
// one file.

// serveSetting is a setting as one file has it.
type serveSetting interface {
	comparable
	// place returns the line of the setting in its file, and whether it is broken.
	place() (line int, broken bool)
}

func (a *Auth) place() (int, bool)          { return a.Line, a.Broken }
func (a *Policy) place() (int, bool)        { return a.Line, a.Broken }
func (a *Audit) place() (int, bool)         { return a.Line, a.Broken }
func (a *CallApprovals) place() (int, bool) { return a.Line, a.Broken }

// maySet reports whether the file may have a setting of indus serve, and notes reason if not. A project's file may only
// if its user named it: trust in its servers is no permission to decide about clients or to write files.
func (f *configFile) maySet(m *hujson.ObjectMember, reason string) bool {
	return f.maySetAt(m.Name.StartOffset, reason)
}

func (f *configFile) maySetAt(offset int, reason string) bool {
	if f.scope != Project && f.approved {
		return true
	}
	f.note(offset, reason, "write it into a file of your own, or name this one with --mcp")
	return false
}

// resolveSetting returns a setting of the file with the highest precedence, or zero if no file has it. Each other file
// that has it gets a note: precedence is its format, with the place of the setting that counts.
func resolveSetting[S serveSetting](sources []*source, of func(*source) S, precedence string) (setting S) {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s *source) bool { return of(s) == setting })
	if len(sources) == 0 {
		return setting
	}
	first := slices.MaxFunc(sources, func(a, b *source) int { return a.group - b.group })
	firstLine, _ := of(first).place()
	for _, s := range sources {
		line, broken := of(s).place()
		if s != first && !broken { // a broken one has a better note already
			s.notes = append(s.notes, Note{
				File: s.path, Line: line, Column: 1, Hint: "remove one of the two",
				Reason: fmt.Sprintf(precedence, first.path, firstLine),
			})
		}
	}
	return of(first)
}
