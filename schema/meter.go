package schema

import (
	"strconv"
	"strings"
)

// maxPointer is how many bytes of a pointer a person is shown: enough for every pointer that was not made to annoy.
const maxPointer = 256

// meter counts depth and nodes in one pass that ends at the first excess. It takes any bytes; whether they are JSON is
// asked only of those that are within bounds, since that has to read all of them.
type meter struct {
	text   []byte
	limits Limits
	nodes  int
	path   []step // one for each container around the current byte
}

// step is the way from a container to its current member.
type step struct {
	object bool
	key    []byte // in an object: the current key with its quotes, nil where one is to come
	index  int    // in an array
}

func (m *meter) walk() *LimitError {
	for i := 0; i < len(m.text); {
		start, c := i, m.text[i]
		i++
		switch c {
		case ' ', '\t', '\r', '\n', ':':
			continue
		case ',':
			m.next()
			continue
		case '}', ']':
			m.path = m.path[:max(0, len(m.path)-1)]
			continue
		case '"':
			i = endOfString(m.text, start)
			if m.isKey(m.text[start:i]) {
				continue
			}
		case '{', '[':
		default:
			i = endOfLiteral(m.text, start)
		}
		if excess := m.value(start); excess != nil {
			return excess
		}
	}
	return nil
}

// value counts the value that starts there, and enters it if it is a container.
func (m *meter) value(start int) *LimitError {
	if m.nodes++; m.nodes > m.limits.Nodes {
		return m.excess("nodes", m.nodes, m.limits.Nodes, start)
	}
	c := m.text[start]
	if c != '{' && c != '[' {
		return nil
	}
	if depth := len(m.path) + 1; depth > m.limits.Depth {
		return m.excess("depth", depth, m.limits.Depth, start)
	}
	m.path = append(m.path, step{object: c == '{'})
	return nil
}

// isKey takes a string as the current key if an object waits for one.
func (m *meter) isKey(quoted []byte) bool {
	if len(m.path) == 0 {
		return false
	}
	s := &m.path[len(m.path)-1]
	if !s.object || s.key != nil {
		return false
	}
	s.key = quoted
	return true
}

func (m *meter) next() {
	if len(m.path) == 0 {
		return
	}
	s := &m.path[len(m.path)-1]
	s.key = nil
	s.index++
}

func (m *meter) excess(bound string, found, limit, offset int) *LimitError {
	return &LimitError{Bound: bound, Found: found, Limit: limit, Pointer: m.pointer(), Offset: offset}
}

// pointer is the JSON Pointer of the current value, cut where it gets too long.
func (m *meter) pointer() string {
	var b strings.Builder
	for _, s := range m.path {
		b.WriteByte('/')
		if s.object {
			if s.key != nil {
				b.WriteString(escapeStep(string(unquote(s.key))))
			}
		} else {
			b.WriteString(strconv.Itoa(s.index))
		}
		if b.Len() > maxPointer {
			return printable(b.String()[:maxPointer]) + "…"
		}
	}
	return printable(b.String())
}

// printable drops the bytes that are no UTF-8: half of a character at a cut, half of a surrogate pair.
func printable(text string) string { return strings.ToValidUTF8(text, "") }
