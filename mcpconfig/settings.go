package mcpconfig

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/tailscale/hujson"
)

// A setting is a member beside the rows: "auth", "policy", "audit", "approvals", "cluster" and "registries". It is in
// one file.

// serveSetting is a pointer to a setting as one file has it.
type serveSetting[T any] interface {
	*T
	// place returns the fields with the position of the setting, and the field that is set if it is broken.
	place() (file *string, line *int, broken *bool)
}

func (a *Auth) place() (*string, *int, *bool)          { return &a.File, &a.Line, &a.Broken }
func (a *Policy) place() (*string, *int, *bool)        { return &a.File, &a.Line, &a.Broken }
func (a *Audit) place() (*string, *int, *bool)         { return &a.File, &a.Line, &a.Broken }
func (a *CallApprovals) place() (*string, *int, *bool) { return &a.File, &a.Line, &a.Broken }
func (a *Cluster) place() (*string, *int, *bool)       { return &a.File, &a.Line, &a.Broken }
func (a *Registries) place() (*string, *int, *bool)    { return &a.File, &a.Line, &a.Broken }

// readSetting reads a setting of the file with read, and stores it. If the file may not have it, reason is noted. A
// mistake in a setting is more than a note: the setting is broken.
func readSetting[T any, S serveSetting[T]](
	f *configFile, name string, m *hujson.ObjectMember, reason string, to *S, read func(r *reading, out S),
) {
	if !f.maySet(m.Name.StartOffset, reason) {
		return
	}
	r := f.newReading(name+" cannot be used: ", m.Name.StartOffset)
	if *to != nil {
		r.skip(r.offset, "it stands twice", "remove one of the two")
	}
	out := S(new(T))
	file, line, broken := out.place()
	*file = f.path
	*line, _ = f.doc.Position(r.offset)
	read(r, out)
	r.refuseFetches()
	*broken, *to = r.State == Skipped, out
}

// refuseFetches reports the values that are fetched only for a row.
func (r *reading) refuseFetches() {
	if len(r.fetches) > 0 {
		r.skip(r.offset, "${file:…} and ${cmd:…} are not read here", "take a variable, ${NAME}")
	}
}

// breakSettings marks the settings that the user's file may have as broken, because it cannot be read.
func (s *source) breakSettings(line int) {
	s.auth = &Auth{File: s.path, Line: line, Broken: true}
	s.policy = &Policy{File: s.path, Line: line, Broken: true}
	s.audit = &Audit{File: s.path, Line: line, Broken: true}
	s.registries = &Registries{File: s.path, Line: line, Broken: true}
}

// equalSettings reports whether two settings are the same. Their positions do not count.
func equalSettings[T any, S serveSetting[T]](a, b S) bool {
	if a == nil || b == nil {
		return a == b
	}
	other := *b
	file, line, _ := a.place()
	otherFile, otherLine, _ := S(&other).place()
	*otherFile, *otherLine = *file, *line
	return reflect.DeepEqual(*a, other)
}

// maySet reports whether the file may have a setting of indus serve, and notes reason if not. A project's file may only
// if its user named it: trust in its servers is no permission to decide about clients or to write files.
func (f *configFile) maySet(offset int, reason string) bool {
	if f.scope != Project && f.approved {
		return true
	}
	f.note(offset, reason, "write it into a file of your own, or name this one with --mcp")
	return false
}

// resolveSetting returns a setting of the file with the highest precedence, or nil if no file has it. Each other file
// that has it gets a note: precedence is its format, with the place of the setting that counts.
func resolveSetting[T any, S serveSetting[T]](sources []*source, of func(*source) S, precedence string) S {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s *source) bool { return of(s) == nil })
	if len(sources) == 0 {
		return nil
	}
	first := slices.MaxFunc(sources, func(a, b *source) int { return a.group - b.group })
	_, firstLine, _ := of(first).place()
	for _, s := range sources {
		_, line, broken := of(s).place()
		if s != first && !*broken { // a broken one has a better note already
			s.notes = append(s.notes, Note{
				File: s.path, Line: *line, Column: 1, Hint: "remove one of the two",
				Reason: fmt.Sprintf(precedence, first.path, *firstLine),
			})
		}
	}
	return of(first)
}
