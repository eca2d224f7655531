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
// Adapt goes through the schema from the root down. Of each schema it makes a builder: the keywords in their order, which
// stages then change until the profile takes them. [adapter.stages] is the list, and says where each stage is. A stage
//
//   - asks adapter.takes whether the profile has a keyword there;
//   - reports with adapter.change what it did, and what the model can now get wrong or not ask for;
//   - leaves for the description, with builder.note, what no keyword can say any more;
//   - adds to builder.back how Restore undoes it in the arguments (restore.go);
//   - calls adapter.schema for each schema inside, which is all of the recursion;
//   - returns false where no value satisfies what is left. Whoever asked for that schema drops the property or branch.
//
// What a builder cannot become, because the profile or a bound has no room for it, ends it all: adapter.fail panics, and
// adapter.adapt turns that into Adapt's error.

// Adapted is a schema in the form that a profile accepts.
type Adapted struct {
	// Schema is what a model is shown: compact JSON. To be read only.
	Schema json.RawMessage
	// Note is what the root's schema could not say, for the end of the tool's description; "" if it says all.
	Note string
	// Changes is what was done, in the order of the original. nil if nothing was.
	Changes []Change

	back *inverse
}

// ErrUnsupported is what [Adapt] returns, with the reason, for a schema that cannot be brought into the profile's form.
var ErrUnsupported = errors.New("schema: the profile cannot express it")

// Adapt rewrites a schema so that the profile's consumer accepts it. What the consumer can say keeps its meaning; what it
// cannot say goes, short, into descriptions and into the report. Keys stay in their order. Adapting what has been adapted
// changes nothing. A schema without a change comes back as compact JSON.
//
// It fails for what [Measure] refuses under the default limits, before and after, and for a schema that no arguments or
// nothing of the profile's form could satisfy: a [*LimitError], or an error that is [ErrMalformed] or [ErrUnsupported]. A tool
// with such a schema is not to be shown.
//
// References are followed within the document, and nothing is ever fetched. A reference that leads back into itself is kept
// where the consumer takes it, and else cut where it begins again.
func Adapt(raw json.RawMessage, p *Profile) (*Adapted, error) {
	if p == nil || p == Original {
		return &Adapted{Schema: raw}, nil
	}
	root, err := readTree(raw)
	if err != nil {
		return nil, err
	}
	if p.transform != nil {
		return transformed(raw, p), nil
	}
	return adapt(root, raw, p)
}

// transformed is for a profile without rules.
func transformed(raw json.RawMessage, p *Profile) *Adapted {
	a := &Adapted{Schema: p.transform(raw)}
	if string(a.Schema) != string(jsontree.Parse(raw).Append(nil)) {
		a.Changes = []Change{{Rule: RuleType, Did: p.about, Lost: "whatever has no single type"}}
	}
	return a
}

func adapt(root *node, raw json.RawMessage, p *Profile) (*Adapted, error) {
	if root.Kind != '{' {
		return nil, fmt.Errorf("%w: it is no JSON object", ErrUnsupported)
	}
	fresh := adapter{profile: p, rules: &p.rules, parsed: p.parsed(), Document: jsontree.NewDocument(root), size: len(raw),
		unsatisfiable: map[*node]bool{}, typesOf: map[*node]typeSet{}, loops: map[*node]bool{}}
	wrap := !fresh.mayBeObject(root, map[*node]bool{})
	for level := 0; ; {
		a := fresh // what was looked up in the document stays known
		a.levels, a.alone = referenceLevels[level].inside, level > 0
		adapted, err := a.adapt(wrap)
		switch {
		case err == nil && a.cuts(len(adapted.Schema), level):
			level++
		case a.grew(err) && level+1 < len(referenceLevels):
			level++
		case errors.Is(err, errNothing) && !wrap:
			wrap = true // no object satisfies it, but something else may
		case errors.Is(err, errDefinition) && len(fresh.unsatisfiable) < maxUnsatisfiable:
			// it is known now, and may stand where it need not be
		default:
			return adapted, err
		}
	}
}

// grew reports whether fewer references inside one another may mend an error.
func (a *adapter) grew(err error) bool {
	_, beyond := errors.AsType[*LimitError](err)
	return beyond || errors.Is(err, errLimits) && a.targets != nil
}

const maxUnsatisfiable = 8 // definitions that nothing satisfies, in one schema

var (
	errNothing    = fmt.Errorf("%w: no arguments satisfy it", ErrUnsupported)
	errLimits     = fmt.Errorf("%w", ErrUnsupported)
	errDefinition = fmt.Errorf("%w: nothing satisfies one of its definitions", ErrUnsupported)
)

// referenceLevels are the numbers of references that may stand inside one another, and the size up to which a schema may grow,
// in percent of its original. A schema that grows beyond that, or beyond the bounds, is tried again with the next number.
var referenceLevels = []struct{ inside, percent int }{{DefaultDepth, 150}, {3, 300}, {1, 0}}

// cuts reports whether a schema of that size is to be tried again with fewer references inside one another, and without
// annotations beside a reference that has to stand alone. Where the consumer takes $ref with all that stands beside it, a
// schema that grew has no references that could be cut.
func (a *adapter) cuts(size, level int) bool {
	return level+1 < len(referenceLevels) && (a.rules.RefAlone || !a.parsed.nested.takes("$ref")) && a.targets != nil &&
		grew(a.size, size, referenceLevels[level].percent)
}

// grew reports whether a size is larger than so many percent of what it was, and by 4 KB.
func grew(was, is, percent int) bool { return is > was*percent/100 && is > was+4<<10 }

// adapter adapts one schema.
type adapter struct {
	profile *Profile
	rules   *Rules
	parsed  *parsedRules
	*jsontree.Document
	size   int  // of the original, in bytes
	levels int  // references inside one another
	alone  bool // annotations beside a reference that has to stand alone are dropped

	// What is known of the original.
	targets       map[string]*node  // by reference
	referenced    map[*node]bool    // the schemas that references lead to
	loops         map[*node]bool    // whether targets lead to a loop
	visited       int               // values, to find loops
	typesOf       map[*node]typeSet // that schemas seem to be of
	unsatisfiable map[*node]bool    // targets that nothing satisfies

	// What has been written.
	inside      []*frame // the references that are being inlined
	defs        []*definition
	defined     map[*node]*definition
	definitions map[string]*definition
	made        int // values
	written     int // bytes
	changes     []Change

	top       *inverse // the root's; nil where it stands inside another
	reversed  bool     // something has an inverse
	ambiguous []*node  // schemas with a union of which it cannot always be told which branch arguments follow
	free      bool     // what is sketched is under keys that the model chooses
}

// failure is what fail panics with.
type failure struct{ error }

func (a *adapter) fail(err error) { panic(failure{err}) }

// adapt adapts the schema as it is, or wrapped in an object.
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
		text = jsontree.Parse(wire.Whole(text)).Append(nil) // of two names that are one now, the last
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

// schemaResult is what became of a schema.
type schemaResult struct {
	node *node    // nil: nothing satisfies it
	back *inverse // nil: arguments stay as they are
	null bool     // it takes null too, which node does not say
	cut  bool     // a reference was cut there
}

// schema adapts a schema below the root. A schema that is shared becomes a reference.
func (a *adapter) schema(n *node) schemaResult {
	if a.isShared(n) {
		return a.moved(n)
	}
	return a.unshared(n)
}

// unshared adapts a schema where it stands.
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

// schemaOrFalse adapts a schema where false can be said.
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

// build makes a builder of n and takes it through the stages. It reports false where nothing satisfies the schema; then the
// builder may be nil.
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

// stages are done in this order, each to what the ones before have left.
func (a *adapter) stages(d *builder) bool {
	return a.forms(d) && // adapt_form.go: the form of each keyword's value, and older drafts
		a.combine(d) &&
		a.typed(d) && // adapt_type.go: the types that the profile wants
		a.enums(d) &&
		a.ownWords(d) &&
		a.object(d) && // adapt_object.go, keys.go
		a.array(d) && // adapt_array.go
		a.leftovers(d) // adapt_rest.go: what the profile does not take
}

// combine are the stages that lead to one schema for one value. They are done again for what comes in late.
func (a *adapter) combine(d *builder) bool {
	return a.references(d) && // adapt_ref.go: $ref is inlined, or kept with a definition
		a.all(d) && // adapt_all.go: allOf is merged
		a.conditions(d) && // adapt_rest.go: if and the like
		a.constants(d) && // adapt_union.go: const, oneOf, null, anyOf; adapt_collapse.go where the profile has no unions
		a.oneOf(d) &&
		a.nulls(d) &&
		a.unions(d)
}

// mostWritten bounds what is written while adapting, before it is known what stays.
const mostWritten = 4 * DefaultBytes

// count notes that fields are taken into a schema, and fails where that grows beyond the bounds.
func (a *adapter) count(n *node, fields []field) {
	a.made += 1 + len(fields)
	for i := range fields {
		a.written += len(fields[i].Key)
		if keyword.ContentOf(fields[i].Name) == keyword.None { // which are counted when they are built
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

// takes reports whether the profile takes a keyword where d stands.
func (a *adapter) takes(d *builder, w string) bool {
	if d.root {
		return a.parsed.root.takes(w)
	}
	return a.parsed.nested.takes(w)
}

const maxChanges = 1_000 // a report that nobody reads to its end

func (a *adapter) change(n *node, rule Rule, did, lost, narrowed string) {
	if len(a.changes) >= maxChanges {
		return
	}
	c := Change{Path: n.Path(), Rule: rule, Did: did, Lost: withOwnersNames(lost), Narrowed: withOwnersNames(narrowed)}
	for i := range a.changes {
		if len(a.targets) > 0 && a.changes[i] == c { // the same definition, inlined once more
			return
		}
	}
	a.changes = append(a.changes, c)
}

// reportOther reports a change where none has been reported since.
func (a *adapter) reportOther(n, now *node, reported int) {
	if len(a.changes) == reported && n.Like == nil && !now.Same(n) {
		a.change(n, RuleForm, "wrote it in another way", "", "")
	}
}
