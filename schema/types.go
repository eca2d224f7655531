package schema

import (
	"bytes"
	"slices"
	"strings"
)

// types is a set of JSON Schema's types. A set with number has integer too.
type types uint8

const (
	typeObject types = 1 << iota
	typeArray
	typeString
	typeNumber
	typeInteger
	typeBoolean
	typeNull

	everyType = typeObject | typeArray | typeString | typeNumber | typeInteger | typeBoolean | typeNull
)

func (t types) has(one types) bool { return t&one != 0 }

var typeNames = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// typesNamed is a set by names; none is every type.
func typesNamed(names []string) types {
	if len(names) == 0 {
		return everyType
	}
	var t types
	for _, name := range names {
		t |= typeNamed(name)
	}
	return t
}

// typeNamed is 0 for a name that is no type.
func typeNamed(name string) types {
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
func (t types) each() []types {
	var all []types
	for i := range typeNames {
		switch one := types(1 << i); {
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
func (t types) one() string {
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
func typesOf(t *node) types {
	if t.kind != '[' {
		return typeNamed(t.string())
	}
	var s types
	for _, e := range t.elems {
		s |= typeNamed(e.string())
	}
	return s
}

// typeOfValue is the type of a JSON value.
func typeOfValue(n *node) types {
	switch n.kind {
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
	if bytes.ContainsAny(n.text, ".eE") {
		return typeNumber
	}
	return typeInteger
}

// inOrder is each, in the order of a list.
func (t types) inOrder(list *node) []types {
	each := t.each()
	place := func(one types) int {
		return slices.IndexFunc(list.elems, func(e *node) bool { return e.string() == one.one() })
	}
	slices.SortStableFunc(each, func(x, y types) int { return place(x) - place(y) })
	return each
}

// String names the types, for a person.
func (t types) String() string {
	var names []string
	for _, one := range t.each() {
		names = append(names, one.one())
	}
	return strings.Join(names, " or ")
}

// isWhole reports a number like 1.0, which is an integer too.
func isWhole(v *node, t types) bool {
	return v.kind == '0' && t.has(typeInteger) && number(v) == float64(int64(number(v)))
}

// saysOther reports a keyword that says nothing of values of the type.
func saysOther(w word, one types) bool {
	for _, k := range typeWords {
		if k.words.has(w) {
			return !one.has(k.types)
		}
	}
	return false
}
