package mcpconfig

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Settings are the members of a file beside its servers and views. Each of them is nil if no file has it.
type Settings struct {
	// Auth holds how clients of indus serve authenticate.
	Auth *Auth
	// Policy names the policies of indus serve.
	Policy *Policy
	// Audit holds where indus serve records requests.
	Audit *Audit
	// Approvals holds how calls to indus serve wait for a person.
	Approvals *CallApprovals
	// Cluster holds where several indus serve keep shared state.
	Cluster *Cluster
	// Registries holds the registries that commands ask.
	Registries *Registries
}

// Setting is the part that all settings have.
type Setting struct {
	// File and Line are the position of the setting.
	File string
	Line int
	// Broken is set if the setting cannot be read. [Auth], [Policy], [Audit] and [Registries] are also broken if a file
	// of the user that may have them cannot be read. A note has the reason.
	Broken bool
}

func (s *Setting) place() *Setting { return s }

// anySetting is a pointer to a setting as one file has it.
type anySetting[T any] interface {
	*T
	place() *Setting
}

// settingAt returns a setting at an offset of the file.
func (f *configFile) settingAt(offset int) Setting {
	line, _ := f.doc.Position(offset)
	return Setting{File: f.path, Line: line}
}

// misspeltSetting notes a wrong name of a setting, and returns a broken setting.
func (f *configFile) misspeltSetting(name string, m *hujson.ObjectMember) Setting {
	out := f.settingAt(m.Name.StartOffset)
	out.Broken = true
	f.note(m.Name.StartOffset, name+" cannot be used: unknown key "+tree.Quote(tree.Text(m.Name)),
		fmt.Sprintf("write %q, or remove it", name))
	return out
}

// readSetting reads a setting of the file with read, and stores it. If the file may not have it, reason is noted. A
// mistake in a setting is more than a note: the setting is broken.
func readSetting[T any, S anySetting[T]](
	f *configFile, name string, m *hujson.ObjectMember, reason string, to *S,
	read func(r *valuedRow, v *hujson.Value, out S),
) {
	if !f.maySet(m.Name.StartOffset, reason) {
		return
	}
	r := newPart(name+" cannot be used: ", m.Name.StartOffset, f.site, &f.budget)
	if *to != nil {
		r.skip(r.at, "it stands twice", "remove one of the two")
	}
	out := S(new(T))
	*out.place() = f.settingAt(r.at)
	read(r, &m.Value, out)
	r.refuseFetches()
	f.report(&r.findings, 0)
	out.place().Broken, *to = r.skipped, out
}

// refuseFetches reports the values that are fetched only for a row.
func (r *valuedRow) refuseFetches() {
	if len(r.fetches) > 0 {
		r.skip(r.at, "${file:…} and ${cmd:…} are not read here", "take a variable, ${NAME}")
	}
}

// breakSettings marks the settings that the user's file may have as broken, because it cannot be read.
func (s *source) breakSettings(line int) {
	broken := Setting{File: s.path, Line: line, Broken: true}
	s.Auth, s.Policy, s.Audit = &Auth{Setting: broken}, &Policy{Setting: broken}, &Audit{Setting: broken}
	s.Registries = &Registries{Setting: broken}
}

// equalSettings reports whether two settings are the same. Their positions do not count.
func equalSettings[T any, S anySetting[T]](a, b S) bool {
	if a == nil || b == nil {
		return a == b
	}
	other := *b
	at := S(&other).place()
	at.File, at.Line = a.place().File, a.place().Line
	return reflect.DeepEqual(*a, other)
}

// maySet reports whether the file may have a setting of indus serve, and notes reason if not. A project's file may only
// if its user named it: trust in its servers is no permission to decide about clients or to write files.
func (f *configFile) maySet(offset int, reason string) bool {
	if f.site.maySet() {
		return true
	}
	f.note(offset, reason, "write it into a file of your own, or name this one with --mcp")
	return false
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

// Registries holds the addresses of the MCP registries that commands ask: the member "registries" of a file. If it is
// Broken, no registry may be asked: the file may forbid all but its own.
type Registries struct {
	Setting
	// URLs holds the addresses in order. They are not checked.
	URLs []string
}

// readRegistries reads the member "registries". A project's file cannot choose where packages come from.
func readRegistries(r *valuedRow, v *hujson.Value, out *Registries) {
	out.URLs = r.strings("registries", v)
	if len(out.URLs) == 0 && !r.skipped {
		r.skip(r.at, "it names no registry", `write "registries": ["https://…"]`)
	}
}
