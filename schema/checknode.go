package schema

import (
	"iter"
	"strconv"
	"strings"
)

// What Check asks of a node.

// contentOf is the text of a string or a number, in UTF-8; "" for all else.
func contentOf(n *node) string {
	if n.Is("0") {
		return string(n.Text)
	}
	return wholeText(n.Unquoted())
}

// wholeText is s with U+FFFD in place of halves of surrogate pairs.
func wholeText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// stringsIn are the strings of an array; nil if n is none.
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

// typesGiven are the names that type gives in a schema.
func typesGiven(n *node) []string {
	named := n.Get("type")
	if named.Is(`"`) {
		return []string{contentOf(named)}
	}
	return stringsIn(named)
}

// isInteger reports whether a number is one, as 1.0 and 1e2 are.
func isInteger(n *node) bool {
	f, err := strconv.ParseFloat(string(n.Text), 64)
	return n.Kind == '0' && (err != nil || f == float64(int64(f)) || f > 1<<62 || f < -1<<62)
}

// describeValue says what n is, for a message.
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

// heldIn yields the schemas in a keyword's value, and where they stand. It yields what stands where a schema belongs and is none
// too.
func heldIn(m field, at *spot) iter.Seq2[*spot, *node] {
	return func(yield func(*spot, *node) bool) {
		switch f := formOf(m.Name); {
		case f == formSchema, f == formItems && m.Value.Kind != '[':
			yield(at, m.Value)
		case f == formItems, f == formSchemas:
			for i, e := range m.Value.Elems {
				if !yield(at.at(strconv.Itoa(i)), e) {
					return
				}
			}
		case f == formSchemaMap, f == formDependencies:
			for _, one := range m.Value.Fields {
				isNames := f == formDependencies && one.Value.Kind == '['
				if !isNames && !yield(at.at(one.Name), one.Value) {
					return
				}
			}
		}
	}
}
