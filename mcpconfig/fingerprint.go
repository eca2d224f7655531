package mcpconfig

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/fields"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// hasFetch reports whether a value may have a ${file:…} or ${cmd:…}. Such a value counts as it is written, even if the
// variable is not needed today.
func hasFetch(v *hujson.Value) bool {
	for _, e := range tree.Elements(v) {
		if hasFetch(e) {
			return true
		}
	}
	return strings.Contains(tree.Text(*v), "${file:") || strings.Contains(tree.Text(*v), "${cmd:")
}

// fingerprint returns the text to which an approval is bound. It changes with the command line, with how often and for
// which clients it runs, with the destination of data, and with the tools that are offered.
//
// Command, arguments, directory and addresses count with their variables replaced, so another value of a variable needs
// a new approval. All other members count as they are written. There LD_PRELOAD=./evil.so is as good as a command, but
// a token from a variable may change. Files of the project count by their content. The directory around the file
// counts, because a link to an approved file would change the start of its relative paths.
//
// The value of a ${cmd:…}, or of a ${file:…} outside of the project, is not known before the row is approved. If such a
// value decides the command line or the address of a project's row, the fingerprint ends with pinSeparator. The
// fingerprint of the value follows it: see pinOf.
func fingerprint(r *valuedRow, files []RowFile, projectUse string) string {
	base := atomicfile.Real(r.base())
	if r.disabled && !r.skipped { // its only effect is to hide others
		return digest("indus approval 3", base, string(Disabled))
	}
	text, _ := edit.Row(r.v)
	var row map[string]any
	_ = json.Unmarshal(text, &row) // a row that is not an object is skipped
	maps.DeleteFunc(row, func(name string, _ any) bool {
		v, cover := r.fields[name], fields.Find(fields.Row(), name).Cover
		return v == nil || cover >= fields.Effective || cover == fields.Replaced && !hasFetch(v)
	})
	written, _ := json.Marshal(row)
	slices.Sort(r.usedNames)
	parts := append([]string{"indus approval 3", base, string(r.kind), string(written), pinOf(r.server)}, r.usedNames...)
	if projectUse != "" {
		parts = append(parts, "in the project", atomicfile.Real(r.workspace()))
	}
	for _, f := range files {
		parts = append(parts, "file", atomicfile.Real(f.Path), f.Text, f.Wrong)
	}
	for _, w := range r.fetches {
		if w.kind == "env" {
			parts = append(parts, "envFile", w.target)
		}
	}
	if r.server.Changes.Guards() {
		parts = append(parts, "changes", string(r.server.Changes))
	}
	if len(r.pinned) > 0 && r.inProject() {
		return digest(parts...) + pinSeparator
	}
	return digest(parts...)
}

// decidesStart reports whether a value of the field decides the command line, its directory, or the destination of
// data.
func decidesStart(field string) bool {
	name, _, _ := strings.Cut(field, "[")
	cover := fields.Find(fields.Row(), strings.Split(name, ".")...).Cover
	return cover == fields.Replaced || cover == fields.Decisive
}

// pinOf returns the fingerprint of the fields of a server that decide its command line, its directory, or the
// destination of data.
func pinOf(s config.Server) string {
	parts := []string{s.OAuth.Issuer, s.OAuth.ClientMetadataURL, s.OAuth.Provider.Issuer, s.TLS.CA, s.TLS.Cert, s.TLS.Key}
	switch t := s.Transport.(type) {
	case config.Stdio:
		parts = append(append(parts, t.Command, t.Dir), t.Args...)
	case config.HTTP:
		parts = append(parts, t.URL)
	case config.SSE:
		parts = append(parts, t.URL)
	}
	return digest(parts...)
}

// digest returns a hash of texts. The texts are quoted, so two different lists never give the same text.
func digest(texts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", texts)))
}
