// Package definition compares definitions of tools, and describes the programs of servers.
package definition

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/indusagi/indus/interop/config"
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

// Canonical returns a JSON value without spaces, with ordered members and one spelling of each string. Numbers stay as
// they are written. A value that repeats a member or is not UTF-8 has no such form, and is returned as it is.
func Canonical(raw json.RawMessage) json.RawMessage {
	v := jsontext.Value(raw).Clone()
	if v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) != nil {
		return raw
	}
	return json.RawMessage(v)
}

// Same reports whether two tools have the same definition. Spaces and the order of members do not matter.
func Same(a, b *toolbox.Descriptor) bool {
	return bytes.Equal(a.Wire.JSON, b.Wire.JSON) ||
		bytes.Equal(Canonical(a.Wire.JSON), Canonical(b.Wire.JSON))
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
