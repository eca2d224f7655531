// Package uris returns the canonical form of URIs, and reports which URIs servers read in more than one way.
package uris

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// HasOneReading reports whether all servers read a URI in the same way. Parsers of URLs drop control characters and
// take a backslash as a slash. Other characters that a URI cannot have are encoded by all of them. A template may
// have them.
func HasOneReading(uri string) bool {
	isAmbiguous := func(r rune) bool { return unicode.IsControl(r) || r == '\\' }
	if uri != strings.TrimSpace(uri) || strings.ContainsFunc(uri, isAmbiguous) {
		return false
	}
	literal, _, _ := strings.Cut(uri, "{")
	if !IsSpecial(literal) {
		return true
	}
	var encoded strings.Builder
	for _, b := range []byte(literal) {
		if b <= ' ' || b >= 0x7f || strings.IndexByte("\"<>^|`}", b) >= 0 {
			fmt.Fprintf(&encoded, "%%%02X", b)
		} else {
			encoded.WriteByte(b)
		}
	}
	_, err := Canonical(encoded.String())
	return err == nil
}

// maxEncodings bounds how often a URI may be percent-encoded to match a pattern.
const maxEncodings = 4

// EscapesDirectory reports whether a URI may lead out of the directory that it seems to be in. No pattern matches such
// a URI.
func EscapesDirectory(uri string) bool {
	for range maxEncodings {
		isEnd := func(r rune) bool { return strings.ContainsRune(`/\\?#&=;:`, r) }
		if slices.Contains(strings.FieldsFunc(uri, isEnd), "..") {
			return true
		}
		plain, err := url.PathUnescape(uri)
		if plain == uri || err != nil {
			return err != nil
		}
		uri = plain
	}
	return true
}
