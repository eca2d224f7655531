package wire

import "encoding/json"

// Object builds a JSON object: wire.Object{}.Text("uri", uri).JSON(). Each method returns it with one more member. Use
// only the last returned Object.
type Object []byte

// Raw adds a member with one valid JSON value, unless the value is nil.
func (o Object) Raw(key string, value []byte) Object {
	if value == nil {
		return o
	}
	return append(o.member(key), value...)
}

// Text adds a member that is a string, unless s is "".
func (o Object) Text(key, s string) Object {
	if s == "" {
		return o
	}
	return AppendQuote(o.member(key), s)
}

// member appends the key and the bytes before a value.
func (o Object) member(key string) Object {
	if len(o) == 0 {
		o = append(make(Object, 0, 64), '{')
	} else {
		o = append(o, ',')
	}
	return append(AppendQuote(o, key), ':')
}

// JSON returns the object.
func (o Object) JSON() json.RawMessage {
	if len(o) == 0 {
		return json.RawMessage(`{}`)
	}
	return json.RawMessage(append(o, '}'))
}
