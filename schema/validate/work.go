package validate

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The library walks a schema and a value together, and comes to a pair of them as often as references and combinators
// lead there: 2 to the power of n times, if n schemas each name the next one twice. Counted over pairs, each once, the
// same takes no longer than there are pairs. One unit is about 100 ns.
const (
	maxWork      = 5_000_000
	maxPairs     = 300_000
	maxChain     = 3_000 // schemas inside one another, which is how deep the library recurses
	stepsPerUnit = 20    // of a regular expression
)

var (
	errWork  = errors.New("it would take too long")
	errChain = errors.New("they and the schema are too deep")
	errCycle = errors.New("the schema leads back to itself without end")
)

// pair is a schema that a value is held against.
type pair struct {
	schema *jsonschema.Schema
	value  *value
}

// meter counts what a validation would take.
type meter struct {
	known map[pair]int // -1: it is being counted
	spent int          // on counting: what all pairs take themselves
	err   error
}

// affordable says why a validation would be too much.
func affordable(s *jsonschema.Schema, v *value) error {
	m := &meter{known: map[pair]int{}}
	m.work(s, v, 0)
	return m.err
}

// work is what it takes to hold v against s. It counts what the library would do if nothing ended it early.
func (m *meter) work(s *jsonschema.Schema, v *value, chain int) int {
	at := pair{s, v}
	if s.Bool != nil || m.err != nil {
		return 1
	}
	switch known, ok := m.known[at]; {
	case ok && known < 0:
		m.err = errCycle
		return 1
	case ok:
		return known
	case chain > maxChain:
		m.err = errChain
	case len(m.known) >= maxPairs:
		m.err = errWork
	}
	if m.err != nil {
		return 1
	}
	m.known[at] = -1
	total := own(s, v)
	if m.spent += total; m.spent > maxWork {
		m.err = errWork
		return 1
	}
	m.inner(s, v, func(part *jsonschema.Schema, inner *value) {
		if total += m.work(part, inner, chain+1); total > maxWork {
			m.err = errWork
		}
	})
	m.known[at] = total
	return total
}

// inner tells of every pair that (s, v) leads to.
func (m *meter) inner(s *jsonschema.Schema, v *value, tell func(*jsonschema.Schema, *value)) {
	for _, part := range beside(s) {
		tell(part, v)
	}
	for name, part := range s.DependentSchemas {
		if v.members[name] != nil {
			tell(part, v)
		}
	}
	for name, part := range s.Dependencies {
		if part := one(part); part != nil && v.members[name] != nil {
			tell(part, v)
		}
	}
	for name, member := range v.members {
		for _, part := range ofMember(s, name) {
			tell(part, member)
		}
		if s.PropertyNames != nil {
			tell(s.PropertyNames, v.name(name))
		}
		if m.err != nil {
			return
		}
	}
	for i, item := range v.items {
		for _, part := range ofItem(s, i) {
			tell(part, item)
		}
		if m.err != nil {
			return
		}
	}
}

// ofMember are the schemas that a member may be held against.
func ofMember(s *jsonschema.Schema, name string) []*jsonschema.Schema {
	all := present(s.Properties[name])
	for re, part := range s.PatternProperties {
		if re.MatchString(name) {
			all = append(all, part)
		}
	}
	if len(all) > 0 {
		return all
	}
	return present(one(s.AdditionalProperties), s.UnevaluatedProperties)
}

// ofItem are the schemas that an item may be held against.
func ofItem(s *jsonschema.Schema, i int) []*jsonschema.Schema {
	all := present(s.Contains)
	tuple, _ := s.Items.([]*jsonschema.Schema)
	tuple = append(tuple, s.PrefixItems...) // no draft has both
	if i < len(tuple) {
		return append(all, tuple[i])
	}
	return append(all, present(one(s.Items), s.Items2020, one(s.AdditionalItems), s.UnevaluatedItems)...)
}

// own is what s itself takes, without what it leads to.
func own(s *jsonschema.Schema, v *value) int {
	n := 5 + v.depth/8 // an error has a copy of the path
	if s.Enum != nil {
		n += len(s.Enum.Values) * comparison(v)
	}
	if s.Const != nil {
		n += comparison(v)
	}
	switch text, _ := v.v.(string); {
	case v.members != nil:
		n += ownMembers(s, v)
	case v.items != nil:
		n += len(v.items)
		if s.UniqueItems {
			n += 20 * v.size // up to 20 items each with each, more by their hash
		}
	case text != "":
		n += len(text) / 1000
		if p, ok := s.Pattern.(*pattern); ok {
			n += p.cost(text)
		}
	case v.isNumber():
		n += 20
	}
	return n
}

func ownMembers(s *jsonschema.Schema, v *value) int {
	n := 2*len(v.members) + len(s.Required) + len(s.DependentRequired) + len(s.Dependencies) + len(s.DependentSchemas)
	for re := range s.PatternProperties {
		p, _ := re.(*pattern)
		for name := range v.members {
			n += 1 + p.cost(name)
		}
	}
	return n
}

// comparison is what it may take to compare v with another value.
func comparison(v *value) int {
	if v.isNumber() {
		return 10
	}
	return min(v.size, 1000)
}
