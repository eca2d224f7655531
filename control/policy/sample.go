package policy

import (
	"encoding/json"
	"iter"
	"math"
	"slices"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// fresh is a text that no condition has.
const fresh = "\u2042other\u2042"

// maxSubset is the number of elements up to which all subsets are tried.
const maxSubset = 6

// sample holds the values to try for one place of the arguments.
type sample struct {
	values    []types.Value
	patterns  int
	elements  []types.Value // of sets
	isSet     bool
	names     []string // of the members, in the order of the conditions
	members   map[string]*sample
	partial   bool // the values do not stand for all others
	isPattern bool // a pattern is no prefix
}

func newSample() *sample { return &sample{members: map[string]*sample{}} }

// at returns the sample of a place below s.
func (s *sample) at(path []string) *sample {
	for _, name := range path {
		if s.members[name] == nil {
			s.members[name] = newSample()
			s.names = append(s.names, name)
		}
		s = s.members[name]
	}
	return s
}

func (s *sample) add(values ...types.Value) {
	for _, v := range values {
		if !slices.ContainsFunc(s.values, v.Equal) {
			s.values = append(s.values, v)
		}
	}
}

// collect adds the values that a reduced condition compares the arguments with.
func (s *sample) collect(n ast.IsNode) {
	if path, ok := argsPath(n); ok {
		s.at(path).add(types.True, types.False) // a condition by itself
		return
	}
	switch v := n.(type) {
	case ast.NodeValue:
	case ast.NodeTypeAnd, ast.NodeTypeOr, ast.NodeTypeNot, ast.NodeTypeIfThenElse:
		mapChildren(n, func(child ast.IsNode) ast.IsNode { // the operands are Booleans
			s.collect(child)
			return child
		})
	case ast.NodeTypeEquals, ast.NodeTypeNotEquals:
		s.compare(n, (*sample).equal)
	case ast.NodeTypeLessThan, ast.NodeTypeLessThanOrEqual, ast.NodeTypeGreaterThan, ast.NodeTypeGreaterThanOrEqual:
		s.compare(n, (*sample).near)
	case ast.NodeTypeContains:
		if _, isSet := literalOf(v.Right).(types.Set); isSet {
			s.unknown(n)
			return
		}
		s.compare(n, (*sample).member)
	case ast.NodeTypeContainsAll, ast.NodeTypeContainsAny:
		s.compare(n, (*sample).overlap)
	case ast.NodeTypeIsEmpty:
		if path, ok := argsPath(v.Arg); ok {
			s.at(path).isSet = true
			return
		}
		s.unknown(n)
	case ast.NodeTypeLike:
		if path, ok := argsPath(v.Arg); ok {
			s.at(path).like(v.Value)
			return
		}
		s.unknown(n)
	case ast.NodeTypeHas:
		if path, ok := argsPath(v.Arg); ok {
			s.at(append(path, string(v.Value)))
			return
		}
		s.unknown(n)
	default:
		if !isError(n) {
			s.unknown(n)
		}
	}
}

// unknown adds a condition that the values do not cover.
func (s *sample) unknown(n ast.IsNode) {
	s.partial = true
	ast.Inspect(ast.NewNode(n), func(n ast.IsNode) bool {
		if path, ok := argsPath(n); ok {
			s.at(path).partial = true
			return false
		}
		return true
	})
}

// compare adds a comparison of a place with a literal. add gets whether the place is on the left.
func (s *sample) compare(n ast.IsNode, add func(s *sample, v types.Value, isLeft bool)) {
	b := operandsOf(n)
	left, isLeft := argsPath(b.Left)
	right, isRight := argsPath(b.Right)
	switch {
	case isLeft && literalOf(b.Right) != nil:
		add(s.at(left), literalOf(b.Right), true)
	case isRight && literalOf(b.Left) != nil:
		add(s.at(right), literalOf(b.Left), false)
	default:
		s.unknown(b.Left)
		s.unknown(b.Right)
	}
}

func (s *sample) equal(v types.Value, _ bool) {
	s.add(v)
	switch v.(type) {
	case types.Long:
		s.near(v, true) // an order may exclude the number itself, and others next to it
	case types.Set, types.Record:
		s.partial = true
	}
}

// near adds a number and both of its neighbours.
func (s *sample) near(v types.Value, _ bool) {
	n, ok := v.(types.Long)
	if !ok {
		s.partial = true
		return
	}
	s.add(n)
	if n > math.MinInt64 {
		s.add(n - 1)
	}
	if n < math.MaxInt64 {
		s.add(n + 1)
	}
}

// member adds an element of the place, or the elements of a literal set that may hold the place.
func (s *sample) member(v types.Value, isLeft bool) {
	set, isSet := v.(types.Set)
	switch {
	case isLeft:
		s.isSet = true
		s.element(v)
	case isSet:
		for e := range set.All() {
			s.equal(e, false)
		}
	}
}

// overlap adds the elements of a literal set that is compared with a set at the place.
func (s *sample) overlap(v types.Value, _ bool) {
	s.isSet = true
	if set, ok := v.(types.Set); ok {
		for e := range set.All() {
			s.element(e)
		}
	}
}

func (s *sample) element(v types.Value) {
	if !slices.ContainsFunc(s.elements, v.Equal) {
		s.elements = append(s.elements, v)
	}
}

// like adds a text that matches a pattern.
func (s *sample) like(p types.Pattern) {
	s.patterns++
	var parts []any
	encoded, err := p.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(encoded, &parts)
	}
	if err != nil {
		s.partial = true
		return
	}
	shortest, longest := "", ""
	wildcards, last := 0, false
	for _, part := range parts {
		component, isLiteral := part.(map[string]any)
		if last = !isLiteral; last {
			wildcards++
			longest += fresh
			continue
		}
		text, _ := component["Literal"].(string)
		shortest += text
		longest += text
	}
	s.add(types.String(shortest), types.String(longest))
	// Texts for several patterns are found only if each is an exact text or a prefix.
	if isPrefix := wildcards == 0 || wildcards == 1 && last; !isPrefix {
		s.isPattern = true
	}
}

// incomplete reports whether values were not tried that can have another result.
func (s *sample) incomplete() bool {
	if s.partial || s.isPattern && s.patterns > 1 || len(s.elements) > maxSubset {
		return true
	}
	for _, m := range s.members {
		if m.incomplete() {
			return true
		}
	}
	return false
}

// records returns the objects to try.
func (s *sample) records() iter.Seq[types.Record] {
	return func(yield func(types.Record) bool) {
		s.fill(types.RecordMap{}, s.names, yield)
	}
}

// fill adds values of the named members to a record in all combinations.
func (s *sample) fill(record types.RecordMap, names []string, yield func(types.Record) bool) bool {
	if len(names) == 0 {
		return yield(types.NewRecord(record))
	}
	name := types.String(names[0])
	for v := range s.members[names[0]].candidates() {
		record[name] = v
		if !s.fill(record, names[1:], yield) {
			return false
		}
	}
	delete(record, name)
	return s.fill(record, names[1:], yield)
}

// candidates returns the values to try for a member that is present.
func (s *sample) candidates() iter.Seq[types.Value] {
	return func(yield func(types.Value) bool) {
		for _, v := range s.values {
			if !yield(v) {
				return
			}
		}
		if len(s.names) > 0 {
			for r := range s.records() {
				if !yield(r) {
					return
				}
			}
		}
		if s.isSet {
			for set := range subsets(s.elements[:min(len(s.elements), maxSubset)]) {
				if !yield(set) {
					return
				}
			}
		}
		yield(types.String(fresh))
	}
}

// subsets returns all subsets of some values, and a set with none of them.
func subsets(values []types.Value) iter.Seq[types.Set] {
	return func(yield func(types.Set) bool) {
		if !yield(types.NewSet(types.String(fresh))) {
			return
		}
		for mask := range 1 << len(values) {
			var chosen []types.Value
			for i, v := range values {
				if mask&(1<<i) != 0 {
					chosen = append(chosen, v)
				}
			}
			if !yield(types.NewSet(chosen...)) {
				return
			}
		}
	}
}
