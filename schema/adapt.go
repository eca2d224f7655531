package schema

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/internal/wire"

	"github.com/indusagi/indus/internal/jsontree"
)

// How to read this
//
// Adapt goes through the schema from the root down. For each schema it makes a builder, which holds the keywords in
// their order. Stages then change the builder until the profile accepts it. [adapter.stages] lists the stages and the
// file of each. A stage
//
//   - calls adapter.takes to find out whether the profile accepts a keyword at this place;
//   - calls adapter.change to report its change, and the constraints or values that are lost;
//   - calls builder.note to describe the constraints that no keyword can express any more;
//   - adds to builder.back the step by which Restore undoes the change in the arguments (restore.go);
//   - calls adapter.schema for each schema inside, which is the only recursion;
//   - returns false if no value satisfies the schema. The caller then drops the property or branch.
//
// If the profile or a bound has no room for a schema, adapter.fail panics. adapter.adapt turns the panic into Adapt's
// error.

// Adapted is a schema in the form that a profile accepts.
type Adapted struct {
	// Schema is the schema for the model, as compact JSON. Do not change it.
	Schema json.RawMessage
	// Note holds the constraints that the root of Schema cannot express, or "". [Adapted.Describe] appends it to the
	// tool's description.
	Note string
	// Changes lists the changes, in the order of the original schema. It is nil if there are none.
	Changes []Change

	back *inverse
}

// ErrUnsupported is returned by [Adapt], wrapped with the reason, if a schema cannot be written in the profile's form.
var ErrUnsupported = errors.New("schema: the profile cannot express it")

// Adapt rewrites a schema so that the profile's consumer accepts it. Parts that the consumer can express keep their
// meaning. Other parts are described, in short form, in the descriptions and in the report. Keys stay in their order.
// Adapting an adapted schema changes nothing. A schema that needs no change is returned as compact JSON.
//
// Adapt fails if [Measure] refuses the schema or the result under the default limits, if no arguments satisfy the
// schema, or if the profile has no form for it. The error is a [*LimitError], or an error that is [ErrMalformed] or
// [ErrUnsupported]. Do not show a tool with such a schema.
//
// Adapt follows references within the document and never fetches one. A recursive reference is kept if the consumer
// accepts it. Otherwise, it is cut at the point where it repeats.
func Adapt(raw json.RawMessage, p *Profile) (*Adapted, error) {
	if p == nil || p == Original {
		return &Adapted{Schema: raw}, nil
	}
	root, err := readTree(raw)
	if err != nil {
		return nil, err
	}
	if p.transform != nil { // a profile without rules
		a := &Adapted{Schema: p.transform(raw)}
		if string(a.Schema) != root.Compact() {
			a.Changes = []Change{{Rule: RuleType, Did: p.about, Lost: "whatever has no single type"}}
		}
		return a, nil
	}
	return adapt(root, raw, p)
}

func adapt(root *node, raw json.RawMessage, p *Profile) (*Adapted, error) {
	if root.Kind != '{' {
		return nil, fmt.Errorf("%w: it is no JSON object", ErrUnsupported)
	}
	fresh := adapter{profile: p, rules: &p.rules, parsed: p.parsed(), Document: jsontree.NewDocument(root), size: len(raw),
		unsatisfiable: map[*node]bool{}, typesOf: map[*node]typeSet{}, loops: map[*node]bool{}}
	wrap := !fresh.possibleTypes(root).has(typeObject)
	for level := 0; ; {
		a := fresh // lookups in the document are kept between attempts
		a.levels, a.alone = referenceLevels[level].inside, level > 0
		adapted, err := a.adapt(wrap)
		switch {
		case err == nil && a.cuts(len(adapted.Schema), level):
			level++
		case a.grew(err) && level+1 < len(referenceLevels):
			level++
		case errors.Is(err, errNothing) && !wrap:
			wrap = true // no object satisfies it, but another value may
		case errors.Is(err, errDefinition) && len(fresh.unsatisfiable) < maxUnsatisfiable:
			// The definition is now known to be unsatisfiable. The next attempt omits it if it is optional.
		default:
			return adapted, err
		}
	}
}

// grew reports whether an attempt with fewer nested references may avoid the error.
func (a *adapter) grew(err error) bool {
	_, beyond := errors.AsType[*LimitError](err)
	return beyond || errors.Is(err, errLimits) && a.targets != nil
}

const maxUnsatisfiable = 8 // definitions in one schema that no value satisfies

var (
	errNothing    = fmt.Errorf("%w: no arguments satisfy it", ErrUnsupported)
	errLimits     = fmt.Errorf("%w", ErrUnsupported)
	errDefinition = fmt.Errorf("%w: nothing satisfies one of its definitions", ErrUnsupported)
)

// referenceLevels lists the attempts. Each has a number of references that may be inlined inside one another, and a
// maximum size in percent of the original. If a schema exceeds that size or the bounds, the next attempt is made.
var referenceLevels = []struct{ inside, percent int }{{DefaultDepth, 150}, {3, 300}, {1, 0}}

// cuts reports whether to adapt a schema of the given size again. The next attempt inlines fewer nested references, and
// drops annotations beside a reference that must stand alone. If the consumer accepts $ref with other keywords beside
// it, there are no inlined references to cut, and cuts returns false.
func (a *adapter) cuts(size, level int) bool {
	return level+1 < len(referenceLevels) && (a.rules.RefAlone || !a.parsed.nested.takes("$ref")) && a.targets != nil &&
		grew(a.size, size, referenceLevels[level].percent)
}

// grew reports whether a size is larger than percent of the old size and more than 4 KB above it.
func grew(was, is, percent int) bool { return is > was*percent/100 && is > was+4<<10 }

// adapter adapts one schema.
type adapter struct {
	profile *Profile
	rules   *Rules
	parsed  *parsedRules
	*jsontree.Document
	size   int  // size of the original, in bytes
	levels int  // maximum number of references inlined inside one another
	alone  bool // drops annotations beside a reference that must stand alone

	// Facts about the original.
	targets       map[string]*node  // by reference
	referenced    map[*node]bool    // the targets of references
	loops         map[*node]bool    // whether a target leads to a loop
	visited       int               // number of nodes visited by the search for loops
	typesOf       map[*node]typeSet // the types that each schema accepts
	unsatisfiable map[*node]bool    // targets that no value satisfies

	// The output so far.
	inside      []*frame // the references that are being inlined
	defs        []*definition
	defined     map[*node]*definition
	definitions map[string]*definition
	made        int // number of nodes
	written     int // number of bytes
	changes     []Change

	top       *inverse // inverse of the root; nil if the root is wrapped in an object
	reversed  bool     // some schema has an inverse
	ambiguous []*node  // schemas with a union in which arguments do not always identify their branch
	free      bool     // the sketched schema is under keys that the model chooses
}

// failure is the value with which fail panics.
type failure struct{ error }

func (a *adapter) fail(err error) { panic(failure{err}) }

// adapt adapts the schema as it is or, if wrap is set, wrapped in an object.
func (a *adapter) adapt(wrap bool) (_ *Adapted, err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case failure:
			err = cause.error
		default:
			panic(cause)
		}
	}()
	top := a.Root
	if a.top = (&inverse{late: true}); wrap {
		a.top, a.reversed = nil, true
		a.change(top, RuleRoot, "wrapped in an object with the property input", "", "")
		top = newObject(
			typeField("object"),
			newMember("properties", newObject(newMember("input", withoutWords(top, definitionWords.has)))),
			newMember("required", newArray(newString("input"))),
		)
	}
	d, ok := a.build(top, true)
	if !ok {
		return nil, errNothing
	}
	note := a.describe(d)
	a.define(d)
	a.reportOther(a.Root, d.node(), 0)
	text := d.node().Append(make([]byte, 0, min(a.size, DefaultBytes)))
	if hasHalf(text) {
		text = jsontree.Parse(wire.WithoutLoneSurrogates(text)).Append(nil) // if two names became equal, the last one is kept
		a.change(a.Root, RuleJSON, "replaced halves of surrogate pairs, which are no characters", "what stood there", "")
	}
	out := &Adapted{Note: note, Schema: text}
	if a.reversed {
		for _, n := range a.ambiguous {
			a.change(n, RuleKeyword, "changed a union", "which branch some arguments follow", "")
		}
		out.back = d.back
		if a.top != nil {
			a.top.fill(d.back)
		}
		if wrap {
			out.back = &inverse{wrapped: true, inner: d.back}
		}
	}
	out.Changes = a.changes
	return out, a.checkBounds(d.node(), out.Schema)
}

// schemaResult is the result of adapting one schema.
type schemaResult struct {
	node *node    // nil if no value satisfies it
	back *inverse // nil if arguments stay as they are
	null bool     // null is accepted too, but node does not express it
	cut  bool     // a reference was cut inside it
}

// schema adapts a schema below the root. A shared schema becomes a reference.
func (a *adapter) schema(n *node) schemaResult {
	if a.isShared(n) {
		return a.moved(n)
	}
	return a.unshared(n)
}

// unshared adapts a schema in place.
func (a *adapter) unshared(n *node) schemaResult {
	if a.rules.Booleans && (n.Kind == 't' || n.Kind == 'f') {
		return schemaResult{node: n}
	}
	reported := len(a.changes)
	d, ok := a.build(n, false)
	if !ok {
		return schemaResult{null: d != nil && d.null}
	}
	a.describe(d)
	r := schemaResult{d.node(), d.back, d.null, d.cut}
	a.reportOther(n, r.node, reported)
	return r
}

// schemaOrFalse adapts a schema at a place that accepts false. It returns false if no value satisfies the schema.
func (a *adapter) schemaOrFalse(n *node) *node {
	if r := a.schema(n); r.node != nil {
		return r.node
	}
	return falseNode
}

// schemasIn adapts each member of an object of schemas.
func (a *adapter) schemasIn(n *node) *node {
	out := &node{Kind: '{'}
	for _, f := range n.Fields {
		f.Value = a.schemaOrFalse(f.Value)
		out.Fields = append(out.Fields, f)
	}
	return out
}

// build makes a builder of n and runs the stages on it. It reports false if no value satisfies the schema. The builder
// may then be nil.
func (a *adapter) build(n *node, root bool) (*builder, bool) {
	mark := len(a.inside)
	defer func() { a.inside = a.inside[:mark] }()
	d := &builder{from: n, root: root, mark: mark}
	switch n.Kind {
	case 'f':
		return nil, false
	case 't':
	case '{':
		d.fields = append(make([]field, 0, len(n.Fields)+1), n.Fields...)
	default:
		a.change(n, RuleForm, "took what is no schema for one that takes everything", "", "")
	}
	a.count(n, d.fields)
	ok := a.stages(d)
	for _, f := range a.inside[mark:] {
		f.back.fill(d.back)
	}
	return d, ok
}

// stages runs the stages in order. Each stage works on the result of the previous stages.
func (a *adapter) stages(d *builder) bool {
	return a.forms(d) && // adapt_form.go: the form of each keyword's value, and older drafts
		a.combine(d) &&
		a.typed(d) && // adapt_type.go: the types that the profile requires
		a.enums(d) &&
		a.ownWords(d) &&
		a.object(d) && // adapt_object.go, keys.go
		a.array(d) && // adapt_array.go
		a.leftovers(d) // adapt_rest.go: keywords that the profile does not accept
}

// combine runs the stages that reduce a value's schemas to one. It runs again for schemas that are merged in later.
func (a *adapter) combine(d *builder) bool {
	return a.references(d) && // adapt_ref.go: $ref is inlined, or kept with a definition
		a.all(d) && // adapt_all.go: allOf is merged
		a.conditions(d) && // adapt_rest.go: if, then, else and the dependent keywords
		a.constants(d) && // adapt_union.go: const, oneOf, null, anyOf; adapt_collapse.go for profiles without unions
		a.oneOf(d) &&
		a.nulls(d) &&
		a.unions(d)
}

// mostWritten bounds the bytes written while adapting, when it is not yet known which of them stay.
const mostWritten = 4 * DefaultBytes

// count adds fields to the size of the result, and fails if the result exceeds the bounds.
func (a *adapter) count(n *node, fields []field) {
	a.made += 1 + len(fields)
	for i := range fields {
		a.written += len(fields[i].Key)
		if keyword.ContentOf(fields[i].Name) == keyword.None { // schemas are counted when they are built
			a.written += len(fields[i].Value.Text)
		}
	}
	switch {
	case a.made > DefaultNodes:
		a.fail(&LimitError{Bound: "nodes", Found: a.made, Limit: DefaultNodes, Pointer: n.Path()})
	case a.written > mostWritten:
		a.fail(&LimitError{Bound: "bytes", Found: a.written, Limit: DefaultBytes, Pointer: n.Path()})
	}
}

// takes reports whether the profile accepts a keyword at the place of d.
func (a *adapter) takes(d *builder, w string) bool {
	if d.root {
		return a.parsed.root.takes(w)
	}
	return a.parsed.nested.takes(w)
}

const maxChanges = 1_000 // a longer report would not be read

func (a *adapter) change(n *node, rule Rule, did, lost, narrowed string) {
	if len(a.changes) >= maxChanges {
		return
	}
	c := Change{Path: n.Path(), Rule: rule, Did: did, Lost: withOwnersNames(lost), Narrowed: withOwnersNames(narrowed)}
	for i := range a.changes {
		if len(a.targets) > 0 && a.changes[i] == c { // the same definition was inlined again
			return
		}
	}
	a.changes = append(a.changes, c)
}

// reportOther reports a change of form if no change was reported after the first reported ones.
func (a *adapter) reportOther(n, now *node, reported int) {
	if len(a.changes) == reported && n.Original == nil && !now.Same(n) {
		a.change(n, RuleForm, "wrote it in another way", "", "")
	}
}
