package cli

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/indusagi/indus/internal/wire"
)

// object is a JSON object that keeps the order of its members.
type object []objectMember

type objectMember struct {
	name  string
	value any
}

func (o *object) add(name string, value any) { *o = append(*o, objectMember{name, value}) }

// addList adds a list, unless it is empty.
func (o *object) addList(name string, list []string) {
	if len(list) > 0 {
		o.add(name, list)
	}
}

// MarshalJSON writes <, > and & as they are: they stand in shell commands and URLs.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := encode(m.value)
		if err != nil {
			return nil, err
		}
		b.WriteString(quoted(m.name) + ":")
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func encode(v any) ([]byte, error) {
	if o, ok := v.(object); ok { // encoding/json would escape what that returns
		return o.MarshalJSON()
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// shellWord is an argument as one types it in a shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func membersOf(raw json.RawMessage) ([]wire.Member, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	members, err := wire.Members(raw)
	return members, err == nil
}

func elementsOf(raw json.RawMessage) ([]json.RawMessage, bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	elements, err := wire.Elements(raw)
	return elements, err == nil
}

// quoted is a string as JSON.
func quoted(s string) string {
	raw, _ := encode(s) // no string fails
	return string(raw)
}
