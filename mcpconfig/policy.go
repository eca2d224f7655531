package mcpconfig

import (
	"fmt"
	"path/filepath"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Policy names the policies of indus serve: the members "policy" and "policyMode" of a file.
type Policy struct {
	// Path is a file of Cedar policies, or a directory of them. It is absolute if the path of the configuration is.
	Path string
	// Report is set if the policies are evaluated and nothing is denied ("policyMode": "report").
	Report bool
	// File and Line are the position of "policy".
	File string
	Line int
	// Broken is set if "policy" cannot be read, or if a file of the user that may have it cannot be read. Then no
	// request may be served. A note has the reason.
	Broken bool
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
	if f.policy == nil {
		f.policy = &Policy{File: f.path}
		f.policy.Line, _ = f.doc.Position(m.Name.StartOffset)
	}
	r := f.newReading("policy cannot be used: ", m.Name.StartOffset)
	switch {
	case name == "policyMode" && f.policyMode || name == "policy" && f.policy.Path != "":
		r.skip(m.Name.StartOffset, name+" stands twice", "remove one of the two")
	case name == "policyMode":
		f.policyMode = true
		f.policy.Report = r.oneOf("enforce", "report")(name, &m.Value) == "report"
	default:
		path := r.tilde(r.value(name, &m.Value))
		r.refuseFetches()
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(f.path), path)
		}
		f.policy.Path = path
	}
	f.policy.Broken = f.policy.Broken || r.State == Skipped
}

// checkPolicy reports a misspelt "policy", and a "policyMode" without a policy.
func (f *configFile) checkPolicy(misspelt *hujson.ObjectMember) {
	switch {
	case misspelt != nil && (f.policy == nil || f.policy.Path == "") && f.scope != Project && f.approved:
		at := misspelt.Name.StartOffset
		f.policy = &Policy{File: f.path, Broken: true}
		f.policy.Line, _ = f.doc.Position(at)
		f.note(at, "policy cannot be used: unknown key "+tree.Quote(tree.Text(misspelt.Name)),
			`write "policy", or remove it`)
	case f.policy != nil && f.policy.Path == "" && !f.policy.Broken:
		f.policy.Broken = true
		f.notes = append(f.notes, Note{File: f.path, Line: f.policy.Line, Column: 1,
			Reason: `policy cannot be used: "policyMode" stands without "policy"`, Hint: `add "policy", or remove it`})
	}
}
