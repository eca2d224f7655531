package schema

// fallback is what stands for anything that is no schema with one known type.
const fallback = `{"type":"object","properties":{}}`

// maxLevels is how many schemas may stand inside one another; the root is the first. It bounds the recursion.
const maxLevels = 1_000

// Normalize returns the schema that the first editions of this bridge showed to models. It accepts any bytes and gives a
// new slice of compact JSON: an object with a type. The keys of input stay in their order, spelled as they are.
//
// For a schema and for each one below it:
//
//   - Without a type that is one of object, array, string, number, integer, boolean and null, it becomes
//     {"type":"object","properties":{}}. So does malformed JSON, a value that is no object, and what lies below 1,000
//     levels.
//   - These keywords go: $schema, $id, $ref, $defs, definitions, $comment, deprecated, readOnly, writeOnly, default,
//     examples, contentEncoding, contentMediaType. Properties of that name stay.
//   - An object has properties: they are added as its last key if they are missing, and replaced by {} where they stand
//     if they are no object. Each property is normalised. In required only names of properties stay, in their order;
//     nothing is left of it if none stays, or if it is no array. An additionalProperties that is an object is normalised,
//     a boolean stays, anything else goes.
//   - In an array, a list of items gives way to its first element, or goes if it is empty. Items that are a boolean stay,
//     anything else is normalised.
//   - Every other keyword stays as it is, byte for byte without whitespace.
//   - Of a repeated key, the last value stands at the first one's place. Inside keywords that stay as they are, repeated
//     keys stay too.
func Normalize(input []byte) []byte {
	d, ok := parse(input)
	if !ok {
		return []byte(fallback)
	}
	n := normalizer{document: d, out: make([]byte, 0, max(len(d.text), len(fallback)))}
	n.schema(place{}, 1)
	return n.out
}

type normalizer struct {
	*document
	out []byte
}

// schema writes the schema at p, which is the level-th from the root.
func (n *normalizer) schema(p place, level int) {
	if level > maxLevels || n.kind(p) != '{' {
		n.out = append(n.out, fallback...)
		return
	}
	own := n.record(p)
	switch n.typeOf(own) {
	case "object":
		n.object(own, level)
	case "array":
		n.array(own, level)
	case "string", "number", "integer", "boolean", "null":
		n.scalar(own)
	default:
		n.out = append(n.out, fallback...)
	}
}

// typeOf is the type that a schema declares, "" if it is no string.
func (n *normalizer) typeOf(own record) string {
	p, ok := own.get("type")
	if !ok || n.kind(p) != '"' {
		return ""
	}
	return string(unquote(n.bytes(p)))
}

func (n *normalizer) object(own record, level int) {
	var properties record
	at, declared := own.get("properties")
	if declared && n.kind(at) == '{' {
		properties = n.record(at)
	}
	n.out = append(n.out, '{')
	for i := range own.members {
		m := &own.members[i]
		switch string(m.name) {
		case "properties":
			n.key(m)
			n.properties(properties, level)
		case "required":
			n.required(m, properties)
		case "additionalProperties":
			n.additional(m, level)
		default:
			n.keep(m)
		}
	}
	if !declared {
		n.comma()
		n.out = append(n.out, `"properties":{}`...)
	}
	n.out = append(n.out, '}')
}

func (n *normalizer) properties(all record, level int) {
	n.out = append(n.out, '{')
	for i := range all.members {
		n.key(&all.members[i])
		n.schema(all.members[i].value, level+1)
	}
	n.out = append(n.out, '}')
}

func (n *normalizer) required(m *member, properties record) {
	if n.kind(m.value) != '[' {
		return
	}
	before := len(n.out)
	n.key(m)
	n.out = append(n.out, '[')
	first := len(n.out)
	for p := range n.elements(m.value) {
		if n.kind(p) != '"' {
			continue
		}
		if name := n.bytes(p); properties.find(unquote(name)) >= 0 {
			n.out = append(n.out, name...)
			n.out = append(n.out, ',')
		}
	}
	if len(n.out) == first {
		n.out = n.out[:before]
		return
	}
	n.out[len(n.out)-1] = ']' // in place of the last comma
}

func (n *normalizer) additional(m *member, level int) {
	switch {
	case n.isBoolean(m.value):
		n.keep(m)
	case n.kind(m.value) == '{':
		n.key(m)
		n.schema(m.value, level+1)
	}
}

func (n *normalizer) array(own record, level int) {
	n.out = append(n.out, '{')
	for i := range own.members {
		m := &own.members[i]
		if string(m.name) == "items" {
			n.items(m, level)
		} else {
			n.keep(m)
		}
	}
	n.out = append(n.out, '}')
}

func (n *normalizer) items(m *member, level int) {
	item := m.value
	if n.kind(item) == '[' {
		item = place{item.offset + 1, item.container + 1} // the first element
		if n.kind(item) == ']' {
			return
		}
	}
	n.key(m)
	if n.isBoolean(item) {
		n.out = append(n.out, n.bytes(item)...)
		return
	}
	n.schema(item, level+1)
}

func (n *normalizer) scalar(own record) {
	n.out = append(n.out, '{')
	for i := range own.members {
		n.keep(&own.members[i])
	}
	n.out = append(n.out, '}')
}

// keep writes a member as it is, unless its keyword is one that goes.
func (n *normalizer) keep(m *member) {
	if stripped(m.name) {
		return
	}
	n.key(m)
	n.out = append(n.out, n.text[m.value.offset:m.end]...)
}

func (n *normalizer) key(m *member) {
	n.comma()
	n.out = append(n.out, m.key...)
	n.out = append(n.out, ':')
}

// comma separates a key from what stands before it in its object.
func (n *normalizer) comma() {
	if n.out[len(n.out)-1] != '{' {
		n.out = append(n.out, ',')
	}
}

func stripped(keyword []byte) bool {
	switch string(keyword) {
	case "$schema", "$id", "$ref", "$defs", "definitions", // draft plumbing, and references that nobody resolves
		"$comment", "deprecated", "readOnly", "writeOnly", // notes that no validator reads
		"default", "examples", // samples, which constrain nothing
		"contentEncoding", "contentMediaType":
		return true
	}
	return false
}
