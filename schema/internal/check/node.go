package check

import (
	"math"
	"strconv"

	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/schema/rule"
)

// stringsIn returns the strings in an array, or nil if n is not an array.
func stringsIn(n *node) []string {
	if !n.Is("[") {
		return nil
	}
	var all []string
	for _, e := range n.Elems {
		if e.Kind == '"' {
			all = append(all, e.ValidText())
		}
	}
	return all
}

// namedTypes returns the names in a schema's type.
func namedTypes(n *node) []string { return typesIn(n.Get("type")) }

// typesIn returns the names in the value of type.
func typesIn(named *node) []string {
	if named.Is(`"`) {
		return []string{named.ValidText()}
	}
	return stringsIn(named)
}

// isInteger reports whether n is an integer. 1.0 and 1e2 are integers.
func isInteger(n *node) bool {
	f := n.Number()
	return n.Kind == '0' && (f == float64(int64(f)) || f > 1<<62 || f < -1<<62)
}

// describeValue describes n for a message.
func describeValue(n *node) string {
	switch n.Kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return shortQuote(n.ValidText())
	case '0':
		return shortened(n.ValidText())
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return "null"
}

// shortQuote returns a string for a message: quoted, in one line, and clipped.
func shortQuote(s string) string { return strconv.Quote(shortened(s)) }

// plainKeyword is the grammar of the keywords that messages do not quote.
var plainKeyword = rule.Grammar{First: "a-zA-Z0-9$_-", Rest: "a-zA-Z0-9$_-", Max: math.MaxInt}

// shownKeyword returns a keyword for a message. It quotes a keyword that is empty or has unusual characters.
func shownKeyword(keyword string) string {
	if !plainKeyword.Accepts(keyword) {
		return shortQuote(keyword)
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
	switch content := keyword.ContentOf(m.Name); {
	case content == keyword.Schema, content == keyword.SchemaOrList && m.Value.Kind != '[':
		return []*node{m.Value}
	case content == keyword.SchemaOrList, content == keyword.List:
		return m.Value.Elems
	case content >= keyword.Named:
		for _, entry := range m.Value.Fields {
			if content == keyword.Named || entry.Value.Kind != '[' {
				all = append(all, entry.Value)
			}
		}
	}
	return all
}
