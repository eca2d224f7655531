package mcpconfig

import (
	"fmt"
	"path/filepath"

	"github.com/tailscale/hujson"
)

// Policy names the policies of indus serve: the members "policy" and "policyMode" of a file. If it is Broken, no
// request may be served.
type Policy struct {
	Setting
	// Path is a file of Cedar policies, or a directory of them. It is absolute if the path of the configuration is.
	Path string
	// Report is set if the policies are evaluated and nothing is denied ("policyMode": "report").
	Report bool
}

// Equal reports whether a and b have the same settings. File and Line do not count.
func (a *Policy) Equal(b *Policy) bool { return equalSettings(a, b) }

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
