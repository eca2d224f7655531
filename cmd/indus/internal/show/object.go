package show

import (
	"bytes"
	"encoding/json"

	"github.com/indusagi/indus/internal/wire"
)

// Object is a JSON object that keeps the order of its members.
type Object []objectMember

type objectMember struct {
	Name  string
	Value any
}

func (o *Object) Add(name string, value any) { *o = append(*o, objectMember{name, value}) }

// AddList adds a list, unless it is empty.
func (o *Object) AddList(name string, list []string) {
	if len(list) > 0 {
		o.Add(name, list)
	}
}

// MarshalJSON writes <, > and & as they are: they stand in shell commands and URLs.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := encode(m.Value)
		if err != nil {
			return nil, err
		}
		b.WriteString(QuoteJSON(m.Name) + ":")
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func encode(v any) ([]byte, error) {
	if o, ok := v.(Object); ok { // encoding/json would escape what that returns
		return o.MarshalJSON()
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

func Members(raw json.RawMessage) ([]wire.Member, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	members, err := wire.Members(raw)
	return members, err == nil
}

func Elements(raw json.RawMessage) ([]json.RawMessage, bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	elements, err := wire.Elements(raw)
	return elements, err == nil
}

// QuoteJSON is a string as JSON.
func QuoteJSON(s string) string {
	raw, _ := encode(s) // no string fails
	return string(raw)
}
