package schema

import "slices"

// words is a set of keywords.
type words map[string]bool

func setOf(all ...string) words {
	s := make(words, len(all))
	for _, w := range all {
		s[w] = true
	}
	return s
}

func (s words) has(w string) bool { return s[w] }

// typedWords maps each keyword that applies only to some types to these types.
var typedWords = map[string]typeSet{
	"properties": typeObject, "required": typeObject, "additionalProperties": typeObject, "patternProperties": typeObject,
	"propertyNames": typeObject, "unevaluatedProperties": typeObject, "minProperties": typeObject,
	"maxProperties":     typeObject,
	"dependentRequired": typeObject, "dependentSchemas": typeObject, "dependencies": typeObject,
	"propertyOrdering": typeObject,

	"items": typeArray, "prefixItems": typeArray, "additionalItems": typeArray, "unevaluatedItems": typeArray,
	"minItems": typeArray, "maxItems": typeArray, "uniqueItems": typeArray, "contains": typeArray,
	"minContains": typeArray,
	"maxContains": typeArray,

	"pattern": typeString, "minLength": typeString, "maxLength": typeString, "contentEncoding": typeString,
	"contentMediaType": typeString, "contentSchema": typeString,

	"minimum": typeNumber | typeInteger, "maximum": typeNumber | typeInteger, "exclusiveMinimum": typeNumber | typeInteger,
	"exclusiveMaximum": typeNumber | typeInteger, "multipleOf": typeNumber | typeInteger,
}

var (
	// untypedWords are the keywords that restrict values of any type.
	untypedWords = setOf("type", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref",
		"$dynamicRef",
		"$recursiveRef", "nullable", "format")

	// typedAnnotations are the keywords of one type that restrict nothing.
	typedAnnotations = setOf("contentEncoding", "contentMediaType", "contentSchema", "propertyOrdering")

	referenceWords = setOf("$ref", "$dynamicRef", "$recursiveRef")

	anchorWords = setOf("$anchor", "$dynamicAnchor", "$recursiveAnchor")

	definitionWords = setOf("$defs", "definitions", "$schema")
)

// isAnnotation reports whether a keyword, or an unknown name, restricts no values.
func isAnnotation(w string) bool {
	return !untypedWords[w] && (typedWords[w] == 0 || typedAnnotations[w])
}

// parsedRules holds rules in the form that Adapt uses.
type parsedRules struct {
	root, nested *acceptedWords // the keywords accepted at each position
	types        typeSet
	enum         typeSet
	key, rootKey nameGrammar
}

// parsed returns the rules of the profile. It parses them once.
func (p *Profile) parsed() *parsedRules {
	p.ready.Do(func() {
		p.parsedRules = parsedRules{
			root: p.rules.Root.read(), nested: p.rules.Nested.read(),
			types: typesNamed(p.rules.Types), enum: typesNamed(p.rules.Enum),
			key: p.rules.Key.read(), rootKey: p.rules.RootKey.read(),
		}
		if p.parsedRules.rootKey.max == 0 {
			p.parsedRules.rootKey = p.parsedRules.key
		}
	})
	return &p.parsedRules
}

// acceptedWords is a Keywords in the form that Adapt uses.
type acceptedWords struct{ only, never words }

func (k Keywords) read() *acceptedWords {
	return &acceptedWords{setOf(k.Only...), setOf(slices.Concat(k.Never, k.unlisted())...)}
}

// unlisted returns the keywords that are accepted only if a list names them.
func (k Keywords) unlisted() []string {
	if len(k.Only) > 0 {
		return nil
	}
	return []string{"nullable"} // it has a meaning only for consumers that list it
}

func (t *acceptedWords) accepts(w string) bool { return (len(t.only) == 0 || t.only[w]) && !t.never[w] }
