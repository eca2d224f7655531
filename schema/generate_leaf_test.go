package schema_test

import (
	"strconv"
	"strings"
)

// leaf returns a schema without schemas inside.
func (g *generator) leaf() *twig {
	g.written++
	switch n := g.IntN(20); {
	case n < 8:
		return g.stringLeaf()
	case n < 12:
		return g.numberLeaf()
	case n < 14:
		return obj("type", str("boolean"))
	case n < 16:
		return g.enum()
	case n < 17 && g.consts:
		return g.constant()
	case n < 18:
		return g.types()
	case n < 19 && g.consts && !g.nulls:
		return pick(g, obj("type", str("null")), raw("true"), obj())
	default:
		return g.nullable(g.stringLeaf())
	}
}

func (g *generator) stringLeaf() *twig {
	s := obj("type", str("string"))
	switch g.IntN(12) {
	case 0:
		s.set("format", str(pick(g, "date-time", "date", "uri", "uuid", "email", "password", "int64", "ipv4")))
	case 1:
		s.set("pattern", str(pick(g, "^[a-z]+$", "^a", `^\d+$`, "^(?!x).*$", `(a)\1`, "^(?<=a)b", "[", `\p{L}+`, "")))
	case 2:
		s.set("minLength", raw(pick(g, "0", "1", "3")))
	case 3:
		s.set("maxLength", raw(pick(g, "1", "8", "64")))
	case 4, 5, 6:
		s.set("description", str(pick(g, "what it is", "", "two\nlines", "with \"quotes\" and ünïcode", strings.Repeat("long ", 300))))
	case 7:
		s.set("default", raw(pick(g, `"x"`, "null", "1", "[]")))
	case 8:
		s.set("examples", arr(str("a@example.org")))
	case 9:
		s.set(pick(g, "contentEncoding", "contentMediaType", "title", "$comment", "x-order"), str("base64"))
	case 10:
		s.set(pick(g, "readOnly", "writeOnly", "deprecated"), raw("true"))
	}
	return s
}

func (g *generator) numberLeaf() *twig {
	n := obj("type", str(pick(g, "integer", "number", "integer")))
	if g.one(3) {
		n.set(pick(g, "minimum", "maximum"), raw(pick(g, "0", "1", "100", "-5", "1e3", "0.5", "9007199254740993")))
	}
	switch bound := pick(g, "exclusiveMinimum", "exclusiveMaximum"); {
	case !g.one(4):
	case g.flags:
		n.set(strings.ToLower(bound[9:10])+bound[10:], raw("0"))
		n.set(bound, raw(pick(g, "true", "true", "false")))
	case g.consts || g.uri == "":
		n.set(bound, raw(pick(g, "0", "10", "0.5")))
	}
	if g.one(8) {
		n.set("multipleOf", raw(pick(g, "1", "2", "5", "0.5", "0.01")))
	}
	if g.one(8) {
		n.set("format", str(pick(g, "int32", "int64", "double", "float", "uint32")))
	}
	return n
}

// enum returns an enum with values of one type or of several, or with very many values.
func (g *generator) enum() *twig {
	values := pick(g,
		[]string{`"a"`, `"b"`}, []string{`"x"`}, []string{`""`, `"a"`}, []string{`""`}, []string{"1", "2", "3"}, []string{"1", `"1"`},
		[]string{"true", "false"}, []string{`"a"`, "null"}, []string{"null"}, []string{"1", "2.5", "1e2"}, []string{`{"a":1}`, `[1,2]`, `"s"`},
		[]string{`"ä"`, `"\u00e4\n"`, `"b"`}, []string{"9007199254740993", "-0"}, []string{"true"}, []string{"0", "false", `""`, "null"},
	)
	if g.one(25) {
		values = nil
		for i := range 1200 {
			values = append(values, quote("value number "+strconv.Itoa(i)))
		}
	}
	list := arr()
	for _, v := range values {
		list.add(raw(v))
	}
	e := obj("enum", list)
	if kind := kindOf(values[0]); g.one(2) && !(g.nulls && kind == "null") {
		e.prepend("type", str(kind))
	}
	if g.nulls && values[len(values)-1] == "null" {
		e.set("nullable", raw("true"))
	}
	return e
}

func (g *generator) constant() *twig {
	value := pick(g, `"a"`, `"x"`, "1", "true", "null", `{"a":1}`, `[]`, `""`, "1.50")
	c := obj("const", raw(value))
	if g.one(2) {
		c.prepend("type", str(kindOf(value)))
	}
	return c
}

// types returns a schema with a list of types, and with keywords for some of them.
func (g *generator) types() *twig {
	if g.nulls {
		return obj("type", str("string"), "nullable", raw("true"))
	}
	list := pick(g, []string{"string", "null"}, []string{"null", "integer"}, []string{"string", "number"}, []string{"string"},
		[]string{"object", "null"}, []string{"array", "null"}, []string{"string", "array"}, []string{"string", "number", "boolean", "null", "array", "object"})
	kinds := arr()
	t := obj("type", kinds)
	for _, kind := range list {
		kinds.add(str(kind))
		switch {
		case kind == "array" && g.one(2):
			t.set("items", obj("type", str("string")))
		case kind == "object" && g.one(2):
			t.set("properties", obj("a", g.stringLeaf()))
		case kind == "string" && g.one(4):
			t.set("enum", arr(str("a"), raw("null"), raw("1")))
		}
	}
	return t
}

func kindOf(value string) string {
	switch value[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(value, ".e") {
		return "number"
	}
	return "integer"
}

// spoil puts invalid values into a few places.
func (g *generator) spoil(root *twig) {
	places := root.all()
	for range g.IntN(3) {
		n := places[g.IntN(len(places))]
		if n.kind != '{' || len(n.keys) == 0 {
			continue
		}
		i := g.IntN(len(n.keys))
		switch g.IntN(5) {
		case 0:
			n.kids[i] = raw(pick(g, "null", "1", `"string[]"`, "[]", "{}", "true", "1e400", `["a","a"]`, `[null]`))
		case 1: // repeats a key
			n.keys = append(n.keys, n.keys[i])
			n.kids = append(n.kids, pick(g, n.kids[i], g.leaf(), raw("null")))
		case 2:
			n.set(pick(g, "type", "properties", "required", "items", "enum", "anyOf", "$ref", "description", "nullable", "$id", "id", "const"), raw(pick(g, "null", "0", `"x"`, "[]", "{}", `[[]]`, "false")))
		case 3:
			n.set(pick(g, "$id", "id"), str(pick(g, "https://example.com/x.json", "#anchor", "other")))
		case 4:
			n.keys[i] = pick(g, `"type"`, `"anyOf"`, `"\u0074ype"`, `"unheard-of"`, `"definitions"`, `"$defs"`)
		}
	}
}
