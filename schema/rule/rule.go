// Package rule describes, as data, the tools that a model provider accepts. A [Set] holds the rules of one provider, a
// [Rule] names one of them, and a [Finding] is a fault of a tool under one of them. The package schema has the sets of
// all providers (Profile.Rules), and adapts and checks schemas by them.
//
// Any number of goroutines may call any function or method at once. No function returns an error.
package rule

import "slices"

// Set describes, as data, the tools that a consumer accepts. All consumers require a root of type object, and the
// value of each keyword in the form of draft 2020-12.
//
// Every rule that is set has a source in Sources.
type Set struct {
	// Root lists the keywords accepted at the root. Nested lists the keywords accepted in schemas inside it.
	Root, Nested Keywords
	// Ignores is set if the consumer drops the keywords that Root and Nested refuse. Other consumers refuse the whole
	// request.
	Ignores bool

	// RootListed is set if the consumer is known to refuse keywords that Root does not list. At the root, such a
	// keyword then breaks Keyword. Other unlisted keywords break Unlisted.
	RootListed bool

	// Types lists the names accepted in type. If it is empty, all seven types of JSON Schema are accepted.
	Types []string
	// TypeAlways requires a type in each schema, or anyOf with a type in each branch.
	TypeAlways bool
	// TypeSingle requires that type is one name and not a list.
	TypeSingle bool
	// TypeInBranches accepts only title, description, default, $id and $defs beside anyOf, and no type. UnionAlone
	// accepts no keyword beside anyOf, not even a description.
	TypeInBranches, UnionAlone bool
	// TypedKeywords refuses a keyword of one type beside another type. For example, properties belongs to object, items
	// to array, and minimum to number and integer. format belongs to string, except for OpenAPI's formats of numbers.
	// An enum must not be empty, and all its values have the type beside it.
	TypedKeywords bool
	// Booleans accepts true and false in the place of a schema.
	Booleans bool

	// ObjectProperties requires properties in each schema of type object. RootProperties requires them at the root.
	ObjectProperties, RootProperties bool
	// ArrayItems requires items, as one schema, in each schema of type array.
	ArrayItems bool
	// RequiredDeclared requires that required contains only names from the properties beside it, each once.
	RequiredDeclared bool
	// RequiredBeside requires properties beside required, even if it does not declare the names.
	RequiredBeside bool
	// RequiredFilled refuses an empty required.
	RequiredFilled bool
	// RequiredAll requires that required contains every property.
	RequiredAll bool
	// Closed requires additionalProperties: false in every object, and refuses any other value.
	Closed bool

	// Enum lists the types of values accepted in enum. If it is empty, every type is accepted.
	Enum []string
	// EnumFilled refuses an empty enum and the empty string in an enum.
	EnumFilled bool
	// Formats lists the accepted values of format. If it is empty, every value is accepted.
	Formats []string
	// PlainPattern refuses look-around and back-references in pattern. RustPattern refuses \0 and an unescaped [ in a
	// class. AnchoredPattern requires that a pattern begins with ^ and ends with $.
	PlainPattern, RustPattern, AnchoredPattern bool
	// Bounds maps keywords to the only numbers that they may have, such as 0 and 1 for minItems.
	Bounds map[string][]int

	// RefAlone refuses keywords other than $defs beside $ref. RefDefs requires that $ref is "#", or "#/$defs/" and a
	// name. NoRecursion refuses schemas that lead to themselves. If the field Nested refuses $ref, a profile needs none
	// of these rules. If $ref is accepted, it must lead to a schema in the document.
	RefAlone, RefDefs, NoRecursion bool

	// Key is the grammar of property names. RootKey is the grammar at the root, if it differs. NotKeys lists names that
	// no property may have.
	Key, RootKey Grammar
	NotKeys      []string

	// Limits bounds the schema of one tool. Zero means no bound.
	Limits Limits

	// Tool holds the rules for a tool apart from its schema.
	Tool Tool

	// Sources maps each rule that is set to its source. JSON may be missing.
	Sources map[Rule]Source
}

// Source is the origin of a rule.
type Source struct {
	At    string // a URL, or a thread: owner/repository#number
	Class Class
	Date  string // date of the observation, as far as it is known: 2026-03
}

// Finding returns a finding about the value at path.
func (s Source) Finding(path string, broken Rule, message string) Finding {
	return Finding{Path: path, Rule: broken, Message: message, Source: s.At, Class: s.Class, Date: s.Date}
}

// Class is the certainty that a consumer refuses a schema that breaks a rule.
type Class string

const (
	Documented   Class = "documented"   // the consumer's documentation states the rule
	Seen         Class = "seen"         // the consumer was seen to refuse a request
	Conservative Class = "conservative" // an inference: a form is not listed, or the source states a similar rule
)

// Keywords describes the keywords accepted at a position. The zero value accepts every keyword.
type Keywords struct {
	Only  []string // if it is not empty, no other keywords are accepted
	Never []string // keywords that are refused
}

// Takes reports whether keyword is accepted.
func (k Keywords) Takes(keyword string) bool {
	return (len(k.Only) == 0 || slices.Contains(k.Only, keyword)) && !slices.Contains(k.Never, keyword)
}

// Limits bounds the schema of one tool. Zero means no bound.
type Limits struct {
	Depth      int // nested objects and arrays; the root is the first, and so is a schema in $defs
	Properties int // properties of all objects
	EnumValues int // values of all enums
	EnumText   int // characters of the strings in one enum with more than EnumMany values
	EnumMany   int
	Text       int // characters of all names of properties and definitions, and of enum and const values
	Optional   int // properties that are not required
	Unions     int // schemas with anyOf, or with a list of types
	Branches   int // branches of one anyOf or oneOf
	Bytes      int // length of the schema as compact JSON
	Repeats    int // the largest minLength, maxLength and minItems
	Items      int // the largest maxItems

	Together bool // Optional and Unions count over all tools of one request
	Request  int  // bytes of the schemas of all tools of one request, as compact JSON
}

// Tool holds the rules for a tool apart from its schema.
type Tool struct {
	Name           Grammar
	MinDescription int // in characters (code points)
	MaxDescription int // 0: no bound
	MaxTools       int // in one request; 0: no bound
	FewTools       int // number above which the provider warns that models choose badly; 0: no warning
}

// Rule names a rule, in findings, in reports and in Set.Sources.
type Rule string

// The rules. In a finding, a rule names the requirement that is not met. In a change, it names the reason.
const (
	JSON        Rule = "json"        // one JSON object, in UTF-8
	Size        Rule = "size"        // within the bounds of this bridge, before and after
	Keyword     Rule = "keyword"     // no keyword that is refused at its position
	Unlisted    Rule = "unlisted"    // only keywords that are listed for the position
	Root        Rule = "root"        // the root is of type object
	Type        Rule = "type"        // types: named, present, single, in the right place
	Boolean     Rule = "boolean"     // no true or false for a schema
	Form        Rule = "form"        // the value of a keyword has its form
	Properties  Rule = "properties"  // the root has properties
	Objects     Rule = "objects"     // every other object has properties
	Items       Rule = "items"       // an array has items, one schema
	Required    Rule = "required"    // required names declared properties, or all
	Closed      Rule = "closed"      // additionalProperties: false
	Enum        Rule = "enum"        // the values of enum
	Format      Rule = "format"      // the values of format
	Pattern     Rule = "pattern"     // the grammar of pattern
	Bound       Rule = "bound"       // the numbers of a keyword
	Ref         Rule = "ref"         // the form and the target of $ref
	Recursion   Rule = "recursion"   // no schema leads to itself
	Key         Rule = "key"         // the names of properties
	Limit       Rule = "limit"       // Set.Limits
	Name        Rule = "name"        // the tool's name
	Description Rule = "description" // the tool's description
	Count       Rule = "count"       // the number of tools in one request
	Request     Rule = "request"     // Set.Limits.Request
	Unchecked   Rule = "unchecked"   // arguments can be checked; a rule of this bridge, not of a provider
	Hidden      Rule = "hidden"      // no hidden characters; a rule of this bridge, not of a provider
)

// Finding is one fault for which a consumer refuses a schema or a tool.
type Finding struct {
	Path    string `json:"path"` // RFC 6901, into the schema; "" is its root, or the tool itself
	Rule    Rule   `json:"rule"`
	Message string `json:"message"` // one line: the fault, and the accepted forms
	Source  string `json:"source"`  // source of the rule: a URL, or a thread
	Class   Class  `json:"class"`   // class of the rule's source
	Date    string `json:"date,omitempty"`
	// Ignored is set if the consumer silently drops the faulty part. Otherwise, it refuses the whole request.
	Ignored bool `json:"ignored,omitempty"`
}
