package schema

import (
	"iter"
	"strconv"
	"strings"
)

// What Check asks of a node.

// is reports whether n is there and of one of the kinds.
func (n *node) is(kinds string) bool { return n != nil && strings.IndexByte(kinds, n.kind) >= 0 }

// content is the text of a string or a number, in UTF-8; "" for all else.
func (n *node) content() string {
	if n.is("0") {
		return string(n.text)
	}
	return wholeText(n.string())
}

// wholeText is s with U+FFFD in place of halves of surrogate pairs.
func wholeText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// strings are the strings of an array; nil if n is none.
func (n *node) strings() []string {
	if !n.is("[") {
		return nil
	}
	var all []string
	for _, e := range n.elems {
		if e.kind == '"' {
			all = append(all, e.content())
		}
	}
	return all
}

// types are the names that type gives in a schema.
func (n *node) types() []string {
	named := n.get("type")
	if named.is(`"`) {
		return []string{named.content()}
	}
	return named.strings()
}

// isInteger reports whether a number is one, as 1.0 and 1e2 are.
func (n *node) isInteger() bool {
	f, err := strconv.ParseFloat(string(n.text), 64)
	return n.kind == '0' && (err != nil || f == float64(int64(f)) || f > 1<<62 || f < -1<<62)
}

// describe says what n is, for a message.
func (n *node) describe() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return shortQuote(n.content())
	case '0':
		return shortened(n.content())
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return "null"
}

// shortQuote is a string for a message: quoted, in one line, and cut where it is long.
func shortQuote(s string) string { return strconv.Quote(shortened(s)) }

// shownKeyword is a keyword for a message: quoted where it is none that anybody defines.
func shownKeyword(keyword string) string {
	if keyword == "" {
		return shortQuote(keyword)
	}
	for i := range len(keyword) {
		if b := keyword[i]; !hasByte("a-zA-Z0-9$_-", b) {
			return shortQuote(keyword)
		}
	}
	return shortened(keyword)
}

func shortened(s string) string {
	const longest = 64 // characters
	n := 0
	for i := range s {
		if n++; n > longest {
			return s[:i] + "…"
		}
	}
	return s
}

// subschemas yields what stands where a schema keyword holds a schema, with the steps that lead there.
func (n *node) subschemas() iter.Seq2[[]string, *node] {
	return func(yield func([]string, *node) bool) {
		for _, m := range n.fields {
			for steps, child := range m.value.held(m.name) {
				if !yield(append([]string{m.name}, steps...), child) {
					return
				}
			}
		}
	}
}

// held yields the schemas in the value of a keyword, and the steps from there. It yields what stands where a schema belongs
// and is none too.
func (n *node) held(name string) iter.Seq2[[]string, *node] {
	return func(yield func([]string, *node) bool) {
		switch formOf(name) {
		case formSchema:
			yield(nil, n)
		case formItems:
			if n.kind != '[' {
				yield(nil, n)
				return
			}
			n.eachElem(yield)
		case formSchemas:
			n.eachElem(yield)
		case formSchemaMap:
			n.eachMember(yield)
		case formDependencies:
			n.eachMember(func(steps []string, child *node) bool { return child.kind == '[' || yield(steps, child) })
		}
	}
}

func (n *node) eachElem(yield func([]string, *node) bool) {
	for i, e := range n.elems {
		if !yield([]string{strconv.Itoa(i)}, e) {
			return
		}
	}
}

func (n *node) eachMember(yield func([]string, *node) bool) {
	for _, m := range n.fields {
		if !yield([]string{m.name}, m.value) {
			return
		}
	}
}
