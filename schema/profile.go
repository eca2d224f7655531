package schema

import "slices"

// Profile describes, as data, the tool schemas that one consumer accepts: one API of a model provider, or the
// intersection of several. [Adapt] rewrites a schema for it, [Check] finds the parts that the consumer would refuse,
// and [Profile.Rules] returns its rules. A nil Profile is [Original].
type Profile struct {
	name  string
	about string
	rules Rules

	// transform is set for Original and Seed, which have no rules. It is nil for every other profile.
	transform func([]byte) []byte
}

// Name returns the name of the profile in configuration and in messages.
func (p *Profile) Name() string {
	if p == nil {
		return Original.name
	}
	return p.name
}

// About returns the purpose of the profile in one sentence.
func (p *Profile) About() string {
	if p == nil {
		return Original.about
	}
	return p.about
}

// Rules returns the rules of the profile. Its slices and maps are shared, so do not change them.
func (p *Profile) Rules() Rules {
	if p == nil {
		return Original.rules
	}
	return p.rules
}

// Profiles returns every profile, with the general profiles first. The caller owns the slice.
func Profiles() []*Profile { return slices.Clone(profiles) }

// ProfileNamed returns the profile with the name, or nil.
func ProfileNamed(name string) *Profile {
	for _, p := range profiles {
		if p.name == name {
			return p
		}
	}
	return nil
}

var (
	// Original leaves a schema unchanged.
	Original = &Profile{
		name: "original", about: "the schema as its owner wrote it",
		transform: func(raw []byte) []byte { return raw },
	}

	// Seed applies [Normalize].
	Seed = &Profile{
		name: "seed", about: "the normaliser of the first editions of this bridge",
		transform: Normalize,
	}
)

// Rules describes, as data, the tools that a consumer accepts. All consumers require a root of type object, and the
// value of each keyword in the form of draft 2020-12.
//
// Every rule that is set has a source in Sources.
type Rules struct {
	// Root lists the keywords accepted at the root. Nested lists the keywords accepted in schemas inside it.
	Root, Nested Keywords
	// Ignores is set if the consumer drops the keywords that Root and Nested refuse. Other consumers refuse the whole
	// request.
	Ignores bool

	// RootListed is set if the consumer is known to refuse keywords that Root does not list. At the root, such a
	// keyword then breaks RuleKeyword. Other unlisted keywords break RuleUnlisted.
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
	Limits ProviderLimits

	// Tool holds the rules for a tool apart from its schema.
	Tool ToolRules

	// Sources maps each rule that is set to its source. RuleJSON may be missing.
	Sources map[Rule]Source
}

// Source is the origin of a rule.
type Source struct {
	At    string // a URL, or a thread: owner/repository#number
	Class Class
	Date  string // date of the observation, as far as it is known: 2026-03
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
	if len(k.Only) > 0 && !slices.Contains(k.Only, keyword) {
		return false
	}
	return !slices.Contains(k.Never, keyword)
}

// Grammar describes names of up to Max ASCII characters. First and Rest are classes as in a regular expression:
// "a-zA-Z_". The zero value accepts every name.
type Grammar struct {
	First, Rest string
	Max         int
}

// ProviderLimits bounds the schema of one tool. Zero means no bound.
type ProviderLimits struct {
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
	Request  int  // bytes of the schemas of all tools of one request, as compact JSON; see [CheckRequest]
}

// ToolRules holds the rules for a tool apart from its schema.
type ToolRules struct {
	Name           Grammar
	MinDescription int // in characters (code points)
	MaxDescription int // 0: no bound
	MaxTools       int // in one request; 0: no bound
	FewTools       int // number above which the provider warns that models choose badly; 0: no warning
}

// Rule names a rule, in findings, in reports and in Rules.Sources.
type Rule string

// The rules. In a finding, a rule names the requirement that is not met. In a change, it names the reason.
const (
	RuleJSON        Rule = "json"        // one JSON object, in UTF-8
	RuleSize        Rule = "size"        // within Limits, before and after
	RuleKeyword     Rule = "keyword"     // no keyword that is refused at its position
	RuleUnlisted    Rule = "unlisted"    // only keywords that are listed for the position
	RuleRoot        Rule = "root"        // the root is of type object
	RuleType        Rule = "type"        // types: named, present, single, in the right place
	RuleBoolean     Rule = "boolean"     // no true or false for a schema
	RuleForm        Rule = "form"        // the value of a keyword has its form
	RuleProperties  Rule = "properties"  // the root has properties
	RuleObjects     Rule = "objects"     // every other object has properties
	RuleItems       Rule = "items"       // an array has items, one schema
	RuleRequired    Rule = "required"    // required names declared properties, or all
	RuleClosed      Rule = "closed"      // additionalProperties: false
	RuleEnum        Rule = "enum"        // the values of enum
	RuleFormat      Rule = "format"      // the values of format
	RulePattern     Rule = "pattern"     // the grammar of pattern
	RuleBound       Rule = "bound"       // the numbers of a keyword
	RuleRef         Rule = "ref"         // the form and the target of $ref
	RuleRecursion   Rule = "recursion"   // no schema leads to itself
	RuleKey         Rule = "key"         // the names of properties
	RuleLimit       Rule = "limit"       // Rules.Limits
	RuleName        Rule = "name"        // the tool's name
	RuleDescription Rule = "description" // the tool's description
	RuleCount       Rule = "count"       // the number of tools in one request
	RuleRequest     Rule = "request"     // Rules.Limits.Request
	RuleUnchecked   Rule = "unchecked"   // arguments can be checked; a rule of this bridge, not of a provider
	RuleHidden      Rule = "hidden"      // no hidden characters; a rule of this bridge, not of a provider
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

// Change is one change made by [Adapt].
type Change struct {
	Path string `json:"path"` // RFC 6901, into the original schema; "" is its root
	Rule Rule   `json:"rule"` // the reason
	Did  string `json:"did"`  // one line
	// Lost names the constraint that the adapted schema no longer has. A model can violate it, and the validation
	// against the original finds the mistake. It is "" if nothing is lost.
	Lost string `json:"lost,omitempty"`
	// Narrowed names the values that the original accepts and the adapted schema does not, so that a model cannot use
	// them. It is "" if all values are still possible.
	Narrowed string `json:"narrowed,omitempty"`
}
