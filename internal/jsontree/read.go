package jsontree

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// Excess describes a bound that JSON exceeds, and the place.
type Excess struct {
	Bound   string // depth or nodes
	Found   int    // the count when counting stopped
	Limit   int
	Pointer string // to the value where the bound was passed (RFC 6901); a long one is cut and ends in an ellipsis
	Offset  int    // of the value's first byte
}

// reader reads JSON once. It counts depth and nodes, stops at the first excess, and makes nodes if a tree is requested.
// It takes any bytes.
type reader struct {
	text         []byte
	depth, limit int  // maximum depth of containers, and maximum number of nodes
	build        bool // whether to make nodes, not only count them
	nodes        int
	open         []container
	root         *Node
}

// container is an object or array around the current byte.
type container struct {
	node   *Node // nil if nodes are only counted
	object bool
	key    []byte // of the current member, with its quotes; nil before the next key
	index  int    // of the current element
	start  int
}

// Parse reads JSON that is known to be valid.
func Parse(valid []byte) *Node {
	root, _ := Read(valid, math.MaxInt, math.MaxInt)
	return root
}

// Read reads JSON up to a depth of containers and up to a number of values. It takes any bytes: the caller checks
// whether JSON within the bounds is valid.
func Read(raw []byte, depth, nodes int) (*Node, *Excess) {
	r := reader{text: raw, depth: depth, limit: nodes, build: true}
	excess := r.read()
	return r.root, excess
}

// Measure returns the same excess as Read, but makes no tree.
func Measure(raw []byte, depth, nodes int) *Excess {
	return (&reader{text: raw, depth: depth, limit: nodes}).read()
}

func (r *reader) read() *Excess {
	for i := 0; i < len(r.text); {
		start, c := i, r.text[i]
		i++
		switch c {
		case ' ', '\t', '\r', '\n', ':':
			continue
		case ',':
			if len(r.open) > 0 {
				parent := &r.open[len(r.open)-1]
				parent.key = nil
				parent.index++
			}
			continue
		case '}', ']':
			r.close(i)
			continue
		case '"':
			i = endOfString(r.text, start)
			if len(r.open) > 0 {
				if parent := &r.open[len(r.open)-1]; parent.object && parent.key == nil {
					parent.key = r.text[start:i]
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

// value counts the value at start, and enters it if it is a container.
func (r *reader) value(start, end int) *Excess {
	c := r.text[start]
	isContainer := c == '{' || c == '['
	r.nodes++
	if r.nodes > r.limit {
		return r.excess("nodes", r.nodes, r.limit, start)
	} else if depth := len(r.open) + 1; isContainer && depth > r.depth {
		return r.excess("depth", depth, r.depth, start)
	}
	inner := container{object: c == '{', start: start}
	if r.build {
		inner.node = r.add(c, r.text[start:end])
	}
	if isContainer {
		r.open = append(r.open, inner)
	}
	return nil
}

// add makes a node for a value, and adds it to its container.
func (r *reader) add(kind byte, written []byte) *Node {
	n := &Node{Kind: kind, Text: written}
	switch kind {
	case '{', '[', '"', 't', 'f', 'n':
	default:
		n.Kind = '0'
	}
	if len(r.open) == 0 {
		r.root = n
		return n
	}
	parent := &r.open[len(r.open)-1]
	n.Parent = parent.node
	if parent.key != nil {
		parent.node.Fields = append(parent.node.Fields, Field{parent.key, Unquote(parent.key), n})
	} else {
		parent.node.Elems = append(parent.node.Elems, n)
	}
	return n
}

// close leaves the innermost container, which ends at end.
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
	c.node.Text = r.text[c.start:end]
	c.node.Fields = WithoutRepeats(c.node.Fields)
}

func (r *reader) excess(bound string, found, limit, offset int) *Excess {
	return &Excess{Bound: bound, Found: found, Limit: limit, Pointer: r.pointer(), Offset: offset}
}

// maxPointer limits the bytes of a pointer in a message to a person. Every ordinary pointer is shorter.
const maxPointer = 256

// pointer returns the JSON Pointer of the current value, cut if it gets too long. It drops bytes that are not UTF-8:
// half of a character at a cut, or half of a surrogate pair.
func (r *reader) pointer() string {
	var b strings.Builder
	for _, c := range r.open {
		b.WriteByte('/')
		if !c.object {
			b.WriteString(strconv.Itoa(c.index))
		} else if c.key != nil {
			b.WriteString(text.PointerStep(string(Unquote(c.key))))
		}
		if b.Len() > maxPointer {
			return strings.ToValidUTF8(b.String()[:maxPointer], "") + "…"
		}
	}
	return strings.ToValidUTF8(b.String(), "")
}

// endOfString returns the offset after the closing quote of the string that opens at start. If nothing closes it, this
// is the end of the text.
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

// endOfLiteral returns the offset after the number, true, false or null that starts at start.
func endOfLiteral(text []byte, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case ',', ':', '[', ']', '{', '}', '"', ' ', '\t', '\r', '\n':
			return i
		}
	}
	return len(text)
}

// FewMembers is the number of members up to which a linear search is faster than a map.
const FewMembers = 16

// CompactSize returns the length of raw as compact JSON, or 0 if raw is not valid.
func CompactSize(raw []byte) int {
	var compact bytes.Buffer
	_ = json.Compact(&compact, raw)
	return compact.Len()
}

// WithoutRepeats puts the last value of a repeated key at the place of the first. It changes its argument.
func WithoutRepeats(all []Field) []Field {
	var indexes map[string]int
	if len(all) > FewMembers {
		indexes = make(map[string]int, len(all))
	}
	unique := all[:0]
	for _, f := range all {
		i, repeated := indexes[f.Name]
		if indexes == nil {
			i = IndexOf(unique, f.Name)
			repeated = i >= 0
		}
		if repeated {
			unique[i].Value = f.Value
			continue
		}
		if indexes != nil {
			indexes[f.Name] = len(unique)
		}
		unique = append(unique, f)
	}
	return unique
}
