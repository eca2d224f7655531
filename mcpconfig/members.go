package mcpconfig

import (
	"fmt"
	"path/filepath"

	"github.com/indusagi/indus/mcpconfig/internal/fields"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
	"github.com/indusagi/indus/schema"
	"github.com/tailscale/hujson"
)

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

// maySet reports whether the file may have a setting of indus serve, and notes reason if not. A project's file may only
// if its user named it: trust in its servers is no permission to decide about clients or to write files.
func (f *configFile) maySet(offset int, reason string) bool {
	if f.site.maySet() {
		return true
	}
	f.note(offset, reason, "write it into a file of your own, or name this one with --mcp")
	return false
}

// readPolicy reads the members "policy" and "policyMode". A mistake in them is more than a note: without the policies,
// every caller could do everything.
func (f *configFile) readPolicy(name string, m *hujson.ObjectMember) {
	// A cloned repository must not replace or loosen the policies.
	reason := fmt.Sprintf("%q is not heeded: a project's file does not say what callers may do", name)
	if !f.maySet(m.Name.StartOffset, reason) {
		return
	}
	if f.Policy == nil {
		f.Policy = &Policy{Setting: f.settingAt(m.Name.StartOffset)}
	}
	r := newPart("policy cannot be used: ", m.Name.StartOffset, f.site, &f.budget)
	switch {
	case name == "policyMode" && f.policyMode || name == "policy" && f.Policy.Path != "":
		r.skip(m.Name.StartOffset, name+" stands twice", "remove one of the two")
	case name == "policyMode":
		f.policyMode = true
		f.Policy.Report = r.oneOf("enforce", "report")(name, &m.Value) == "report"
	default:
		path := r.tilde(r.value(name, &m.Value))
		r.refuseFetches()
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(f.path), path)
		}
		f.Policy.Path = path
	}
	f.report(&r.findings, 0)
	f.Policy.Broken = f.Policy.Broken || r.skipped
}

// checkPolicy reports a misspelt "policy", and a "policyMode" without a policy.
func (f *configFile) checkPolicy(misspelt *hujson.ObjectMember) {
	switch {
	case misspelt != nil && (f.Policy == nil || f.Policy.Path == "") && f.scope != Project && f.approved:
		f.Policy = &Policy{Setting: f.misspeltSetting("policy", misspelt)}
	case f.Policy != nil && f.Policy.Path == "" && !f.Policy.Broken:
		f.Policy.Broken = true
		f.notes = append(f.notes, Note{File: f.path, Line: f.Policy.Line, Column: 1,
			Reason: `policy cannot be used: "policyMode" stands without "policy"`, Hint: `add "policy", or remove it`})
	}
}

// readViews reads the member "views". As with the rules about tools, a mistake is more than a note. A view that cannot
// be read is left out, or it could show tools against the intention of the author.
func (f *configFile) readViews(v *hujson.Value) {
	if tree.Has(v, 'n') {
		return
	}
	if !tree.Has(v, '{') {
		f.note(v.StartOffset, `"views" is `+tree.KindOf(v.Value)+" where an object is expected", "")
		return
	}
	for name, m := range tree.Members(v) {
		switch {
		case tree.IsComment(name):
			continue
		case len(f.views) == maxViews:
			f.note(m.Name.StartOffset, fmt.Sprintf("more than %d views; from here on they are not read", maxViews), "")
			return
		}
		f.view(name, m)
	}
}

func (f *configFile) view(name string, m *hujson.ObjectMember) {
	r := newPart("view "+tree.Quote(name)+" is left out: ", m.Name.StartOffset, f.site, &f.budget)
	out := viewEntry{View: View{Name: name, File: f.path}, source: f.source}
	out.Line, _ = f.doc.Position(m.Name.StartOffset)
	if len(name) > 64 || !viewName().MatchString(name) {
		r.skip(m.Name.StartOffset, "it stands in a URL", `write letters, digits, ".", "_" and "-", at most 64`)
	}
	r.object("views."+name, &m.Value, true,
		member{"servers", storeIn(&out.Servers, r.patterns)},
		member{"tools", storeIn(&out.Tools, r.patterns)},
		member{"prompts", storeIn(&out.Prompts, r.patterns)},
		member{"resources", storeIn(&out.Resources, r.patterns)},
		member{"mode", storeIn(&out.Mode, r.oneOf("all", "gateway"))},
		member{"profile", func(field string, v *hujson.Value) {
			out.Profile = schema.ProfileNamed(r.oneOf(profileNames()...)(field, v))
		}},
		member{"publish", storeIn(&out.Publish, r.boolean)},
	)
	f.report(&r.findings, 0)
	out.Publish = out.Publish &&
		f.maySet(m.Name.StartOffset, `"publish" is not heeded: a project's file does not publish a view`)
	out.unreadable = r.skipped
	f.views = append(f.views, out)
}

// noteMember notes a member with a misspelt name, and returns the name that was meant. Other unknown names belong to
// other programs.
func (f *configFile) noteMember(name string, m *hujson.ObjectMember) (intended string) {
	if intended = fields.IntendedMember(name); intended != "" {
		f.note(m.Name.StartOffset, "unknown key "+tree.Quote(name), fmt.Sprintf("did you mean %q?", intended))
	}
	return intended
}

// breakMisspelt marks a setting as broken if its name is misspelt. Without it, requests would go on without it: any
// client would be admitted, or nothing recorded.
func (f *configFile) breakMisspelt(misspelt map[string]*hujson.ObjectMember) {
	if m := misspelt["sandboxDefault"]; m != nil && f.site.boxDefault == nil { // servers would start without a sandbox
		f.site.boxDefault = &boxValue{wrong: "unknown key " + tree.Quote(tree.Text(m.Name)) + " of the file"}
	}
	if f.scope == Project || !f.approved {
		return
	}
	if m := misspelt["auth"]; m != nil && f.Auth == nil {
		f.Auth = &Auth{Setting: f.misspeltSetting("auth", m)}
	}
	if m := misspelt["audit"]; m != nil && f.Audit == nil {
		f.Audit = &Audit{Setting: f.misspeltSetting("audit", m)}
	}
	if m := misspelt["approvals"]; m != nil && f.Approvals == nil {
		f.Approvals = &CallApprovals{Setting: f.misspeltSetting("approvals", m)}
	}
}
