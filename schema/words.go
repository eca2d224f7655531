package schema

import "github.com/indusagi/indus/internal/keyword"

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

// wordNames are the keywords by their words. Those of wordAnchor and wordNote have several names.
var wordNames = [...]string{
	wordType: "type", wordProperties: "properties", wordRequired: "required", wordItems: "items", wordPrefixItems: "prefixItems",
	wordAdditionalItems: "additionalItems", wordAdditionalProperties: "additionalProperties",
	wordPatternProperties: "patternProperties", wordPropertyNames: "propertyNames",
	wordUnevaluatedProperties: "unevaluatedProperties", wordUnevaluatedItems: "unevaluatedItems",
	wordMinProperties: "minProperties", wordMaxProperties: "maxProperties", wordDependentRequired: "dependentRequired",
	wordDependentSchemas: "dependentSchemas", wordDependencies: "dependencies", wordEnum: "enum", wordConst: "const",
	wordAnyOf: "anyOf", wordOneOf: "oneOf", wordAllOf: "allOf", wordNot: "not", wordIf: "if", wordThen: "then", wordElse: "else",
	wordRef: "$ref", wordDynamicRef: "$dynamicRef", wordRecursiveRef: "$recursiveRef", wordDefs: "$defs",
	wordDefinitions: "definitions", wordDescription: "description", wordTitle: "title", wordDefault: "default",
	wordExample: "example", wordExamples: "examples", wordNullable: "nullable", wordFormat: "format", wordPattern: "pattern",
	wordMinLength: "minLength", wordMaxLength: "maxLength", wordMinimum: "minimum", wordMaximum: "maximum",
	wordExclusiveMinimum: "exclusiveMinimum", wordExclusiveMaximum: "exclusiveMaximum", wordMultipleOf: "multipleOf",
	wordMinItems: "minItems", wordMaxItems: "maxItems", wordUniqueItems: "uniqueItems", wordContains: "contains",
	wordMinContains: "minContains", wordMaxContains: "maxContains", wordContentEncoding: "contentEncoding",
	wordContentMediaType: "contentMediaType", wordContentSchema: "contentSchema", wordPropertyOrdering: "propertyOrdering",
	wordSchema: "$schema", wordID: "$id",
}

var wordsByName = func() map[string]word {
	all := map[string]word{"$anchor": wordAnchor, "$dynamicAnchor": wordAnchor, "$recursiveAnchor": wordAnchor}
	for _, name := range []string{"id", "$comment", "deprecated", "readOnly", "writeOnly", "$vocabulary", "discriminator", "externalDocs", "xml"} {
		all[name] = wordNote
	}
	for w, name := range wordNames[wordType:] {
		all[name] = wordType + word(w)
	}
	return all
}()

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

func (s words) has(w word) bool { return s&w.set() != 0 }

var (
	// What says something of one type only.
	objectWords = setOf(wordProperties, wordRequired, wordAdditionalProperties, wordPatternProperties, wordPropertyNames,
		wordUnevaluatedProperties, wordMinProperties, wordMaxProperties, wordDependentRequired, wordDependentSchemas,
		wordDependencies, wordPropertyOrdering)
	arrayWords = setOf(wordItems, wordPrefixItems, wordAdditionalItems, wordUnevaluatedItems, wordMinItems, wordMaxItems,
		wordUniqueItems, wordContains, wordMinContains, wordMaxContains)
	stringWords = setOf(wordPattern, wordMinLength, wordMaxLength, wordContentEncoding, wordContentMediaType, wordContentSchema)
	numberWords = setOf(wordMinimum, wordMaximum, wordExclusiveMinimum, wordExclusiveMaximum, wordMultipleOf)

	typeWords = []struct {
		words words
		types typeSet
	}{{objectWords, typeObject}, {arrayWords, typeArray}, {stringWords, typeString}, {numberWords, typeNumber | typeInteger}}

	// annotations say nothing that a validator asks for.
	annotations = setOf(wordTitle, wordDescription, wordDefault, wordExample, wordExamples, wordSchema, wordID, wordAnchor,
		wordNote, wordDefs, wordDefinitions, wordOther, wordContentEncoding, wordContentMediaType, wordContentSchema,
		wordPropertyOrdering)

	referenceWords = setOf(wordRef, wordDynamicRef, wordRecursiveRef)

	definitionWords = setOf(wordDefs, wordDefinitions, wordSchema)

	// schemaWords hold schemas.
	schemaWords = func() (s words) {
		for w, name := range wordNames {
			if keyword.ContentOf(name) != keyword.None {
				s |= word(w).set()
			}
		}
		return s
	}()
)

// parsedRules are rules as adapting reads them.
type parsedRules struct {
	root, nested words // what the positions take
	types        typeSet
	enum         typeSet
	key, rootKey nameGrammar
}

// parsed is the rules of the profile, read once.
func (p *Profile) parsed() *parsedRules {
	p.ready.Do(func() {
		p.byWord = parsedRules{
			root: p.rules.Root.words(), nested: p.rules.Nested.words(),
			types: typesNamed(p.rules.Types), enum: typesNamed(p.rules.Enum),
			key: p.rules.Key.read(), rootKey: p.rules.RootKey.read(),
		}
		if p.byWord.rootKey.max == 0 {
			p.byWord.rootKey = p.byWord.key
		}
	})
	return &p.byWord
}

func (k Keywords) words() words {
	var s words
	for w, name := range wordNames {
		if name != "" && k.Takes(name) {
			s |= word(w).set()
		}
	}
	if len(k.Only) == 0 {
		s |= setOf(wordOther, wordNote, wordAnchor)
		s &^= wordNullable.set() // which means something to those alone that name it
	}
	return s
}
