// Package definition compares definitions of tools, and describes the programs of servers.
package definition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/canonical"
	"github.com/indusagi/indus/internal/secret"
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
	return bytes.Equal(a.Wire.JSON, b.Wire.JSON) ||
		bytes.Equal(canonical.JSON(a.Wire.JSON), canonical.JSON(b.Wire.JSON))
}

// Origin identifies the program of a server: its [ledger.Fingerprint], and the values of its variables and headers. A
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
	of := config.Server{ID: s.ID, Transport: s.Transport, Identity: s.Identity}
	return ledger.Fingerprint(of) + hex.EncodeToString(h.Sum(nil)[:8])
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
