package schema

import (
	"math"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// reader goes through JSON once: it counts depth and nodes, stops at the first excess, and makes nodes where a tree is
// wanted. It takes any bytes; whether they are JSON is asked afterwards, of what is within bounds, since that has to read all
// of it.
type reader struct {
	text   []byte
	limits Limits
	makes  bool // nodes, which are else only counted
	nodes  int
	open   []container
	root   *node
}

// container is an object or array around the current byte.
type container struct {
	node   *node // nil where nodes are only counted
	object bool
	key    []byte // the current member's, with its quotes; nil where one is to come
	index  int    // of the current element
	start  int
}

// readWithin reads JSON that is within bounds. The node is nil unless nodes are to be made.
func readWithin(raw []byte, limits Limits, makes bool) (*node, error) {
	limits = limits.withDefaults()
	if len(raw) > limits.Bytes {
		return nil, &LimitError{Bound: "bytes", Found: len(raw), Limit: limits.Bytes}
	}
	r := reader{text: raw, limits: limits, makes: makes}
	if excess := r.read(); excess != nil {
		return nil, excess
	}
	return r.root, wellFormed(raw)
}

// readValid reads what is known to be JSON.
func readValid(raw []byte) *node {
	r := reader{text: raw, limits: Limits{Depth: math.MaxInt, Nodes: math.MaxInt}, makes: true}
	r.read()
	return r.root
}

func (r *reader) read() *LimitError {
	for i := 0; i < len(r.text); {
		start, c := i, r.text[i]
		i++
		switch c {
		case ' ', '\t', '\r', '\n', ':':
			continue
		case ',':
			if len(r.open) > 0 {
				around := &r.open[len(r.open)-1]
				around.key = nil
				around.index++
			}
			continue
		case '}', ']':
			r.close(i)
			continue
		case '"':
			i = endOfString(r.text, start)
			if len(r.open) > 0 {
				if around := &r.open[len(r.open)-1]; around.object && around.key == nil {
					around.key = r.text[start:i]
					continue
				}
			}
		case '{', '[':
		default:
			i = endOfLiteral(r.text, start)
		}
		if excess := r.value(start, i); excess != nil {
			return excess
		}
	}
	return nil
}

// value counts the value that starts there, and enters it if it is a container.
func (r *reader) value(start, end int) *LimitError {
	c := r.text[start]
	isContainer := c == '{' || c == '['
	if r.nodes++; r.nodes > r.limits.Nodes {
		return r.excess("nodes", r.nodes, r.limits.Nodes, start)
	} else if depth := len(r.open) + 1; isContainer && depth > r.limits.Depth {
		return r.excess("depth", depth, r.limits.Depth, start)
	}
	inner := container{object: c == '{', start: start}
	if r.makes {
		inner.node = r.add(c, r.text[start:end])
	}
	if isContainer {
		r.open = append(r.open, inner)
	}
	return nil
}

// add makes a node for a value, and a member or element of what is around it.
func (r *reader) add(kind byte, written []byte) *node {
	n := &node{kind: kind, text: written}
	switch kind {
	case '{', '[', '"', 't', 'f', 'n':
	default:
		n.kind = '0'
	}
	if len(r.open) == 0 {
		r.root = n
		return n
	}
	around := &r.open[len(r.open)-1]
	n.up = around.node
	if around.key != nil {
		around.node.fields = append(around.node.fields, field{around.key, unquote(around.key), n})
	} else {
		around.node.elems = append(around.node.elems, n)
	}
	return n
}

// close leaves the innermost container, which ends there.
func (r *reader) close(end int) {
	last := len(r.open) - 1
	if last < 0 {
		return
	}
	c := r.open[last]
	r.open = r.open[:last]
	if c.node == nil {
		return
	}
	c.node.text = r.text[c.start:end]
	c.node.fields = withoutRepeats(c.node.fields)
}

func (r *reader) excess(bound string, found, limit, offset int) *LimitError {
	return &LimitError{Bound: bound, Found: found, Limit: limit, Pointer: r.pointer(), Offset: offset}
}

// maxPointer is how many bytes of a pointer a person is shown: enough for every pointer that was not made to annoy.
const maxPointer = 256

// pointer is the JSON Pointer of the current value, cut where it gets too long, without what is not UTF-8: half a character
// at a cut, or half of a surrogate pair.
func (r *reader) pointer() string {
	var b strings.Builder
	for _, c := range r.open {
		b.WriteByte('/')
		if !c.object {
			b.WriteString(strconv.Itoa(c.index))
		} else if c.key != nil {
			b.WriteString(text.PointerStep(string(unquote(c.key))))
		}
		if b.Len() > maxPointer {
			return strings.ToValidUTF8(b.String()[:maxPointer], "") + "…"
		}
	}
	return strings.ToValidUTF8(b.String(), "")
}

// endOfString returns the offset behind the closing quote of the string that opens at start, or the end of the text if
// nothing closes it.
func endOfString(text []byte, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(text)
}

// endOfLiteral returns the offset behind the number, true, false or null that starts at start.
func endOfLiteral(text []byte, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case ',', ':', '[', ']', '{', '}', '"', ' ', '\t', '\r', '\n':
			return i
		}
	}
	return len(text)
}

// fewMembers is how many members are found faster by looking at each than by a map.
const fewMembers = 16

// withoutRepeats puts the last value of a repeated key at the first one's place. It changes its argument.
func withoutRepeats(all []field) []field {
	var places map[string]int
	if len(all) > fewMembers {
		places = make(map[string]int, len(all))
	}
	kept := all[:0]
	for _, f := range all {
		i, repeats := places[f.name]
		if places == nil {
			i = indexOf(kept, f.name)
			repeats = i >= 0
		}
		if repeats {
			kept[i].value = f.value
			continue
		}
		if places != nil {
			places[f.name] = len(kept)
		}
		kept = append(kept, f)
	}
	return kept
}

func indexOf(all []field, name string) int {
	for i := range all {
		if all[i].name == string(name) {
			return i
		}
	}
	return -1
}
