package validate

import (
	"encoding/json"
	"strconv"
)

// value is one value of the arguments, with what bounds need to know of it.
type value struct {
	v       any
	depth   int // how many values it stands in
	size    int // values within it, itself included
	members map[string]*value
	items   []*value
	names   map[string]*value // of the members, for propertyNames; made when asked for
}

func newValue(v any, depth int) *value {
	node := &value{v: v, depth: depth, size: 1}
	switch v := v.(type) {
	case map[string]any:
		node.members = make(map[string]*value, len(v))
		for name, member := range v {
			inner := newValue(member, depth+1)
			node.members[name] = inner
			node.size += inner.size
		}
	case []any:
		node.items = make([]*value, len(v))
		for i, item := range v {
			node.items[i] = newValue(item, depth+1)
			node.size += node.items[i].size
		}
	}
	return node
}

// name is a member's name as a value of its own.
func (n *value) name(name string) *value {
	if n.names == nil {
		n.names = map[string]*value{}
	}
	if n.names[name] == nil {
		n.names[name] = &value{v: name, depth: n.depth + 1, size: 1}
	}
	return n.names[name]
}

// isNumber reports whether the value is one.
func (n *value) isNumber() bool {
	_, ok := n.v.(json.Number)
	return ok
}

// at is what stands at a path, as it was given; nil where nothing does.
func (n *value) at(path []string) any {
	for _, token := range path {
		if n.items != nil {
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(n.items) {
				return nil
			}
			n = n.items[i]
		} else if n = n.members[token]; n == nil {
			return nil
		}
	}
	return n.v
}
