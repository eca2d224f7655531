package schema

import (
	"strconv"
	"strings"
)

// Properties of nodes that Check needs.

// contentOf returns the text of a string or a number in UTF-8, or "" for other values.
func contentOf(n *node) string {
	if n.Is("0") {
		return string(n.Text)
	}
	return validText(n.Unquoted())
}

// validText returns s with U+FFFD in place of halves of surrogate pairs.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// stringsIn returns the strings in an array, or nil if n is not an array.
func stringsIn(n *node) []string {
	if !n.Is("[") {
		return nil
	}
	var all []string
	for _, e := range n.Elems {
		if e.Kind == '"' {
			all = append(all, contentOf(e))
		}
	}
	return all
}

// namedTypes returns the names in a schema's type.
func namedTypes(n *node) []string {
	named := n.Get("type")
	if named.Is(`"`) {
		return []string{contentOf(named)}
	}
	return stringsIn(named)
}

// isInteger reports whether n is an integer. 1.0 and 1e2 are integers.
func isInteger(n *node) bool {
	f, err := strconv.ParseFloat(string(n.Text), 64)
	return n.Kind == '0' && (err != nil || f == float64(int64(f)) || f > 1<<62 || f < -1<<62)
}

// describeValue describes n for a message.
func describeValue(n *node) string {
	switch n.Kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return shortQuote(contentOf(n))
	case '0':
		return shortened(contentOf(n))
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return "null"
}

// shortQuote returns a string for a message: quoted, in one line, and clipped.
func shortQuote(s string) string { return strconv.Quote(shortened(s)) }

// shownKeyword returns a keyword for a message. It quotes a keyword that is empty or has unusual characters.
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
		n++
		if n > longest {
			return s[:i] + "…"
		}
	}
	return s
}

// subschemas returns the values in a keyword's value that stand in the place of a schema. Some are no schemas.
func subschemas(m field) (all []*node) {
	switch f := formOf(m.Name); {
	case f == formSchema, f == formItems && m.Value.Kind != '[':
		return []*node{m.Value}
	case f == formItems, f == formSchemas:
		return m.Value.Elems
	case f == formSchemaMap, f == formDependencies:
		for _, entry := range m.Value.Fields {
			if f != formDependencies || entry.Value.Kind != '[' {
				all = append(all, entry.Value)
			}
		}
	}
	return all
}
