package schema

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Adapted is a schema in the shape that a profile accepts.
type Adapted struct {
	// Schema is what a model is shown: compact JSON. To be read only.
	Schema json.RawMessage
	// Note is what the root's schema could not say, for the end of the tool's description; "" if it says all.
	Note string
	// Changes is what was done, in the order of the original. nil if nothing was.
	Changes []Change

	back *way
}

// ErrUnfit is what [Adapt] returns, with the reason, for a schema that cannot be brought into the profile's shape.
var ErrUnfit = errors.New("schema: no shape that the profile accepts")

// Adapt shapes a schema so that the profile's consumer accepts it. What the consumer can say keeps its meaning; what it
// cannot say goes, short, into descriptions and into the report. Keys stay in their order. Adapting what has been adapted
// changes nothing. A schema without a change comes back as compact JSON.
//
// It fails for what [Measure] refuses under the default limits, before and after, and for a schema that no arguments or
// nothing of the profile's shape could satisfy: a [*LimitError], or an error that is [ErrMalformed] or [ErrUnfit]. A tool
// with such a schema is not to be shown.
//
// References are followed within the document, and nothing is ever fetched. A reference that leads back into itself is kept
// where the consumer takes it, and else cut where it begins again.
func Adapt(raw json.RawMessage, p *Profile) (*Adapted, error) {
	if p == nil || p == Original {
		return &Adapted{Schema: raw}, nil
	}
	s := slabs.Get().(*slab)
	root, err := readWithin(s, raw, Limits{})
	if err != nil {
		return nil, err
	}
	if p.whole != nil {
		return wholly(raw, p), nil
	}
	adapted, err := adapt(s, root, raw, p)
	if err == nil {
		adapted.back.detach(map[*way]bool{})
	}
	s.release()
	return adapted, err
}

func adapt(s *slab, root *node, raw json.RawMessage, p *Profile) (*Adapted, error) {
	if root.kind != '{' {
		return nil, fmt.Errorf("%w: it is no JSON object", ErrUnfit)
	}
	fresh := adapter{slab: s, profile: p, rules: &p.rules, parsed: p.parsed(), root: root, size: len(raw), nothing: map[*node]bool{}}
	wrap := !fresh.mayBeObject(root, map[*node]bool{})
	for level := 0; ; {
		a := fresh // what was looked up in the document stays known
		a.levels = referenceLevels[level]
		adapted, err := a.adapt(wrap)
		switch {
		case a.grew(err) && level+1 < len(referenceLevels):
			level++
		case errors.Is(err, errNothing) && !wrap:
			wrap = true // no object satisfies it, but something else may
		case errors.Is(err, errDefinition) && len(fresh.nothing) < maxNothing:
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

const maxNothing = 8 // definitions that nothing satisfies, in one schema

var (
	errNothing    = fmt.Errorf("%w: no arguments satisfy it", ErrUnfit)
	errLimits     = fmt.Errorf("%w", ErrUnfit)
	errDefinition = fmt.Errorf("%w: nothing satisfies one of its definitions", ErrUnfit)
)

// referenceLevels is how many references may stand inside one another: where a schema that is full of them grows beyond the
// bounds, it is tried again with fewer.
var referenceLevels = []int{DefaultDepth, 3, 1}

func wholly(raw json.RawMessage, p *Profile) *Adapted {
	a := &Adapted{Schema: p.whole(raw)}
	if string(a.Schema) != string(readValid(raw).append(nil)) {
		a.Changes = []Change{{Rule: RuleType, Did: p.about, Lost: "whatever has no single type"}}
	}
	return a
}

// adapter adapts one schema.
type adapter struct {
	*slab
	profile *Profile
	rules   *Rules
	parsed  *parsedRules
	root    *node
	size    int // of the original, in bytes
	levels  int
	nothing map[*node]bool // targets that nothing satisfies

	targets     map[string]*node // by reference
	loops       map[*node]bool   // targets that lead to a loop
	inside      []*frame         // what references led to, of what is being written
	names       map[naming]*node // by $id and $anchor
	defs        []*definition    // those that are kept, and by what they are of, and by name
	defined     map[*node]*definition
	definitions map[string]*definition
	made        int             // values
	written     int             // bytes
	top         *way            // the root's way back; nil where it stands inside another
	mapped      bool            // something has a way back
	typesOf     map[*node]types // that schemas seem to be of
	free        bool            // what is sketched stands under keys that the model chooses
	untold      []*node         // schemas with a union whose branches may not be told apart
	changes     []Change
	err         error
}

// adapt adapts the schema as it is, or wrapped in an object.
func (a *adapter) adapt(wrap bool) (*Adapted, error) {
	top := a.root
	if a.top = (&way{late: true}); wrap {
		a.top, a.mapped = nil, true
		a.change(top, RuleRoot, "wrapped in an object with the property input", "", "")
		top = newObject(
			newField(wordType, "type", newString("object")),
			newField(wordProperties, "properties", newObject(newField(wordOther, "input", without(top, definitionWords)))),
			newField(wordRequired, "required", newArray(newString("input"))),
		)
	}
	d, ok := a.shaped(top, true)
	if a.err == nil && !ok {
		a.err = errNothing
	}
	if a.err != nil {
		return nil, a.err
	}
	note := a.describe(d)
	a.define(d)
	a.tellAnyhow(a.root, d.node(), 0)
	if a.err != nil {
		return nil, a.err
	}
	text := d.node().append(make([]byte, 0, min(a.size, DefaultBytes)))
	if hasHalf(text) {
		halves(text, func(i int) { copy(text[i:], `\ufffd`) })
		text = readValid(text).append(nil) // of two names that are one now, the last
		a.change(a.root, RuleJSON, "replaced halves of surrogate pairs, which are no characters", "what stood there", "")
	}
	out := &Adapted{Note: note, Changes: a.changes, Schema: text}
	if a.mapped {
		a.tellUntold(out)
		out.back = d.back
		if a.top != nil {
			a.top.fill(d.back)
		}
		if wrap {
			out.back = &way{wrapped: true, inner: d.back}
		}
	}
	if err := a.within(d.node(), out.Schema); err != nil {
		return nil, err
	}
	return out, nil
}

// tellAnyhow tells of a change where nothing has been told of one.
func (a *adapter) tellAnyhow(n, now *node, told int) {
	if len(a.changes) == told && n.like == nil && !now.same(n) {
		a.change(n, RuleForm, "wrote it in another way", "", "")
	}
}

// result is what became of a schema.
type result struct {
	node *node // nil: nothing satisfies it
	back *way  // nil: arguments stay as they are
	null bool  // it takes null too, which node does not say
	cut  bool  // a reference was cut there
}

// schema adapts a schema below the root.
func (a *adapter) schema(n *node) result {
	if a.err != nil {
		return result{node: trueNode}
	}
	if a.rules.Booleans && (n.kind == 't' || n.kind == 'f') {
		return result{node: n}
	}
	told := len(a.changes)
	d, ok := a.shaped(n, false)
	if !ok {
		return result{null: d != nil && d.null}
	}
	a.describe(d)
	r := result{d.node(), d.back, d.null, d.cut}
	a.tellAnyhow(n, r.node, told)
	return r
}

// passes are done in this order, each to what the ones before have left. One that reports false says that nothing satisfies
// the schema.
func (a *adapter) passes(d *draft) bool {
	return a.forms(d) && a.references(d) && a.all(d) && a.conditions(d) && a.constants(d) && a.oneOf(d) && a.nulls(d) &&
		a.unions(d) && a.typed(d) && a.enums(d) && a.ownWords(d) && a.object(d) && a.array(d) && a.leftovers(d)
}

func (a *adapter) shaped(n *node, root bool) (*draft, bool) {
	mark := len(a.inside)
	defer func() { a.inside = a.inside[:mark] }()
	d := a.open(n, root)
	if d == nil {
		return nil, false
	}
	d.mark = mark
	ok := a.passes(d)
	for _, f := range a.inside[mark:] {
		f.back.fill(d.back)
	}
	return d, ok || a.err != nil
}

// open is a draft of n, nil where nothing satisfies it.
func (a *adapter) open(n *node, root bool) *draft {
	d := a.draft()
	d.from, d.root = n, root
	switch n.kind {
	case 'f':
		return nil
	case 't':
	case '{':
		d.fields = a.keep(n.fields, 1)
		for i := range d.fields {
			d.has |= d.fields[i].word.set()
		}
	default:
		a.change(n, RuleForm, "took what is no schema for one that takes everything", "", "")
	}
	a.count(n, d.fields)
	return d
}

// mostWritten bounds what is written while adapting, before it is known what stays.
const mostWritten = 4 * DefaultBytes

// count notes that fields are taken into a schema, and fails where that grows beyond the bounds.
func (a *adapter) count(n *node, fields []field) {
	a.made += 1 + len(fields)
	for i := range fields {
		a.written += len(fields[i].key)
		if !schemaWords.has(fields[i].word) {
			a.written += len(fields[i].value.text)
		}
	}
	switch {
	case a.made > DefaultNodes:
		a.fail(&LimitError{Bound: "nodes", Found: a.made, Limit: DefaultNodes, Pointer: n.path()})
	case a.written > mostWritten:
		a.fail(&LimitError{Bound: "bytes", Found: a.written, Limit: DefaultBytes, Pointer: n.path()})
	}
}

func (a *adapter) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *adapter) takes(d *draft, w word) bool {
	if d.root {
		return a.parsed.root.has(w)
	}
	return a.parsed.nested.has(w)
}

// unions reports whether anyOf can be said inside.
func (a *adapter) takesUnions() bool { return a.parsed.nested.has(wordAnyOf) }

const maxChanges = 1_000 // a report that nobody reads to its end

func (a *adapter) change(n *node, rule Rule, did, lost, narrowed string) {
	if len(a.changes) >= maxChanges {
		return
	}
	c := Change{Path: n.path(), Rule: rule, Did: did, Lost: owned(lost), Narrowed: owned(narrowed)}
	for i := range a.changes {
		if len(a.targets) > 0 && a.changes[i] == c { // the same definition, inlined once more
			return
		}
	}
	a.changes = append(a.changes, c)
}

var definitionWords = setOf(wordDefs, wordDefinitions, wordSchema)

// without is n without some of its keywords, at the same place.
func without(n *node, s words) *node {
	if n.kind != '{' {
		return n
	}
	m := &node{kind: '{', like: n}
	for _, f := range n.fields {
		if !s.has(f.word) {
			m.fields = append(m.fields, f)
		}
	}
	return m
}

// at is a schema that adapting makes, reported as if it stood where n stands.
func at(n *node, fields ...field) *node {
	return &node{kind: '{', fields: fields, like: n}
}
