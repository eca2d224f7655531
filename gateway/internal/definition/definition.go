// Package definition reads and compares definitions of tools, and describes the programs of servers.
package definition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/canonical"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// Listed reports whether a snapshot has a tool with the same definition.
func Listed(s *toolbox.Snapshot, tool *toolbox.Descriptor) bool {
	for i := range s.Tools {
		if d := &s.Tools[i]; d.Server == tool.Server && d.Tool == tool.Tool && Same(d, tool) {
			return true
		}
	}
	return slices.ContainsFunc(s.Kinds, func(kind *toolbox.Snapshot) bool { return Listed(kind, tool) })
}

// Same reports whether two tools have the same definition. Spaces and the order of members do not matter.
func Same(a, b *toolbox.Descriptor) bool {
	return canonical.Equal(a.Wire.JSON, b.Wire.JSON)
}

// IsForModels reports whether a tool is for models. It is, unless its visibility limits it to apps.
func IsForModels(tool json.RawMessage) bool {
	if !bytes.Contains(tool, []byte(`"visibility"`)) {
		return true
	}
	meta, _ := wire.Lookup(tool, "_meta")
	ui, _ := wire.Lookup(meta, "ui")
	visible, ok := wire.Lookup(ui, "visibility")
	if !ok {
		return true
	}
	all, err := wire.Elements(visible)
	return err != nil || slices.ContainsFunc(all, func(e json.RawMessage) bool { return string(e) == `"model"` })
}

// Fingerprint is [ledger.Fingerprint] of the program of a server. Descriptions that replace the server's own do not
// count.
func Fingerprint(s config.Server) string {
	return ledger.Fingerprint(config.Server{ID: s.ID, Transport: s.Transport, Identity: s.Identity})
}

// Origin identifies the program of a server: its [Fingerprint], and the values of its variables and headers. A
// part of a value that is a likely secret does not count: it may be another one without a change of the program.
func Origin(s config.Server) string {
	h := sha256.New()
	pairs := func(all []config.Pair) {
		for _, p := range all {
			fmt.Fprintf(h, "%q=%q\n", p.Name, secret.Named(p.Name, p.Value.Reveal()))
		}
	}
	switch t := s.Transport.(type) {
	case config.Stdio:
		pairs(t.Env)
	case config.HTTP:
		pairs(t.Headers)
	case config.SSE:
		pairs(t.Headers)
	}
	return Fingerprint(s) + hex.EncodeToString(h.Sum(nil)[:8])
}

// Program returns what a server runs, for a person: its command and arguments, or its URL.
func Program(s config.Server) string {
	text := ""
	switch t := s.Transport.(type) {
	case config.Stdio:
		words := append([]string{t.Command}, t.Args...)
		for i, w := range words {
			needsQuotes := func(r rune) bool { return r == ' ' || r == '"' || !strconv.IsPrint(r) }
			if w == "" || strings.ContainsFunc(w, needsQuotes) {
				words[i] = strconv.Quote(w)
			}
		}
		text = strings.Join(words, " ")
	case config.HTTP:
		text = t.URL
	case config.SSE:
		text = t.URL
	}
	return s.Mask(text)
}
