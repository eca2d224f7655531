package schema

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

	definitionWords = setOf("$defs", "definitions", "$schema")
)

// isAnnotation reports whether a keyword, or an unknown name, restricts no values.
func isAnnotation(w string) bool {
	return !untypedWords[w] && (typedWords[w] == 0 || typedAnnotations[w])
}
