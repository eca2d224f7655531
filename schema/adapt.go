package schema

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/internal/wire"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/schema/rule"
)

// How to read this
//
// Adapt goes through the schema from the root down. For each schema it makes a builder, which holds the keywords in
// their order. Stages then change the builder until the profile accepts it. [adapter.stages] lists the stages and the
// file of each. A stage
//
//   - calls adapter.accepts to find out whether the profile accepts a keyword at this place;
//   - calls adapter.change to report its change, and the constraints or values that are lost;
//   - calls builder.note to describe the constraints that no keyword can express any more;
//   - adds to builder.undo the step by which Restore undoes the change in the arguments (restore.go);
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

	undo *inverse
}

// Change is one change made by [Adapt].
type Change struct {
	Path string    `json:"path"` // RFC 6901, into the original schema; "" is its root
	Rule rule.Rule `json:"rule"` // the reason
	Did  string    `json:"did"`  // one line
	// Lost names the constraint that the adapted schema no longer has. A model can violate it, and the validation
	// against the original finds the mistake. It is "" if nothing is lost.
	Lost string `json:"lost,omitempty"`
	// Narrowed names the values that the original accepts and the adapted schema does not, so that a model cannot use
	// them. It is "" if all values are still possible.
	Narrowed string `json:"narrowed,omitempty"`
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
			a.Changes = []Change{{Rule: rule.Type, Did: p.about, Lost: "whatever has no single type"}}
		}
		return a, nil
	}
	return adapt(root, raw, p)
}

func adapt(root *node, raw json.RawMessage, p *Profile) (*Adapted, error) {
	if root.Kind != '{' {
		return nil, fmt.Errorf("%w: it is no JSON object", ErrUnsupported)
	}
	base := adapter{profile: p, rules: &p.rules, Document: jsontree.NewDocument(root), size: len(raw),
		acceptedTypes: typesNamed(p.rules.Types), enumTypes: typesNamed(p.rules.Enum),
		unsatisfiable: map[*node]bool{}, typesOf: map[*node]typeSet{}, loops: map[*node]bool{}}
	wrap := !base.possibleTypes(root).has(typeObject)
	for level := 0; ; {
		a := base // lookups in the document are kept between attempts
		a.maxInlined, a.dropBesideRef = referenceLevels[level].inlined, level > 0
		adapted, err := a.adapt(wrap)
		switch {
		case err == nil && a.shouldShrink(len(adapted.Schema), level):
			level++
		case a.canShrink(err) && level+1 < len(referenceLevels):
			level++
		case errors.Is(err, errNothing) && !wrap:
			wrap = true // no object satisfies it, but another value may
		case errors.Is(err, errDefinition) && len(base.unsatisfiable) < maxUnsatisfiable:
			// The definition is now known to be unsatisfiable. The next attempt omits it if it is optional.
		default:
			return adapted, err
		}
	}
}

// canShrink reports whether an attempt with fewer nested references may avoid the error.
func (a *adapter) canShrink(err error) bool {
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
var referenceLevels = []struct{ inlined, percent int }{{DefaultDepth, 150}, {3, 300}, {1, 0}}

// shouldShrink reports whether to adapt a schema of the given size again. The next attempt inlines fewer nested
// references, and drops annotations beside a reference that must stand alone. If the consumer accepts $ref with other
// keywords beside it, there are no inlined references to cut, and shouldShrink returns false.
func (a *adapter) shouldShrink(size, level int) bool {
	return level+1 < len(referenceLevels) && (a.rules.RefAlone || !a.acceptsInside("$ref")) && a.targets != nil &&
		growsBeyond(a.size, size, referenceLevels[level].percent)
}

// growsBeyond reports whether a size is larger than percent of the old size and more than 4 KB above it.
func growsBeyond(before, after, percent int) bool {
	return after > before*percent/100 && after > before+4<<10
}

// adapter adapts one schema.
type adapter struct {
	profile *Profile
	rules   *rule.Set

	acceptedTypes, enumTypes typeSet // of schemas, and of values in enum

	*jsontree.Document
	size          int  // size of the original, in bytes
	maxInlined    int  // maximum number of references inlined inside one another
	dropBesideRef bool // drops annotations beside a reference that must stand alone

	// Facts about the original.
	targets       map[string]*node  // by reference
	referenced    map[*node]bool    // the targets of references
	loops         map[*node]bool    // whether a target leads to a loop
	visited       int               // number of nodes visited by the search for loops
	typesOf       map[*node]typeSet // the types that each schema accepts
	unsatisfiable map[*node]bool    // targets that no value satisfies

	// The output so far.
	inlined     []*frame // the references that are being inlined
	defs        []*definition
	defined     map[*node]*definition
	definitions map[string]*definition
	nodeCount   int // number of nodes
	byteCount   int // number of bytes
	changes     []Change
	reported    map[Change]bool

	rootInverse *inverse // inverse of the root; nil if the root is wrapped in an object
	reversed    bool     // some schema has an inverse
	ambiguous   []*node  // schemas with a union in which arguments do not always identify their branch
	freeKeys    bool     // the sketched schema is under keys that the model chooses
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
	a.rootInverse = &inverse{deferred: true}
	if wrap {
		a.rootInverse = nil
		a.reversed = true
		a.change(top, rule.Root, "wrapped in an object with the property input", "", "")
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
	a.reportUnexplained(a.Root, d.node(), 0)
	text := d.node().Append(make([]byte, 0, min(a.size, DefaultBytes)))
	if wire.HasLoneSurrogate(text) {
		text = jsontree.Parse(wire.WithoutLoneSurrogates(text)).Append(nil) // if two names became equal, the last one is kept
		a.change(a.Root, rule.JSON, "replaced halves of surrogate pairs, which are no characters", "what stood there", "")
	}
	out := &Adapted{Note: note, Schema: text}
	if a.reversed {
		for _, n := range a.ambiguous {
			a.change(n, rule.Keyword, "changed a union", "which branch some arguments follow", "")
		}
		out.undo = d.undo
		if a.rootInverse != nil {
			a.rootInverse.fill(d.undo)
		}
		if wrap {
			out.undo = &inverse{wrapped: true, inner: d.undo}
		}
	}
	out.Changes = a.changes
	return out, a.checkBounds(d.node(), out.Schema)
}

// schemaResult is the result of adapting one schema.
type schemaResult struct {
	node *node    // nil if no value satisfies it
	undo *inverse // nil if arguments stay as they are
	null bool     // null is accepted too, but node does not express it
	cut  bool     // a reference was cut inside it
}

// schema adapts a schema below the root. A shared schema becomes a reference.
func (a *adapter) schema(n *node) schemaResult {
	if a.isShared(n) {
		return a.moveToDefinitions(n)
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
	r := schemaResult{d.node(), d.undo, d.null, d.cut}
	a.reportUnexplained(n, r.node, reported)
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
	mark := len(a.inlined)
	defer func() { a.inlined = a.inlined[:mark] }()
	d := &builder{original: n, root: root, firstInlined: mark}
	switch n.Kind {
	case 'f':
		return nil, false
	case 't':
	case '{':
		d.fields = append(make([]field, 0, len(n.Fields)+1), n.Fields...)
	default:
		a.change(n, rule.Form, "took what is no schema for one that takes everything", "", "")
	}
	a.count(n, d.fields)
	ok := a.stages(d)
	for _, f := range a.inlined[mark:] {
		f.undo.fill(d.undo)
	}
	return d, ok
}

// stages runs the stages in order. Each stage works on the result of the previous stages.
func (a *adapter) stages(d *builder) bool {
	return a.repairForms(d) && // adapt_form.go: the form of each keyword's value, and older drafts
		a.combine(d) &&
		a.addType(d) && // adapt_type.go: the types that the profile requires
		a.filterEnum(d) &&
		a.dropForeignKeywords(d) &&
		a.adaptObject(d) && // adapt_object.go, keys.go
		a.adaptArray(d) && // adapt_array.go
		a.dropUnaccepted(d) // adapt_rest.go: keywords that the profile does not accept
}

// combine runs the stages that reduce a value's schemas to one. It runs again for schemas that are merged in later.
func (a *adapter) combine(d *builder) bool {
	return a.followReferences(d) && // adapt_ref.go: $ref is inlined, or kept with a definition
		a.mergeAllOf(d) && // adapt_all.go: allOf is merged
		a.dropConditions(d) && // adapt_rest.go: if, then, else and the dependent keywords
		a.rewriteConst(d) && // adapt_union.go: const, oneOf, null, anyOf; adapt_collapse.go for profiles without unions
		a.rewriteOneOf(d) &&
		a.removeNull(d) &&
		a.adaptUnion(d)
}

// maxWritten bounds the bytes written while adapting, when it is not yet known which of them stay.
const maxWritten = 4 * DefaultBytes

// count adds fields to the size of the result, and fails if the result exceeds the bounds.
func (a *adapter) count(n *node, fields []field) {
	a.nodeCount += 1 + len(fields)
	for i := range fields {
		a.byteCount += len(fields[i].Key)
		if keyword.ContentOf(fields[i].Name) == keyword.None { // schemas are counted when they are built
			a.byteCount += len(fields[i].Value.Text)
		}
	}
	switch {
	case a.nodeCount > DefaultNodes:
		a.fail(&LimitError{Bound: "nodes", Found: a.nodeCount, Limit: DefaultNodes, Pointer: n.Path()})
	case a.byteCount > maxWritten:
		a.fail(&LimitError{Bound: "bytes", Found: a.byteCount, Limit: DefaultBytes, Pointer: n.Path()})
	}
}

// accepts reports whether the profile accepts a keyword at the place of d.
func (a *adapter) accepts(d *builder, w string) bool {
	if d.root {
		return listsWord(&a.rules.Root, w)
	}
	return a.acceptsInside(w)
}

// acceptsInside reports whether the profile accepts a keyword in the schemas inside the root.
func (a *adapter) acceptsInside(w string) bool { return listsWord(&a.rules.Nested, w) }

// listsWord reports whether a keyword is accepted. nullable has a meaning only for consumers that list it.
func listsWord(k *rule.Keywords, w string) bool {
	return k.Takes(w) && (w != "nullable" || len(k.Only) > 0)
}

const maxChanges = 1_000 // a longer report would not be read

func (a *adapter) change(n *node, reason rule.Rule, did, lost, narrowed string) {
	if len(a.changes) >= maxChanges {
		return
	}
	c := Change{Path: n.Path(), Rule: reason, Did: did, Lost: withOriginalNames(lost),
		Narrowed: withOriginalNames(narrowed)}
	if len(a.targets) > 0 && a.reported[c] { // the same definition was inlined again
		return
	}
	if a.reported == nil {
		a.reported = map[Change]bool{}
	}
	a.reported[c] = true
	a.changes = append(a.changes, c)
}

// reportUnexplained reports a change of form if no change was reported after the first reported ones.
func (a *adapter) reportUnexplained(n, adapted *node, reported int) {
	if len(a.changes) == reported && n.Original == nil && !adapted.Same(n) {
		a.change(n, rule.Form, "wrote it in another way", "", "")
	}
}
