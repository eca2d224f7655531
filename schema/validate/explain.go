package validate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/indusagi/indus/internal/text"
)

// fault is one leaf of the library's errors. Several become one where each alone would do: the branches of an anyOf.
type fault struct {
	errors []*jsonschema.ValidationError
	name   string // of the property that is missing or unknown; "" for other faults
}

func (f fault) path() []string { return f.errors[0].InstanceLocation }

// maxFaults is how many are looked at of one schema and what it leads to.
const maxFaults = 1000

// explainer turns the library's errors into ours.
type explainer struct {
	places map[string]*jsonschema.Schema
	root   *value
}

// explain says what is wrong, the least that mends it where there is a choice.
func (v *Validator) explain(e *jsonschema.ValidationError, root *value) *Error {
	x := &explainer{places: v.places, root: root}
	faults := x.faults(e)
	slices.SortStableFunc(faults, compareFaults)
	out := &Error{}
	for _, f := range faults {
		p := x.problem(f)
		switch {
		case slices.Contains(out.Problems, p):
		case len(out.Problems) == MaxProblems:
			out.More++
		default:
			out.Problems = append(out.Problems, p)
		}
	}
	return out
}

// compareFaults goes by the paths, which puts what a whole lacks before what is wrong within it.
func compareFaults(a, b fault) int {
	return cmp.Or(
		slices.CompareFunc(a.path(), b.path(), compareTokens),
		strings.Compare(a.name, b.name),
		strings.Compare(a.errors[0].SchemaURL, b.errors[0].SchemaURL),
	)
}

// compareTokens has numbers, which may be places in an array, by their size.
func compareTokens(a, b string) int {
	if isDigits(a) && isDigits(b) {
		return cmp.Or(len(a)-len(b), strings.Compare(a, b))
	}
	return strings.Compare(a, b)
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// faults are the leaves of e that matter.
func (x *explainer) faults(e *jsonschema.ValidationError) []fault {
	switch k := e.ErrorKind.(type) {
	case nil:
		return nil
	case *kind.AnyOf:
		return x.closest(e)
	case *kind.OneOf:
		if k.Subschemas == nil {
			return x.closest(e)
		}
	case *kind.Required:
		return named(e, k.Missing)
	case *kind.Dependency:
		return named(e, k.Missing)
	case *kind.DependentRequired:
		return named(e, k.Missing)
	case *kind.AdditionalProperties:
		return named(e, k.Properties)
	case *kind.Contains, *kind.MinContains, *kind.PropertyNames, *kind.Not:
		return []fault{{errors: []*jsonschema.ValidationError{e}}}
	}
	var all []fault
	for _, cause := range e.Causes {
		if all = append(all, x.faults(cause)...); len(all) > maxFaults {
			return all[:maxFaults]
		}
	}
	if len(e.Causes) == 0 {
		all = []fault{{errors: []*jsonschema.ValidationError{e}}}
	}
	return all
}

// named are one fault for each property.
func named(e *jsonschema.ValidationError, names []string) []fault {
	all := make([]fault, len(names))
	for i, name := range names {
		all[i] = fault{errors: []*jsonschema.ValidationError{e}, name: name}
	}
	return all
}

// closest are the faults of the branch that the value was most likely meant for.
func (x *explainer) closest(e *jsonschema.ValidationError) []fault {
	var branches [][]fault
	for _, cause := range e.Causes {
		if faults := x.faults(cause); !isForeign(faults, e.InstanceLocation) {
			branches = append(branches, faults)
		}
	}
	if len(branches) == 0 {
		return []fault{{errors: []*jsonschema.ValidationError{e}}}
	}
	if merged, ok := discriminated(branches); ok {
		return []fault{merged}
	}
	return slices.MinFunc(branches, func(a, b []fault) int {
		return cmp.Or(choicesMissed(a)-choicesMissed(b), len(a)-len(b))
	})
}

// isForeign reports whether a branch is for values of another kind than that which stands at a place.
func isForeign(faults []fault, place []string) bool {
	return slices.ContainsFunc(faults, func(f fault) bool {
		return isChoice(f) && len(f.path()) == len(place)
	})
}

// isChoice reports whether a fault is that a value is none of those that would do, or of no type that would.
func isChoice(f fault) bool {
	switch k := f.errors[0].ErrorKind.(type) {
	case *kind.Type, *kind.Const, *kind.Enum, *kind.FalseSchema, *kind.AnyOf:
		return true
	case *kind.OneOf:
		return len(k.Subschemas) == 0
	}
	return false
}

func choicesMissed(faults []fault) int {
	n := 0
	for _, f := range faults {
		switch f.errors[0].ErrorKind.(type) {
		case *kind.Const, *kind.Enum:
			n++
		}
	}
	return n
}

// discriminated finds the place at which every branch wants another constant: what parts them, and is wrong.
func discriminated(branches [][]fault) (fault, bool) {
	if len(branches) < 2 {
		return fault{}, false
	}
	for _, f := range branches[0][:min(len(branches[0]), 20)] {
		merged := fault{}
		for _, branch := range branches {
			i := slices.IndexFunc(branch, func(other fault) bool {
				return choicesMissed([]fault{other}) > 0 && slices.Equal(other.path(), f.path())
			})
			if i < 0 {
				break
			}
			merged.errors = append(merged.errors, branch[i].errors...)
		}
		if len(merged.errors) >= len(branches) {
			return merged, true
		}
	}
	return fault{}, false
}

// problem is what a model is told of a fault.
func (x *explainer) problem(f fault) Problem {
	e := f.errors[0]
	s := x.places[e.SchemaURL]
	if f.name != "" {
		return x.propertyProblem(f, s)
	}
	p := Problem{Path: text.Pointer(e.InstanceLocation...)}
	switch k := e.ErrorKind.(type) {
	case *kind.PropertyNames:
		p.Path += "/" + text.PointerStep(k.Property)
		p.Expected, p.Got = "another name", quote(k.Property, maxGot)
		if text := phrase(s); text != anything {
			p.Expected = "a name that is " + text
		}
		return p
	case *kind.FalseSchema:
		if n := len(e.InstanceLocation); n > 0 && !isDigits(e.InstanceLocation[n-1]) {
			p.Got = x.got(f)
			return p
		}
	}
	p.Expected, p.Got = x.expected(f, s), x.got(f)
	return p
}

// propertyProblem is about a property that is missing, or that should not be there.
func (x *explainer) propertyProblem(f fault, s *jsonschema.Schema) Problem {
	parent := text.Pointer(f.path()...)
	p := Problem{Path: parent + "/" + text.PointerStep(f.name)}
	if _, unknown := f.errors[0].ErrorKind.(*kind.AdditionalProperties); unknown {
		p.Near, p.Got = near(s, parent, f.name), x.got(f)
		return p
	}
	p.Expected = anything
	if s != nil {
		p.Expected = phrase(s.Properties[f.name])
	}
	return p
}

// near is the path of a property of s that may be meant by name.
func near(s *jsonschema.Schema, parent, name string) string {
	if s == nil {
		return ""
	}
	var known []string
	for candidate := range s.Properties {
		known = append(known, candidate)
	}
	slices.Sort(known)
	if hits := text.Nearest(name, known[:min(len(known), manyNames)], 1); len(hits) > 0 {
		return parent + "/" + text.PointerStep(hits[0])
	}
	return ""
}

// expected is what would do where f is.
func (x *explainer) expected(f fault, s *jsonschema.Schema) string {
	var all []string
	for _, e := range f.errors {
		if text := wanted(e, s); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return shorten(strings.Join(all, " or "), maxExpected)
}
