package schema_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// The generator writes schemas as people and programs do, and worse ones. Its output depends only on the
// seed. A tame schema is valid in its draft. A wild schema may have any value anywhere.

// generated returns the schema for a seed.
func generated(seed uint64) *twig {
	r := rand.New(rand.NewPCG(seed, 19))
	g := &generator{Rand: r, wild: r.IntN(3) == 0}
	g.dialect = dialects[r.IntN(len(dialects))]
	return g.document()
}

// dialect describes a draft, or OpenAPI, as far as the keywords differ.
type dialect struct {
	uri     string
	defs    string // the keyword of definitions
	flags   bool   // exclusiveMinimum is a boolean
	tuples  string // the keyword of a list of schemas for an array
	rest    string // the keyword of the items after the list
	consts  bool   // const, contains, propertyNames, boolean schemas
	ifs     bool
	nulls   bool // nullable, instead of the type null
	refines bool // $ref may have siblings
	depends bool // dependentRequired and dependentSchemas, unevaluatedProperties
}

var dialects = []dialect{
	{uri: "http://json-schema.org/draft-04/schema#", defs: "definitions", flags: true, tuples: "items", rest: "additionalItems"},
	{uri: "http://json-schema.org/draft-06/schema#", defs: "definitions", tuples: "items", rest: "additionalItems", consts: true},
	{uri: "http://json-schema.org/draft-07/schema#", defs: "definitions", tuples: "items", rest: "additionalItems", consts: true, ifs: true},
	{uri: "https://json-schema.org/draft/2019-09/schema", defs: "$defs", tuples: "items", rest: "additionalItems", consts: true, ifs: true, refines: true, depends: true},
	{uri: "https://json-schema.org/draft/2020-12/schema", defs: "$defs", tuples: "prefixItems", rest: "items", consts: true, ifs: true, refines: true, depends: true},
	{defs: "$defs", tuples: "prefixItems", rest: "items", consts: true, ifs: true, refines: true, depends: true},
	{defs: "$defs", tuples: "prefixItems", rest: "items", consts: true, refines: true},
	{defs: "definitions", flags: true, nulls: true, tuples: "items", rest: "additionalItems"},
}

type generator struct {
	*rand.Rand
	dialect
	wild    bool
	names   []string // of definitions
	written int      // schemas so far
}

// enough is the approximate maximum number of schemas in one document.
const enough = 24

func (g *generator) one(of int) bool { return g.IntN(of) == 0 }

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

// document returns a whole schema with root, definitions and dialect.
func (g *generator) document() *twig {
	for i := range g.IntN(5) {
		g.names = append(g.names, pick(g, "Node", "Tag", "a/b", "Größe", "x~y", "Per cent%", "S")+strconv.Itoa(i))
	}
	root := g.root()
	if g.uri != "" && !g.one(4) {
		root.prepend("$schema", str(g.uri))
	}
	if len(g.names) > 0 && root.kind == '{' {
		defs := obj()
		for _, name := range g.names {
			def := g.schema(1)
			if def.get("$ref") != nil && !g.wild {
				def = g.leaf() // a circle of references only has no meaning
			}
			defs.set(name, def)
		}
		root.set(g.defs, defs)
	}
	if g.wild {
		g.spoil(root)
	}
	return root
}

func (g *generator) root() *twig {
	switch g.IntN(20) {
	case 0:
		return g.schema(0) // an array, a string, true
	case 1:
		return g.reference()
	case 2:
		return obj(pick(g, "anyOf", "oneOf", "allOf"), g.schemas(1, g.object))
	case 3:
		root := g.object(0)
		root.set(pick(g, "anyOf", "oneOf", "allOf"), g.schemas(1, g.object))
		return root
	case 4:
		root := g.object(0)
		root.set(pick(g, "anyOf", "oneOf"), arr(obj("required", arr(str("a"))), obj("required", arr(str("b")))))
		return root
	case 5:
		root := g.object(0)
		g.conditions(root, 1)
		return root
	}
	root := g.object(0)
	if g.one(3) {
		root.set("title", str("searchArguments"))
	}
	return root
}

// schema returns any schema.
func (g *generator) schema(depth int) *twig {
	g.written++
	if depth > 5 || g.written > enough {
		return g.leaf()
	}
	switch n := g.IntN(100); {
	case n < 34:
		return g.leaf()
	case n < 52:
		return g.object(depth)
	case n < 66:
		return g.array(depth)
	case n < 78:
		return g.union(depth)
	case n < 84:
		return obj("allOf", g.schemas(depth+1, g.object))
	case n < 94:
		return g.reference()
	case n < 96:
		return g.loose(depth)
	case n < 97 && g.consts:
		return obj("not", g.schema(depth+1))
	default:
		return g.nullable(g.schema(depth + 1))
	}
}

func (g *generator) schemas(depth int, make func(int) *twig) *twig {
	list := arr()
	for range 1 + g.IntN(3) {
		list.add(make(depth))
	}
	return list
}

// union returns anyOf or oneOf: alone, with siblings, or with null.
func (g *generator) union(depth int) *twig {
	keyword := pick(g, "anyOf", "anyOf", "oneOf")
	branches := g.schemas(depth+1, g.schema)
	if g.one(2) && !g.nulls {
		branches.add(obj("type", str("null")))
	}
	u := obj(keyword, branches)
	switch g.IntN(6) {
	case 0:
		u.set("description", str("one of several"))
	case 1:
		u.set("type", str(pick(g, "object", "string")))
	case 2:
		u.set("default", raw("null"))
	case 3:
		u.set("properties", obj("shared", g.leaf()))
	}
	return u
}

// nullable makes a schema accept null, in one of several ways.
func (g *generator) nullable(s *twig) *twig {
	if s.kind != '{' {
		return s
	}
	if g.nulls {
		s.set("nullable", raw("true"))
		return s
	}
	if kind := s.get("type"); kind != nil && kind.kind == 0 && g.one(2) {
		s.set("type", arr(kind, str("null")))
		return s
	}
	list := arr(s, obj("type", str("null")))
	if g.one(3) {
		list = arr(list.kids[1], list.kids[0])
	}
	return obj(pick(g, "anyOf", "anyOf", "oneOf"), list)
}

// reference returns a reference to a definition, to the root, into a property, or to nothing.
func (g *generator) reference() *twig {
	to := "#"
	switch n := g.IntN(12); {
	case n < 9 && len(g.names) > 0:
		to = "#/" + g.defs + "/" + escapePointer(pick(g, g.names...))
	case n == 9:
		to = pick(g, "#/properties/a", "#/properties/b", "#/properties/list/items")
	case n == 10 && g.wild:
		to = pick(g, "https://example.com/schemas/address.json", "other.json#/definitions/x", "#nowhere", "#/$defs/None", "urn:x:y", "#/properties/%61")
	}
	r := obj("$ref", str(to))
	if g.refines || g.one(4) {
		switch g.IntN(8) {
		case 0:
			r.set("description", str("which one"))
		case 1:
			r.set("default", raw("null"))
		case 2:
			r.set("properties", obj("beside", g.leaf()))
		}
	}
	return r
}

// loose returns a schema without a type.
func (g *generator) loose(depth int) *twig {
	switch g.IntN(7) {
	case 0:
		return obj("properties", g.properties(depth))
	case 1:
		return obj("items", g.schema(depth+1))
	case 2:
		return obj("minimum", raw("1"))
	case 3:
		return obj("maxLength", raw("5"))
	case 4:
		return obj("description", str("anything"))
	case 5:
		if g.consts {
			return raw(pick(g, "true", "true", "false"))
		}
	}
	return obj()
}

func (g *generator) object(depth int) *twig {
	o := obj("type", str("object"))
	if !g.one(12) {
		properties := g.properties(depth)
		o.set("properties", properties)
		g.require(o, properties)
	}
	g.additional(o, depth)
	if g.one(8) {
		g.objectBounds(o, depth)
	}
	if g.one(10) {
		g.conditions(o, depth+1)
	}
	if g.one(15) {
		o.set("allOf", g.schemas(depth+1, g.object))
	}
	return o
}

func (g *generator) properties(depth int) *twig {
	list := obj()
	for range 1 + g.IntN(4) {
		list.keys = append(list.keys, g.key())
		list.kids = append(list.kids, g.schema(depth+1))
	}
	return list
}

// require requires some properties, and sometimes a property that does not exist.
func (g *generator) require(o, properties *twig) {
	required := arr()
	for _, key := range properties.keys {
		if g.one(2) && !required.has(key) {
			required.add(raw(key))
		}
	}
	if g.one(15) {
		required.add(str("undeclared"))
	}
	if len(required.kids) > 0 || g.wild && g.one(3) {
		o.set("required", required)
	}
}

func (g *generator) additional(o *twig, depth int) {
	switch g.IntN(8) {
	case 0, 1:
		o.set("additionalProperties", raw("false"))
	case 2:
		o.set("additionalProperties", raw("true"))
	case 3:
		o.set("additionalProperties", g.schema(depth+2))
	case 4:
		if g.depends && g.one(3) {
			o.set("unevaluatedProperties", raw("false"))
		}
	}
}

func (g *generator) objectBounds(o *twig, depth int) {
	switch g.IntN(4) {
	case 0:
		o.set("minProperties", raw("1"))
	case 1:
		o.set("maxProperties", raw("3"))
	case 2:
		o.set("patternProperties", obj(pick(g, "^x-", "^[a-z]{2}$", "^(?=a)"), g.schema(depth+2)))
	case 3:
		if g.consts {
			o.set("propertyNames", pick(g, obj("pattern", str("^[a-z]+$")), obj("enum", arr(str("a"), str("b"), str("red"))), obj("maxLength", raw("9"))))
		}
	}
}

// conditions adds if, not, or keywords that depend on a property.
func (g *generator) conditions(o *twig, depth int) {
	switch n := g.IntN(4); {
	case n == 0 && g.ifs:
		o.set("if", obj("properties", obj("a", obj("const", str("x")))))
		o.set("then", obj("required", arr(str("b"))))
		if g.one(2) {
			o.set("else", obj("properties", obj("c", g.schema(depth+1))))
		}
	case n == 1 && g.depends:
		o.set("dependentRequired", obj("a", arr(str("b"))))
	case n == 2 && g.depends:
		o.set("dependentSchemas", obj("a", obj("properties", obj("b", g.leaf()))))
	case n == 3:
		o.set("not", obj("required", arr(str("a"), str("b"))))
	default:
		o.set(pick(g, "anyOf", "oneOf"), arr(obj("required", arr(str("a"))), obj("required", arr(str("b")))))
	}
}

func (g *generator) array(depth int) *twig {
	a := obj("type", str("array"))
	switch n := g.IntN(10); {
	case n < 6:
		a.set("items", g.schema(depth+1))
	case n < 8:
		tuple := g.schemas(depth+1, g.schema)
		a.set(g.tuples, tuple)
		if g.one(2) {
			a.set("minItems", raw(strconv.Itoa(len(tuple.kids))))
			a.set("maxItems", raw(strconv.Itoa(len(tuple.kids))))
		}
		if g.one(2) && (g.rest != "items" || g.consts) {
			a.set(g.rest, pick(g, raw("false"), g.schema(depth+1)))
		}
	case n == 8 && g.consts:
		a.set("items", raw(pick(g, "true", "false")))
	}
	if g.one(4) {
		a.set(pick(g, "minItems", "maxItems"), raw(pick(g, "0", "1", "2", "3")))
	}
	if g.one(8) {
		a.set("uniqueItems", raw("true"))
	}
	if g.one(12) && g.consts {
		a.set("contains", g.leaf())
	}
	return a
}

// key returns a property name as JSON, with quotes and escapes.
func (g *generator) key() string {
	plain := []string{"a", "b", "c", "name", "list", "id", "kind", "value"}
	odd := []string{
		"a.b", "a_b", "a-b", "a[b]", "a[]", "a<", "a>", "$ref", "$top", "größe", "日本語", "", "properties", "__proto__", "type",
		"required", "enum", "0", "1st", "a b", "a/b", "a~b", "x-id", "X-Request-Id", strings.Repeat("x", 64), strings.Repeat("x", 65),
		strings.Repeat("x", 100), strings.Repeat("x", 100) + "y", "a\"b", "a\\b", "\u202eevil", "toString", "items", "\x00", "description",
	}
	if g.one(6) || g.wild && g.one(3) {
		key := quote(pick(g, odd...))
		if g.wild && g.one(4) {
			return pick(g, `"\u0061"`, `"\u0061b"`, `"n\u0061me"`, `"a\/b"`)
		}
		return key
	}
	return quote(pick(g, plain...))
}
