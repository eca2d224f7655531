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
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

var (
	// uncoveredKeys are the keys that say nothing of what runs and where something is sent, or that the fingerprint has in another form.
	uncoveredKeys = []string{
		"name", "id", "type", "transport", "era", "timeout", "lazy", "idle", "maxPrincipals", "maxConcurrent", "maxQueue", "changes",
		"profile", "enabled", "disabled",
	}
	// expandedKeys are the keys that count with their variables replaced alone.
	expandedKeys = []string{"command", "args", "cwd", "url"}
)

// fetches reports whether a value may have a ${file:…} or ${cmd:…}, which counts as it is written, needed today or not.
func fetches(v *hujson.Value) bool {
	for _, e := range tree.Elements(v) {
		if fetches(e) {
			return true
		}
	}
	return strings.Contains(tree.Text(*v), "${file:") || strings.Contains(tree.Text(*v), "${cmd:")
}

// fingerprint is what an approval holds on to. Whoever may write the file can change
// nothing of what runs, how often and for whom, of where something is sent, or of which tools are offered, and
// keep it.
//
// Command, arguments, directory and addresses count with their variables replaced, so that another value of one asks
// again. All other members count as they are written: LD_PRELOAD=./evil.so is as good as a command, yet a token that
// comes out of a variable may change. Files of the project count by what they hold. The directory
// around the file counts, because a link to an approved file would let its relative paths
// begin elsewhere.
//
// What a ${cmd:…} gives, or a ${file:…} elsewhere, is not known before the row is approved. If a
// project's row has one where it decides what runs or where it is sent, the fingerprint ends with
// pinSeparator, and behind that comes what it gave: see pinOf.
func (r *reading) fingerprint() string {
	base := atomicfile.Real(r.base())
	if r.State == Disabled { // all that it does is to hide others
		return digest("indus approval 3", base, string(Disabled))
	}
	text, _ := edit.Row(r.v)
	var row map[string]any
	_ = json.Unmarshal(text, &row) // a row that is no object is skipped
	maps.DeleteFunc(row, func(name string, _ any) bool {
		return r.fields[name] == nil || slices.Contains(uncoveredKeys, name) || slices.Contains(expandedKeys, name) && !fetches(r.fields[name])
	})
	written, _ := json.Marshal(row)
	slices.Sort(r.named)
	parts := append([]string{"indus approval 3", base, string(r.Kind), string(written), pinOf(r.Server)}, r.named...)
	if r.taking != "" {
		parts = append(parts, "in the project", atomicfile.Real(r.workspace()))
	}
	for _, f := range r.Files {
		parts = append(parts, "file", atomicfile.Real(f.Path), f.Text, f.Wrong)
	}
	for _, w := range r.wants {
		if w.kind == "env" {
			parts = append(parts, "envFile", w.what)
		}
	}
	if r.Server.Changes.Guards() {
		parts = append(parts, "changes", string(r.Server.Changes))
	}
	if len(r.pinned) > 0 && r.inProject() {
		return digest(parts...) + pinSeparator
	}
	return digest(parts...)
}

// pinSeparator stands between the fingerprint of what is written, and that of what was fetched for it.
const pinSeparator = "."

// decides reports whether what is fetched for a field decides what runs, or where something is sent.
func decides(field string) bool {
	name, _, _ := strings.Cut(field, "[")
	return slices.Contains([]string{
		"command", "args", "cwd", "url", "oauth.issuer", "oauth.clientMetadataUrl", "oauth.identityProvider.issuer", "tls.ca", "tls.cert", "tls.key",
	}, name)
}

// pinOf returns the fingerprint of the fields of a server that decide what runs, or where something is sent.
func pinOf(s interop.Server) string {
	parts := []string{s.OAuth.Issuer, s.OAuth.ClientMetadataURL, s.OAuth.Provider.Issuer, s.TLS.CA, s.TLS.Cert, s.TLS.Key}
	switch t := s.Transport.(type) {
	case interop.Stdio:
		parts = append(append(parts, t.Command, t.Dir), t.Args...)
	case interop.HTTP:
		parts = append(parts, t.URL)
	case interop.SSE:
		parts = append(parts, t.URL)
	}
	return digest(parts...)
}

// digest returns a hash of texts. Quoted, no two lists of them are the same text.
func digest(texts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", texts)))
}
