package schema

// word is a keyword that adapting knows; wordOther is every other name.
type word uint8

const (
	wordOther word = iota
	wordType
	wordProperties
	wordRequired
	wordItems
	wordPrefixItems
	wordAdditionalItems
	wordAdditionalProperties
	wordPatternProperties
	wordPropertyNames
	wordUnevaluatedProperties
	wordUnevaluatedItems
	wordMinProperties
	wordMaxProperties
	wordDependentRequired
	wordDependentSchemas
	wordDependencies
	wordEnum
	wordConst
	wordAnyOf
	wordOneOf
	wordAllOf
	wordNot
	wordIf
	wordThen
	wordElse
	wordRef
	wordDynamicRef
	wordRecursiveRef
	wordDefs
	wordDefinitions
	wordDescription
	wordTitle
	wordDefault
	wordExample
	wordExamples
	wordNullable
	wordFormat
	wordPattern
	wordMinLength
	wordMaxLength
	wordMinimum
	wordMaximum
	wordExclusiveMinimum
	wordExclusiveMaximum
	wordMultipleOf
	wordMinItems
	wordMaxItems
	wordUniqueItems
	wordContains
	wordMinContains
	wordMaxContains
	wordContentEncoding
	wordContentMediaType
	wordContentSchema
	wordPropertyOrdering
	wordSchema
	wordID
	wordAnchor
	wordNote // $comment, deprecated, readOnly and the like: what no validator reads
)

func wordOf(name []byte) word {
	switch string(name) {
	case "type":
		return wordType
	case "properties":
		return wordProperties
	case "required":
		return wordRequired
	case "items":
		return wordItems
	case "prefixItems":
		return wordPrefixItems
	case "additionalItems":
		return wordAdditionalItems
	case "additionalProperties":
		return wordAdditionalProperties
	case "patternProperties":
		return wordPatternProperties
	case "propertyNames":
		return wordPropertyNames
	case "unevaluatedProperties":
		return wordUnevaluatedProperties
	case "unevaluatedItems":
		return wordUnevaluatedItems
	case "minProperties":
		return wordMinProperties
	case "maxProperties":
		return wordMaxProperties
	case "dependentRequired":
		return wordDependentRequired
	case "dependentSchemas":
		return wordDependentSchemas
	case "dependencies":
		return wordDependencies
	case "enum":
		return wordEnum
	case "const":
		return wordConst
	case "anyOf":
		return wordAnyOf
	case "oneOf":
		return wordOneOf
	case "allOf":
		return wordAllOf
	case "not":
		return wordNot
	case "if":
		return wordIf
	case "then":
		return wordThen
	case "else":
		return wordElse
	case "$ref":
		return wordRef
	case "$dynamicRef":
		return wordDynamicRef
	case "$recursiveRef":
		return wordRecursiveRef
	case "$defs":
		return wordDefs
	case "definitions":
		return wordDefinitions
	case "description":
		return wordDescription
	case "title":
		return wordTitle
	case "default":
		return wordDefault
	case "example":
		return wordExample
	case "examples":
		return wordExamples
	case "nullable":
		return wordNullable
	case "format":
		return wordFormat
	case "pattern":
		return wordPattern
	case "minLength":
		return wordMinLength
	case "maxLength":
		return wordMaxLength
	case "minimum":
		return wordMinimum
	case "maximum":
		return wordMaximum
	case "exclusiveMinimum":
		return wordExclusiveMinimum
	case "exclusiveMaximum":
		return wordExclusiveMaximum
	case "multipleOf":
		return wordMultipleOf
	case "minItems":
		return wordMinItems
	case "maxItems":
		return wordMaxItems
	case "uniqueItems":
		return wordUniqueItems
	case "contains":
		return wordContains
	case "minContains":
		return wordMinContains
	case "maxContains":
		return wordMaxContains
	case "contentEncoding":
		return wordContentEncoding
	case "contentMediaType":
		return wordContentMediaType
	case "contentSchema":
		return wordContentSchema
	case "propertyOrdering":
		return wordPropertyOrdering
	case "$schema":
		return wordSchema
	case "$id":
		return wordID
	case "$anchor", "$dynamicAnchor", "$recursiveAnchor":
		return wordAnchor
	case "id", "$comment", "deprecated", "readOnly", "writeOnly", "$vocabulary", "discriminator", "externalDocs", "xml":
		return wordNote
	}
	return wordOther
}

// words is a set of keywords.
type words uint64

func (w word) set() words { return 1 << w }

func setOf(all ...word) words {
	var s words
	for _, w := range all {
		s |= w.set()
	}
	return s
}

func (s words) has(w word) bool  { return s&w.set() != 0 }
func (s words) only(w word) bool { return s == w.set() }

// What says something of one type only.
var (
	objectWords = setOf(wordProperties, wordRequired, wordAdditionalProperties, wordPatternProperties, wordPropertyNames,
		wordUnevaluatedProperties, wordMinProperties, wordMaxProperties, wordDependentRequired, wordDependentSchemas,
		wordDependencies, wordPropertyOrdering)
	arrayWords = setOf(wordItems, wordPrefixItems, wordAdditionalItems, wordUnevaluatedItems, wordMinItems, wordMaxItems,
		wordUniqueItems, wordContains, wordMinContains, wordMaxContains)
	stringWords = setOf(wordPattern, wordMinLength, wordMaxLength, wordContentEncoding, wordContentMediaType, wordContentSchema)
	numberWords = setOf(wordMinimum, wordMaximum, wordExclusiveMinimum, wordExclusiveMaximum, wordMultipleOf)

	// annotations say nothing that a validator asks for.
	annotations = setOf(wordTitle, wordDescription, wordDefault, wordExample, wordExamples, wordSchema, wordID, wordAnchor,
		wordNote, wordDefs, wordDefinitions, wordOther, wordContentEncoding, wordContentMediaType, wordContentSchema,
		wordPropertyOrdering)
)

// shape is rules as adapting reads them.
type shape struct {
	root, nested words // what the positions take
	types        types
	enum         types
	key, rootKey grammar
}

// shaped is the rules of the profile, read once.
func (p *Profile) shaped() *shape {
	p.ready.Do(func() {
		p.shape = shape{
			root: taken(p.rules.Root), nested: taken(p.rules.Nested),
			types: typesNamed(p.rules.Types), enum: typesNamed(p.rules.Enum),
			key: p.rules.Key.read(), rootKey: p.rules.RootKey.read(),
		}
		if p.shape.rootKey.max == 0 {
			p.shape.rootKey = p.shape.key
		}
	})
	return &p.shape
}

func taken(k Keywords) words {
	var s words
	for _, name := range everyKeyword {
		if k.Takes(name) {
			s |= wordOf([]byte(name)).set()
		}
	}
	if len(k.Only) == 0 {
		s |= wordOther.set() | wordNote.set() | wordAnchor.set()
		s &^= wordNullable.set() // which means something to those alone that name it
	}
	return s
}

var everyKeyword = []string{
	"type", "properties", "required", "items", "prefixItems", "additionalItems", "additionalProperties", "patternProperties",
	"propertyNames", "unevaluatedProperties", "unevaluatedItems", "minProperties", "maxProperties", "dependentRequired",
	"dependentSchemas", "dependencies", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref",
	"$dynamicRef", "$recursiveRef", "$defs", "definitions", "description", "title", "default", "example", "examples",
	"nullable", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"multipleOf", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "contentEncoding",
	"contentMediaType", "contentSchema", "propertyOrdering", "$schema", "$id",
}

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
