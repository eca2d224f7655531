package schema

import (
	"bytes"
	"slices"
	"strings"
)

// typeSet is a set of JSON Schema's types. A set with number has integer too.
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

func (t typeSet) has(one typeSet) bool { return t&one != 0 }

var typeNames = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// typesNamed is a set by names; none is every type.
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

// typeNamed is 0 for a name that is no type.
func typeNamed(name string) typeSet {
	if name == "number" {
		return typeNumber | typeInteger
	}
	for i, n := range typeNames {
		if n == name {
			return 1 << i
		}
	}
	return 0
}

// each are the types of the set, one by one: number comes with integer, and then integer does not come by itself.
func (t typeSet) each() []typeSet {
	var all []typeSet
	for i := range typeNames {
		switch one := typeSet(1 << i); {
		case !t.has(one), one == typeInteger && t.has(typeNumber):
		case one == typeNumber:
			all = append(all, typeNumber|typeInteger)
		default:
			all = append(all, one)
		}
	}
	return all
}

// one is the name of a set of one type, "" for others.
func (t typeSet) one() string {
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

// typesOf reads the value of type. What is no type counts for nothing.
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

// typeOfValue is the type of a JSON value.
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

// inOrder is each, in the order of a list.
func (t typeSet) inOrder(list *node) []typeSet {
	each := t.each()
	place := func(one typeSet) int {
		return slices.IndexFunc(list.Elems, func(e *node) bool { return e.Unquoted() == one.one() })
	}
	slices.SortStableFunc(each, func(x, y typeSet) int { return place(x) - place(y) })
	return each
}

// String names the types, for a person.
func (t typeSet) String() string {
	var names []string
	for _, one := range t.each() {
		names = append(names, one.one())
	}
	return strings.Join(names, " or ")
}

// isWhole reports a number like 1.0, which is an integer too.
func isWhole(v *node, t typeSet) bool {
	return v.Kind == '0' && t.has(typeInteger) && numberOf(v) == float64(int64(numberOf(v)))
}

// saysOther reports a keyword that says nothing of values of the type.
func saysOther(w string, one typeSet) bool {
	t := typedWords[w]
	return t != 0 && !one.has(t)
}
