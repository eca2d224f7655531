package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// EachOf stands in a path for each element of an array. If there is a single object instead of an array, it stands for
// that object.
const EachOf = "*"

// Begins reports whether a string in valid JSON may begin with one of the words. A word consists of letters up to a
// colon or the end. It compares bytes, and treats an escape in place of a letter or the colon as a match, although
// encoders write no such escape.
func Begins(b []byte, words ...string) bool {
	for {
		n := bytes.IndexByte(b, '"')
		if n < 0 {
			return false
		}
		b = b[n+1:]
		i := 0
		for i < len(b) && isLetter(rune(b[i])) {
			i++
		}
		if u := unit(b[i:]); u == ':' || isLetter(u) {
			return true
		}
		if i > 0 && slices.ContainsFunc(words, func(word string) bool { return bytes.HasPrefix(b, []byte(word)) }) {
			return true
		}
	}
}

func isLetter(r rune) bool { return 'a' <= r|' ' && r|' ' <= 'z' }

// EditStrings returns raw with the strings at a path replaced by the results of edit. If no string changes, it returns
// raw itself. Values of another shape stay as they are. If a key is repeated, or has another case, each is edited.
func EditStrings(raw json.RawMessage, path []string, edit func(string) string) json.RawMessage {
	if len(path) == 0 {
		s, ok := Unquote(raw)
		if !ok {
			return raw
		}
		if edited := edit(s); edited != s {
			return Quote(edited)
		}
		return raw
	}
	open := byte('{')
	if path[0] == EachOf {
		if len(raw) == 0 || raw[0] != '[' { // one value in place of an array
			return EditStrings(raw, path[1:], edit)
		}
		open = '['
	}
	c, _ := openContainer(raw, open)
	var out []byte
	from := 0
	for !c.bad && c.next() {
		// Every key that some client may take for this key is edited.
		if open == '{' && !strings.EqualFold(decodeInside(raw[c.start+1:c.keyEnd-1]), path[0]) {
			continue
		}
		value := raw[c.value:c.end:c.end]
		edited := EditStrings(value, path[1:], edit)
		if len(edited) != len(value) || &edited[0] != &value[0] {
			out = append(append(out, raw[from:c.value]...), edited...)
			from = c.end
		}
	}
	if c.bad || from == 0 {
		return raw
	}
	return append(out, raw[from:]...)
}
