package validate

import (
	"errors"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/jsontree"
)

// The bounds of one validation. If references lead to a schema, each value is checked against it once, so that many
// references to one schema cost nothing. One unit of work is about 100 ns.
const (
	maxWork       = 5_000_000
	maxPairs      = 300_000
	maxChain      = 3_000 // nested schemas
	maxFaults     = 1_000 // faults of one schema and the schemas below it
	stepsPerUnit  = 20    // steps of a regular expression per unit of work
	unitsPerFault = 4     // work per fault passed to the schema above; a fault takes 88 bytes
)

var (
	errWork  = errors.New("it would take too long")
	errChain = errors.New("they and the schema are too deep")
	errClass = errors.New("whether a letter, digit or space beyond ASCII matches a pattern is for its reader to say")
	errCycle = errors.New("the schema leads back to itself without end")
)

// fault is one violation of a schema.
type fault struct {
	rule    *rule
	keyword string // the violated keyword; "false" is the schema that accepts no value
	at      *node
	name    string  // of a property that is missing from the object at, or is not allowed in it
	indexes [2]int  // indexes of two equal items, or of two branches that both fit
	others  []fault // faults of other branches at the same value; their constants would fit too
}

// isChoice reports whether the value is none of the allowed values, or has none of the allowed types.
func (f fault) isChoice() bool {
	switch f.keyword {
	case "type", "false", "anyOf":
		return true
	case "oneOf":
		return f.indexes == [2]int{}
	}
	return f.isConstant()
}

func (f fault) isConstant() bool { return f.keyword == "const" || f.keyword == "enum" }

// result is the result of checking a value against a schema.
type result struct {
	faults []fault
	// evaluated holds the properties and items that other schemas have evaluated, for unevaluatedProperties and
	// unevaluatedItems.
	evaluated map[*node]bool
}

func (r *result) fail(f fault) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, f)
	}
}

// addFaults adds faults of another schema, or of another value.
func (c *checker) addFaults(r *result, faults []fault) {
	faults = faults[:min(len(faults), maxFaults-len(r.faults))]
	c.work += unitsPerFault * len(faults)
	r.faults = append(r.faults, faults...)
}

// merge adds the result of another schema that the same value must also fit.
func (c *checker) merge(r *result, o result) {
	c.addFaults(r, o.faults)
	if o.faults != nil {
		return
	}
	for v := range o.evaluated {
		r.mark(v)
	}
}

// mark records that a property or an item is evaluated.
func (r *result) mark(v *node) {
	if r.evaluated == nil {
		r.evaluated = map[*node]bool{}
	}
	r.evaluated[v] = true
}

type pair struct {
	rule  *rule
	value *node
}

// checker checks one value.
type checker struct {
	tracks  bool                              // unevaluatedProperties or unevaluatedItems occurs in the document
	known   map[pair]*result                  // results of shared schemas; nil while a check is running
	finders map[*node]func(name string) *node // for large objects
	chain   int
	work    int
	err     error // the reason why the value cannot be checked
}

func (c *checker) stop(err error) result {
	if c.err == nil {
		c.err = err
	}
	return result{}
}

// check checks v against r.
func (c *checker) check(r *rule, v *node) result {
	c.work += r.cost(v)
	switch {
	case c.err != nil:
		return result{}
	case c.work > maxWork:
		return c.stop(errWork)
	case c.chain > maxChain:
		return c.stop(errChain)
	}
	c.chain++
	defer func() { c.chain-- }()
	if !r.shared {
		return c.evaluate(r, v)
	}
	at := pair{r, v}
	switch known, ok := c.known[at]; {
	case ok && known == nil:
		return c.stop(errCycle)
	case ok:
		return *known
	case len(c.known) >= maxPairs:
		return c.stop(errWork)
	}
	c.known[at] = nil
	out := c.evaluate(r, v)
	c.known[at] = &out
	return out
}

// member returns a member of an object, or nil.
func (c *checker) member(v *node, name string) *node {
	if len(v.Fields) <= jsontree.FewMembers {
		return v.Get(name)
	}
	if c.finders[v] == nil {
		c.finders[v] = jsontree.Finder(v.Fields)
	}
	return c.finders[v](name)
}

// cost returns the work for the keywords of r, without the schemas below it.
func (r *rule) cost(v *node) int {
	n := 5 + len(r.required) + len(r.needs) + len(r.dependents)
	if r.constant != nil || r.values != nil || r.unique {
		n += 5 * sizeOf(v)
	}
	switch {
	case v.Is("0"):
		n += len(v.Text) / 4 * (1 + len(r.bounds))
	case v.Is(`"`):
		n += len(v.Text) / 1000
		if r.pattern != nil {
			n += r.pattern.cost(len(v.Text))
		}
	}
	for _, p := range r.patterns {
		for _, f := range v.Fields {
			n += 1 + p.cost(len(f.Name))
		}
		if n > maxWork {
			break
		}
	}
	return n + 20*len(r.bounds) + 2*len(v.Fields) + len(v.Elems)
}

// evaluate checks v against r. If v fails type, const or enum, or r is false, it reports no other faults.
func (c *checker) evaluate(r *rule, v *node) (out result) {
	fail := func(keyword string) { out.fail(fault{rule: r, keyword: keyword, at: v}) }
	switch {
	case r.never:
		fail("false")
	case r.types != nil && !slices.ContainsFunc(r.types, func(name string) bool { return isType(v, name) }):
		fail("type")
	case r.constant != nil && !r.constant[canonical(v)]:
		fail("const")
	case r.values != nil && !r.values[canonical(v)]:
		fail("enum")
	}
	if out.faults != nil {
		return out
	}
	for _, b := range r.bounds {
		if n := measure(v, b.keyword); n != nil && b.refuses(n) {
			fail(b.keyword)
		}
	}
	if r.pattern != nil && v.Is(`"`) && !c.matches(r.pattern, v.Content()) {
		fail("pattern")
	}
	if r.ref != nil {
		c.merge(&out, c.check(r.ref, v))
	}
	if r.draft != 0 {
		c.work += 10 * sizeOf(v)
		if !isSchema(v, r.draft) {
			fail("$ref")
		}
	}
	if v.Is("{") {
		c.object(r, v, &out)
	}
	if v.Is("[") {
		c.array(r, v, &out)
	}
	c.combined(r, v, &out)
	c.unevaluated(r, v, &out)
	return out
}

// matches reports whether a text matches. If a mismatch may come from Go's reading of a class, it stops the check,
// because the server may read the class differently.
func (c *checker) matches(p *pattern, s string) bool {
	fits := p.MatchString(s)
	if !fits && p.classes && strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		c.stop(errClass)
	}
	return fits
}

func (c *checker) object(r *rule, v *node, out *result) {
	missing := func(keyword string, names []string) {
		for _, name := range names {
			if c.member(v, name) == nil {
				out.fail(fault{rule: r, keyword: keyword, at: v, name: name})
			}
		}
	}
	missing("required", r.required)
	for _, name := range slices.Sorted(maps.Keys(r.needs)) {
		if c.member(v, name) != nil {
			missing("dependentRequired", r.needs[name])
		}
	}
	for _, f := range v.Fields {
		name, member := f.Name, f.Value
		if c.err != nil || len(out.faults) >= maxFaults {
			return
		}
		matched := r.anyName
		if sub := r.properties[name]; sub != nil {
			matched = true
			c.addFaults(out, c.check(sub, member).faults)
		}
		for _, p := range r.patterns {
			if c.matches(p.pattern, name) {
				matched = true
				c.addFaults(out, c.check(p.rule, member).faults)
			}
		}
		switch {
		case matched || r.additional == nil:
		case r.additional.never:
			out.fail(fault{rule: r, keyword: "additionalProperties", at: v, name: name})
		default:
			c.addFaults(out, c.check(r.additional, member).faults)
		}
		if c.tracks && (matched || r.additional != nil) {
			out.mark(member)
		}
		if r.propertyNames != nil && c.check(r.propertyNames, &node{Kind: '"', Text: f.Key}).faults != nil {
			out.fail(fault{rule: r, keyword: "propertyNames", at: v, name: name})
		}
	}
}

func (c *checker) array(r *rule, v *node, out *result) {
	if r.unique {
		seen := make(map[string]int, len(v.Elems))
		for i, item := range v.Elems {
			key := canonical(item)
			if at, ok := seen[key]; ok {
				out.fail(fault{rule: r, keyword: "uniqueItems", at: v, indexes: [2]int{at, i}})
				break
			}
			seen[key] = i
		}
	}
	found := 0
	for i, item := range v.Elems {
		if c.err != nil || len(out.faults) >= maxFaults {
			return
		}
		sub := r.item(i)
		if sub != nil {
			c.addFaults(out, c.check(sub, item).faults)
		}
		fits := r.contains != nil && c.check(r.contains, item).faults == nil
		if fits {
			found++
		}
		if c.tracks && (sub != nil || fits) {
			out.mark(item)
		}
	}
	switch {
	case r.contains == nil:
	case found < r.minContains:
		out.fail(fault{rule: r, keyword: "minContains", at: v})
	case found > r.maxContains:
		out.fail(fault{rule: r, keyword: "maxContains", at: v})
	}
}

// combined checks v against the schemas that r combines.
func (c *checker) combined(r *rule, v *node, out *result) {
	for _, sub := range r.allOf {
		c.merge(out, c.check(sub, v))
	}
	if r.anyOf != nil {
		if fitting, branches := c.branches(r.anyOf, v, out); fitting == nil {
			c.merge(out, result{faults: closest(branches, fault{rule: r, keyword: "anyOf", at: v})})
		}
	}
	if r.oneOf != nil {
		switch fitting, branches := c.branches(r.oneOf, v, out); len(fitting) {
		case 0:
			c.merge(out, result{faults: closest(branches, fault{rule: r, keyword: "oneOf", at: v})})
		case 1:
		default:
			out.fail(fault{rule: r, keyword: "oneOf", at: v, indexes: [2]int{fitting[0], fitting[1]}})
		}
	}
	if r.not != nil && c.check(r.not, v).faults == nil {
		out.fail(fault{rule: r, keyword: "not", at: v})
	}
	if r.condition != nil {
		next := r.otherwise
		if o := c.check(r.condition, v); o.faults == nil {
			c.merge(out, o)
			next = r.then
		}
		if next != nil {
			c.merge(out, c.check(next, v))
		}
	}
	for name, sub := range r.dependents {
		if c.member(v, name) != nil {
			c.merge(out, c.check(sub, v))
		}
	}
}

// branches checks v against alternatives. It returns the indexes of the branches that fit, and the faults of the
// others.
func (c *checker) branches(rules []*rule, v *node, out *result) (fitting []int, faults [][]fault) {
	for i, sub := range rules {
		if o := c.check(sub, v); o.faults != nil {
			c.work += len(o.faults) // for the comparison of all faults
			faults = append(faults, o.faults)
		} else {
			c.merge(out, o)
			fitting = append(fitting, i)
		}
	}
	return fitting, faults
}

func (c *checker) unevaluated(r *rule, v *node, out *result) {
	unevaluated := func(sub *rule, v *node) {
		if !out.evaluated[v] {
			c.addFaults(out, c.check(sub, v).faults)
			out.mark(v)
		}
	}
	if r.unevaluatedProperties != nil {
		for _, f := range v.Fields {
			unevaluated(r.unevaluatedProperties, f.Value)
		}
	}
	if r.unevaluatedItem != nil {
		for _, item := range v.Elems {
			unevaluated(r.unevaluatedItem, item)
		}
	}
}

// refuses reports whether n is out of bounds.
func (b bound) refuses(n *big.Rat) bool {
	switch {
	case b.keyword == "exclusiveMinimum":
		return n.Cmp(b.n) <= 0
	case b.keyword == "exclusiveMaximum":
		return n.Cmp(b.n) >= 0
	case b.keyword == "multipleOf":
		return !new(big.Rat).Quo(n, b.n).IsInt()
	case b.keyword[:3] == "min":
		return n.Cmp(b.n) < 0
	}
	return n.Cmp(b.n) > 0
}
