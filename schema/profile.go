package schema

import (
	"slices"
	"sync"
)

// Profile is what one consumer of tool schemas accepts: a model provider's API, or what several of them have in common.
// It is data: [Adapt] rewrites a schema for it, [Check] finds what would be refused, and [Profile.Rules] shows all of it. A nil
// Profile is [Original].
type Profile struct {
	name  string
	about string
	rules Rules

	// transform is for Original and Seed, which have no rules; nil for every other profile.
	transform func([]byte) []byte

	ready  sync.Once
	byWord parsedRules // the rules as Adapt reads them
}

// Name is how the profile is called in configuration and in messages.
func (p *Profile) Name() string {
	if p == nil {
		return Original.name
	}
	return p.name
}

// About is one sentence: what the profile is for.
func (p *Profile) About() string {
	if p == nil {
		return Original.about
	}
	return p.about
}

// Rules is what the profile accepts. Its slices and maps are shared: they are to be read only.
func (p *Profile) Rules() Rules {
	if p == nil {
		return Original.rules
	}
	return p.rules
}

// Profiles returns every profile, those for everybody first. The slice is the caller's own.
func Profiles() []*Profile { return slices.Clone(profiles) }

// ProfileNamed returns the profile of that name, or nil.
func ProfileNamed(name string) *Profile {
	for _, p := range profiles {
		if p.name == name {
			return p
		}
	}
	return nil
}

var (
	// Original shows a schema as its owner wrote it.
	Original = &Profile{
		name: "original", about: "the schema as its owner wrote it",
		transform: func(raw []byte) []byte { return raw },
	}

	// Seed shows what [Normalize] makes of a schema.
	Seed = &Profile{
		name: "seed", about: "the normaliser of the first editions of this bridge",
		transform: Normalize,
	}
)

// Rules are what a consumer accepts of a tool, as data. All of them want a root of type object, and the value of each keyword
// in the form that draft 2020-12 gives it.
//
// Every rule that is set has a source: Sources has its name.
type Rules struct {
	// Root and Nested are the keywords of the schema itself and of those inside it.
	Root, Nested Keywords
	// Ignores says that the consumer drops what Root and Nested refuse, where others refuse the whole request.
	Ignores bool

	// RootListed: at the root the consumer refuses what Root does not list, and only that; else what a position does not list
	// is a matter of RuleUnlisted.
	RootListed bool

	// Types are the names that type may give. Empty: the seven of JSON Schema.
	Types []string
	// TypeAlways: a schema has a type, or anyOf whose branches have one.
	TypeAlways bool
	// TypeSingle: type is one name, no list.
	TypeSingle bool
	// TypeInBranches: beside anyOf no type may stand, nor anything else but title, description, default, $id and $defs.
	// UnionAlone: nothing may, not even a description.
	TypeInBranches, UnionAlone bool
	// TypedKeywords: what speaks of one type is beside no other type (properties beside object, items beside array,
	// minimum beside number and integer, format beside string if it is not one of OpenAPI's for numbers), and an enum has
	// values, all of the type beside it.
	TypedKeywords bool
	// Booleans: true and false may stand where a schema is expected.
	Booleans bool

	// ObjectProperties: a schema of type object has properties. RootProperties: the root has.
	ObjectProperties, RootProperties bool
	// ArrayItems: a schema of type array has items, which are one schema.
	ArrayItems bool
	// RequiredDeclared: required names properties that are beside it, each once.
	RequiredDeclared bool
	// RequiredBeside: properties is beside required, even if it does not declare the names.
	RequiredBeside bool
	// RequiredFilled: required is not empty.
	RequiredFilled bool
	// RequiredAll: required names every property.
	RequiredAll bool
	// Closed: every object says additionalProperties: false, and no schema says otherwise.
	Closed bool

	// Enum are the types of values that enum may have. Empty: every type.
	Enum []string
	// EnumFilled: an enum has values, and none is the empty string.
	EnumFilled bool
	// Formats are the values of format. Empty: every one.
	Formats []string
	// PlainPattern: no look-around and no back-reference in pattern. RustPattern: neither \0 nor an unescaped [ in a class.
	// AnchoredPattern: it begins with ^ and ends with $.
	PlainPattern, RustPattern, AnchoredPattern bool
	// Bounds are keywords whose number may only be one of these: minItems 0 and 1, say.
	Bounds map[string][]int

	// RefAlone: nothing is beside $ref but $defs. RefDefs: $ref is "#/$defs/" and a name, or "#". NoRecursion: no schema
	// leads to itself. A profile whose Nested refuse $ref needs none of them; where they take it, it leads into the schema.
	RefAlone, RefDefs, NoRecursion bool

	// Key is the grammar of the properties' names, RootKey of those at the root where that differs. NotKeys are names that
	// no property may have.
	Key, RootKey Grammar
	NotKeys      []string

	// Limits bound one tool's schema. Zero: no bound.
	Limits ProviderLimits

	// Tool is what stands around the schema.
	Tool ToolRules

	// Sources has, for each rule that is set, where it is from. RuleJSON need not be there.
	Sources map[Rule]Source
}

// Source is where a rule is from.
type Source struct {
	At    string // a URL, or a thread: owner/repository#number
	Class Class
	Date  string // of what was seen, as far as it is known: 2026-03
}

// Class is how sure it is that a consumer refuses what breaks a rule.
type Class string

const (
	Documented   Class = "documented"   // its documentation says so
	Seen         Class = "seen"         // it was seen to
	Conservative Class = "conservative" // nobody said so: something is not listed, or the source says something near to it
)

// Keywords are those that a position takes. The zero value takes every keyword.
type Keywords struct {
	Only  []string // if it is not empty, no others
	Never []string // never these
}

// Takes reports whether keyword may be there.
func (k Keywords) Takes(keyword string) bool {
	if len(k.Only) > 0 && !slices.Contains(k.Only, keyword) {
		return false
	}
	return !slices.Contains(k.Never, keyword)
}

// Grammar is names of up to Max characters of ASCII, of which First and Rest are classes as in a regular expression:
// "a-zA-Z_". The zero value takes every name.
type Grammar struct {
	First, Rest string
	Max         int
}

// ProviderLimits bound the schema of one tool. Zero: no bound.
type ProviderLimits struct {
	Depth      int // objects and arrays inside one another; the root is the first, and so is what is in $defs
	Properties int // properties of all objects
	EnumValues int // values of all enums
	EnumText   int // characters of one enum's strings, where it has more than EnumMany values
	EnumMany   int
	Text       int // characters of all names of properties and definitions, enum and const values
	Optional   int // properties that are not required
	Unions     int // schemas with anyOf, or with a list of types
	Branches   int // of one anyOf or oneOf
	Bytes      int // of the schema as compact JSON
	Repeats    int // the largest minLength, maxLength and minItems
	Items      int // the largest maxItems

	Together bool // Optional and Unions are those of all tools of one request
	Request  int  // bytes of the schemas of all tools of one request, as compact JSON; see [CheckRequest]
}

// ToolRules are what a consumer accepts around the schema of a tool.
type ToolRules struct {
	Name           Grammar
	MinDescription int // in characters (code points)
	MaxDescription int // 0: no bound
	MaxTools       int // in one request; 0: no bound
	FewTools       int // above it models choose badly, the provider says; 0: it says nothing
}

// Rule names a rule, in findings, in reports and in Rules.Sources.
type Rule string

// The rules. Each says, in a finding, what the consumer would not accept, and in a change, why a schema was changed.
const (
	RuleJSON        Rule = "json"        // one JSON object, in UTF-8
	RuleSize        Rule = "size"        // within Limits, before and after
	RuleKeyword     Rule = "keyword"     // no keyword that is refused there
	RuleUnlisted    Rule = "unlisted"    // only keywords that are listed for the position
	RuleRoot        Rule = "root"        // the root is of type object
	RuleType        Rule = "type"        // types: named, present, single, where they belong
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
	RuleRef         Rule = "ref"         // the form of $ref, and where it leads
	RuleRecursion   Rule = "recursion"   // no schema leads to itself
	RuleKey         Rule = "key"         // the names of properties
	RuleLimit       Rule = "limit"       // Rules.Limits
	RuleName        Rule = "name"        // the tool's name
	RuleDescription Rule = "description" // the tool's description
	RuleCount       Rule = "count"       // how many tools one request has
	RuleRequest     Rule = "request"     // Rules.Limits.Request
	RuleUnchecked   Rule = "unchecked"   // arguments can be checked; ours, and no provider's
	RuleHidden      Rule = "hidden"      // no text has what no reader sees; ours, and no provider's
)

// Finding is one thing that a consumer does not accept.
type Finding struct {
	Path    string `json:"path"` // RFC 6901, into the schema; "" is its root, or the tool itself
	Rule    Rule   `json:"rule"`
	Message string `json:"message"` // one line, what is wrong and what is accepted
	Source  string `json:"source"`  // of the rule: a URL, or a thread
	Class   Class  `json:"class"`   // of the rule
	Date    string `json:"date,omitempty"`
	// Ignored says that the consumer drops the offending part in silence; without it, it refuses the whole request.
	Ignored bool `json:"ignored,omitempty"`
}

// Change is one thing that [Adapt] did.
type Change struct {
	Path string `json:"path"` // RFC 6901, into the original schema; "" is its root
	Rule Rule   `json:"rule"` // why
	Did  string `json:"did"`  // one line
	// Lost is what the adapted schema no longer says, so that it takes something that the original refuses: the model can
	// make a mistake there, which the validation against the original finds. "" where nothing is lost.
	Lost string `json:"lost,omitempty"`
	// Narrowed is what the original takes and the adapted schema does not: the model cannot ask for it. "" where all that was
	// possible still is.
	Narrowed string `json:"narrowed,omitempty"`
}
