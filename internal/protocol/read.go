package protocol

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// Unpublishable returns the reason why clients would refuse a whole list because of this schema, or "".
func Unpublishable(input json.RawMessage) string {
	switch {
	case input == nil:
		return "it has no inputSchema"
	case input[0] != '{':
		return "its inputSchema is no object: " + Printable(string(input), 60)
	}
	typ, _ := wire.Lookup(input, "type")
	if s, ok := wire.Unquote(typ); !ok || s != "object" {
		return fmt.Sprintf("its inputSchema is not of type \"object\" (%s)", Printable(string(typ), 60))
	}
	return ""
}

// Declares reports whether capabilities hold feature, with flag set to true.
func Declares(capabilities json.RawMessage, feature, flag string) bool {
	features, _ := wire.Lookup(capabilities, feature)
	on, _ := wire.Lookup(features, flag)
	return string(on) == "true"
}

// LookupString returns the string at a key of an object. If there is none, it returns "" and false.
func LookupString(obj json.RawMessage, key string) (string, bool) {
	raw, ok := wire.Lookup(obj, key)
	if !ok {
		return "", false
	}
	return wire.Unquote(raw)
}

// IsNote reports whether a method belongs to a notification.
func IsNote(method string) bool { return strings.HasPrefix(method, "notifications/") }

// MetaOf returns the _meta of params, or nil if they have none.
func MetaOf(params json.RawMessage) json.RawMessage {
	meta, _ := wire.Lookup(params, "_meta")
	if len(meta) == 0 || meta[0] != '{' {
		return nil
	}
	return meta
}

// ProgressToken returns the progress token of a request with this _meta, or nil if it has none. It is a string or a
// number, and is sent back unchanged.
func ProgressToken(meta json.RawMessage) json.RawMessage {
	token, _ := wire.Lookup(meta, "progressToken")
	if len(token) == 0 || token[0] != '"' && token[0] != '-' && (token[0] < '0' || token[0] > '9') {
		return nil
	}
	return token
}

// OneMember returns the value of a key of params that names the object of a request, or nil if there is none. It
// returns an error if the params are ambiguous. Many servers ignore the case of keys, and use the first or the last of
// two members. Then the bridge would look up or check one value, and the server would use the other.
func OneMember(params json.RawMessage, key string) (json.RawMessage, error) {
	members, err := wire.Members(params)
	if err != nil {
		return nil, nil // params that are not an object name nothing
	}
	var found json.RawMessage
	for i := range members {
		if !strings.EqualFold(members[i].Key, key) {
			continue
		}
		if found != nil || members[i].Key != key {
			return nil, fmt.Errorf("the params have %q twice, or in another spelling: %q", key, members[i].Key)
		}
		found = members[i].Value
	}
	return found, nil
}

// Reserved reports whether a key of _meta belongs to the protocol, and so to one hop. The only exception is the key
// that names the task of a message.
func Reserved(key string) bool {
	return key != MetaRelatedTask && len(key) > len(MetaPrefix) && key[:len(MetaPrefix)] == MetaPrefix
}

// Printable returns s on one line, without terminal controls and invisible characters, cut to about limit bytes.
func Printable(s string, limit int) string {
	shown, _ := text.Visible(text.OneLine(strings.ToValidUTF8(text.Cut(s, limit), "")))
	shown = strings.Join(strings.Fields(shown), " ")
	if len(s) > limit {
		shown += "…"
	}
	return shown
}

// Has reports whether capabilities have a value at a path of keys.
func Has(capabilities json.RawMessage, path []string) bool {
	for _, key := range path {
		value, ok := wire.Lookup(capabilities, key)
		if !ok || string(value) == "false" || string(value) == "null" {
			return false
		}
		capabilities = value
	}
	return true
}

// Matches reports whether a pattern of a configuration matches a name: "*" matches any characters, "?" matches one, and
// any other character matches itself.
func Matches(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	star, from := -1, 0 // the last "*", and the end of the text that it matches
	i, j := 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(string(p[i:]), "*") == ""
}
