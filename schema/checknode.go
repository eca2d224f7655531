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

// subschemas yields what stands where a schema keyword holds a schema, with the steps that lead there.
func subschemas(n *node) iter.Seq2[[]string, *node] {
	return func(yield func([]string, *node) bool) {
		for _, m := range n.Fields {
			for steps, child := range heldIn(m.Value, m.Name) {
				if !yield(append([]string{m.Name}, steps...), child) {
					return
				}
			}
		}
	}
}

// heldIn yields the schemas in the value of a keyword, and the steps from there. It yields what stands where a schema belongs
// and is none too.
func heldIn(n *node, name string) iter.Seq2[[]string, *node] {
	return func(yield func([]string, *node) bool) {
		switch formOf(name) {
		case formSchema:
			yield(nil, n)
		case formItems:
			if n.Kind != '[' {
				yield(nil, n)
				return
			}
			eachElem(n, yield)
		case formSchemas:
			eachElem(n, yield)
		case formSchemaMap:
			eachMember(n, yield)
		case formDependencies:
			eachMember(n, func(steps []string, child *node) bool { return child.Kind == '[' || yield(steps, child) })
		}
	}
}

func eachElem(n *node, yield func([]string, *node) bool) {
	for i, e := range n.Elems {
		if !yield([]string{strconv.Itoa(i)}, e) {
			return
		}
	}
}

func eachMember(n *node, yield func([]string, *node) bool) {
	for _, m := range n.Fields {
		if !yield([]string{m.Name}, m.Value) {
			return
		}
	}
}
