package schema

import "bytes"

// Most schemas are plain already: types, descriptions, lists of strings. What is plain is accepted by every consumer whose
// rules do not close objects, so that it need not be taken apart.

var plainWords = setOf(wordType, wordDescription, wordEnum, wordItems, wordProperties, wordRequired)

// isPlain reports a schema below the root that stays as it is.
func (a *adapter) isPlain(n *node) bool {
	if n.kind != '{' || a.rules.Closed || a.rules.RequiredAll {
		return false
	}
	var has words
	for i := range n.fields {
		f := &n.fields[i]
		if !plainWords.has(f.word) || !a.parsed.nested.has(f.word) {
			return false
		}
		has |= f.word.set()
		if f.word == wordDescription && (f.value.kind != '"' || !isPlainString(f.value.text)) {
			return false
		}
	}
	t := n.get(wordType)
	if t == nil || t.kind != '"' {
		return false
	}
	switch typeNamed(string(unquote(t.text))) & a.parsed.types {
	case typeObject:
		return has&setOf(wordEnum, wordItems) == 0 && a.isPlainObject(n)
	case typeArray:
		items := n.get(wordItems)
		return has&setOf(wordEnum, wordProperties, wordRequired) == 0 && items != nil && a.isPlain(items)
	case typeString:
		return has&setOf(wordItems, wordProperties, wordRequired) == 0 && isPlainEnum(n.get(wordEnum))
	case typeNumber | typeInteger, typeInteger, typeBoolean:
		return has&setOf(wordEnum, wordItems, wordProperties, wordRequired) == 0
	}
	return false
}

func (a *adapter) isPlainObject(n *node) bool {
	props := n.get(wordProperties)
	if props == nil || props.kind != '{' {
		return false
	}
	for i := range props.fields {
		f := &props.fields[i]
		if !a.parsed.key.takes(f.name) || a.isNotKey(f.name) || bytes.IndexByte(f.key, '\\') >= 0 || !a.isPlain(f.value) {
			return false
		}
	}
	required := n.get(wordRequired)
	if required == nil {
		return true
	}
	if !isPlainEnum(required) {
		return false
	}
	for _, e := range required.elems {
		if indexOf(props.fields, unquote(e.text)) < 0 {
			return false
		}
	}
	return true
}

func (a *adapter) isNotKey(name []byte) bool {
	for _, not := range a.rules.NotKeys {
		if string(name) == not {
			return true
		}
	}
	return false
}

// isPlainEnum reports a short list of distinct strings, or none. An escape may hide that two are the same.
func isPlainEnum(e *node) bool {
	if e == nil {
		return true
	}
	if e.kind != '[' || len(e.elems) == 0 || len(e.elems) > few {
		return false
	}
	for i, v := range e.elems {
		if v.kind != '"' || len(v.text) == 2 || bytes.IndexByte(v.text, '\\') >= 0 || contains(e.elems[:i], v) {
			return false
		}
	}
	return true
}

// isPlainString reports a string of ASCII with no escapes but those of quotes, line feeds and tabs.
func isPlainString(text []byte) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= 0x7F:
			return false
		case c == '\\':
			if i++; text[i] != '"' && text[i] != 'n' && text[i] != 't' && text[i] != '\\' && text[i] != '/' {
				return false
			}
		}
	}
	return true
}

// contains reports whether a list of scalars has one.
func contains(all []*node, n *node) bool {
	for _, e := range all {
		if e.kind == n.kind && string(e.text) == string(n.text) {
			return true
		}
	}
	return false
}
