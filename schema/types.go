package schema

import (
	"bytes"
	"slices"
	"strings"
)

// typeSet is a set of JSON Schema types. A set with number also contains integer.
type typeSet uint8

const (
	typeObject typeSet = 1 << iota
	typeArray
	typeString
	typeNumber
	typeInteger
	typeBoolean
	typeNull

	everyType = typeObject | typeArray | typeString | typeNumber | typeInteger | typeBoolean | typeNull
)

func (t typeSet) has(member typeSet) bool { return t&member != 0 }

var typeNames = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// typesNamed returns the set of the named types, or every type if there are no names.
func typesNamed(names []string) typeSet {
	if len(names) == 0 {
		return everyType
	}
	var t typeSet
	for _, name := range names {
		t |= typeNamed(name)
	}
	return t
}

// typeNamed returns the set with one type, or 0 if the name is not a type.
func typeNamed(name string) typeSet {
	if name == "number" {
		return typeNumber | typeInteger
	}
	if i := slices.Index(typeNames, name); i >= 0 {
		return 1 << i
	}
	return 0
}

// types returns the types of the set one by one. If the set contains number, integer is not returned separately.
func (t typeSet) types() []typeSet {
	var all []typeSet
	for i := range typeNames {
		switch member := typeSet(1 << i); {
		case !t.has(member), member == typeInteger && t.has(typeNumber):
		case member == typeNumber:
			all = append(all, typeNumber|typeInteger)
		default:
			all = append(all, member)
		}
	}
	return all
}

// single returns the name of the type in a set of one type, or "" for other sets.
func (t typeSet) single() string {
	if t.has(typeNumber) {
		t &^= typeInteger
	}
	for i, n := range typeNames {
		if t == 1<<i {
			return n
		}
	}
	return ""
}

// typesOf returns the types in the value of type. Unknown names are ignored.
func typesOf(t *node) typeSet {
	if t.Kind != '[' {
		return typeNamed(t.Unquoted())
	}
	var s typeSet
	for _, e := range t.Elems {
		s |= typeNamed(e.Unquoted())
	}
	return s
}

// typeOfValue returns the type of a JSON value.
func typeOfValue(n *node) typeSet {
	switch n.Kind {
	case '{':
		return typeObject
	case '[':
		return typeArray
	case '"':
		return typeString
	case 't', 'f':
		return typeBoolean
	case 'n':
		return typeNull
	}
	if bytes.ContainsAny(n.Text, ".eE") {
		return typeNumber
	}
	return typeInteger
}

func typesOfValues(all []*node) (t typeSet) {
	for _, v := range all {
		t |= typeOfValue(v)
	}
	return t
}

// sortedBy returns the types of the set in the order of a list.
func (t typeSet) sortedBy(list *node) []typeSet {
	each := t.types()
	place := func(member typeSet) int {
		return slices.IndexFunc(list.Elems, func(e *node) bool { return e.Unquoted() == member.single() })
	}
	slices.SortStableFunc(each, func(x, y typeSet) int { return place(x) - place(y) })
	return each
}

// String joins the names of the types for a message.
func (t typeSet) String() string {
	var names []string
	for _, member := range t.types() {
		names = append(names, member.single())
	}
	return strings.Join(names, " or ")
}

// isWhole reports whether v is a number such as 1.0, which is also an integer.
func isWhole(v *node, t typeSet) bool {
	return v.Kind == '0' && t.has(typeInteger) && v.Number() == float64(int64(v.Number()))
}

// appliesToOther reports whether a keyword does not apply to values of the type.
func appliesToOther(w string, set typeSet) bool {
	t := typedWords[w]
	return t != 0 && !set.has(t)
}
