package config

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Qualifier separates a server's id from a tool's name.
const Qualifier = "__"

const (
	maxName   = 64 // every provider accepts 64 characters
	hashChars = 8
	maxServer = 24 // of a shortened name, so that part of the tool's own name stays
)

// QualifiedName returns the name under which a server's tool is mounted. It is a pure function of the pair. The name
// matches the grammar that every model provider accepts, ^[a-zA-Z][a-zA-Z0-9_-]{0,63}$.
//
// It is server__tool unchanged if that matches. Otherwise illegal characters become "_", the name is cut, and "_" and 8
// hex digits of a hash of the pair follow. A server id that contains "__", ends in "_" or is no legal name by itself
// always takes the hash. So ("a", "b__c") and ("a__b", "c") cannot have the same name. A name is never parsed back: a
// fleet keeps the map.
func QualifiedName(server, tool string) string {
	name := server + Qualifier + tool
	if len(name) <= maxName && isPlainServer(server) && tool != "" && isLegal(tool) {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	s := sanitise(server)
	if s == "" || !isLetter(s[0]) {
		s = "s" + s
	}
	if len(s) > maxServer {
		s = s[:maxServer]
	}
	base := s + Qualifier + sanitise(tool)
	if limit := maxName - 1 - hashChars; len(base) > limit {
		base = base[:limit]
	}
	return base + "_" + hex.EncodeToString(sum[:])[:hashChars]
}

// isPlainServer reports whether id is legal and always ends at the first "__" of a qualified name.
func isPlainServer(id string) bool {
	return id != "" && isLetter(id[0]) && isLegal(id) &&
		!strings.Contains(id, Qualifier) && !strings.HasSuffix(id, "_")
}

func isLegal(s string) bool { return sanitise(s) == s }

// sanitise replaces illegal characters. The result has only ASCII.
func sanitise(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && isLetter(byte(r)) || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// MayOwn reports whether a tool of the server could be mounted under name. A tool that s.Tools denies could not. If
// server ids are long or need a hash, several servers may own one name.
func (s Server) MayOwn(name string) bool {
	tool, plain := strings.CutPrefix(name, s.ID+Qualifier)
	if plain && QualifiedName(s.ID, tool) == name && s.Tools.canMountAs(tool) {
		return true
	}
	return mayBeHashed(name) && slices.ContainsFunc(s.Prefixes(), func(p string) bool {
		return strings.HasPrefix(name, p)
	})
}

// mayBeHashed reports whether a name may be a shortened one.
func mayBeHashed(name string) bool {
	at := strings.LastIndexByte(name, '_')
	if at < 0 || len(name)-at-1 != hashChars {
		return false
	}
	return strings.Trim(name[at+1:], "0123456789abcdef") == ""
}

// Prefixes returns the prefixes of the names under which the server's tools are mounted: the usual one, and the one
// of shortened names.
func (s Server) Prefixes() (out []string) {
	for _, tool := range []string{"x", strings.Repeat("x", maxName)} {
		name := QualifiedName(s.ID, tool)
		out = append(out, name[:strings.LastIndex(name, Qualifier+"x")+len(Qualifier)])
	}
	return slices.Compact(out)
}
