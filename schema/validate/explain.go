package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/text"
)

const (
	maxExpected  = 200             // bytes of the expected value
	maxExplained = 4 * MaxProblems // faults, many of which may result in equal problems
	maxCompared  = 500             // names that are compared with a mistyped name
)

// closest returns the faults of the branch that was most likely intended. If no branch accepts values of this kind, it
// returns none.
func closest(branches [][]fault, fallback fault) []fault {
	branches = slices.DeleteFunc(branches, func(faults []fault) bool {
		return slices.ContainsFunc(faults, func(f fault) bool { return f.at == fallback.at && f.name == "" && f.isChoice() })
	})
	if len(branches) == 0 {
		return []fault{fallback}
	}
	if f, ok := discriminator(branches); ok {
		return []fault{f}
	}
	constants := func(faults []fault) (n int) {
		for _, f := range faults {
			if f.isConstant() {
				n++
			}
		}
		return n
	}
	return slices.MinFunc(branches, func(a, b []fault) int { return cmp.Or(constants(a)-constants(b), len(a)-len(b)) })
}

// discriminator finds a value for which every branch requires another constant, and which has none of them. Such a
// value selects the branch.
func discriminator(branches [][]fault) (fault, bool) {
	if len(branches) < 2 {
		return fault{}, false
	}
	for _, f := range branches[0][:min(len(branches[0]), 20)] {
		if !f.isConstant() {
			continue
		}
		f.others = slices.Clip(f.others) // another fault may share the slice
		before := len(f.others)
		for _, branch := range branches[1:] {
			i := slices.IndexFunc(branch, func(other fault) bool { return other.at == f.at && other.isConstant() })
			if i < 0 {
				break
			}
			f.others = append(f.others, branch[i])
		}
		if len(f.others) == before+len(branches)-1 {
			return f, true
		}
	}
	return fault{}, false
}

// explain converts faults into an Error.
func (v *Validator) explain(faults []fault) *Error {
	steps := make(map[*node][]string, len(faults))
	for _, f := range faults {
		steps[f.at] = f.at.Steps()
	}
	// Sorting by path puts a missing property of an object before the faults inside the object.
	slices.SortStableFunc(faults, func(a, b fault) int {
		return cmp.Or(
			slices.CompareFunc(steps[a.at], steps[b.at], compareSteps),
			strings.Compare(a.name, b.name), a.rule.order-b.rule.order, strings.Compare(a.keyword, b.keyword),
		)
	})
	out := &Error{}
	for i, f := range faults {
		if len(out.Problems) == MaxProblems || i >= maxExplained {
			out.More++
		} else if p := v.problem(f); !slices.Contains(out.Problems, p) {
			out.Problems = append(out.Problems, p)
		}
	}
	return out
}

// compareSteps compares numbers, which may be indexes of an array, by value.
func compareSteps(a, b string) int {
	if isDigits(a) && isDigits(b) {
		return cmp.Or(len(a)-len(b), strings.Compare(a, b))
	}
	return strings.Compare(a, b)
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func (v *Validator) problem(f fault) Problem {
	p, got := Problem{Path: f.at.Path()}, f.at
	if f.name != "" {
		p.Path += "/" + text.PointerStep(f.name)
		got = f.at.Get(f.name)
	}
	if got != nil {
		p.Got = signature.Value(got)
	}
	s := v.at(f.rule)
	switch f.keyword {
	case "required", "dependentRequired":
		p.Expected = "any"
		if property := s.Sub("properties").Sub(f.name); property.Node != nil {
			p.Expected = property.Type(signature.Note)
		}
	case "additionalProperties":
		p.Near = nearestProperty(f.rule, f.at.Path(), f.name)
	case "propertyNames":
		p.Expected, p.Got = "another name", quote(f.name)
		if t := v.typeOf(f.rule.propertyNames); t != "any" {
			p.Expected = "a name that is " + t
		}
	case "false":
		if !f.at.Parent.Is("{") {
			p.Expected = "nothing"
		}
	default:
		p.Expected = v.expected(f, s)
		if got := f.got(); got != "" {
			p.Got = got
		}
	}
	return p
}

// at returns the schema of r as written.
func (v *Validator) at(r *rule) signature.Schema { return v.text.At(r.at) }

func (v *Validator) typeOf(r *rule) string { return v.at(r).Type(signature.Note) }

// nearestProperty returns the path of the property with the name most similar to name, or "".
func nearestProperty(r *rule, parent, name string) string {
	known := make([]string, 0, len(r.properties))
	for candidate := range r.properties {
		known = append(known, candidate)
	}
	slices.Sort(known)
	if hits := text.Nearest(name, known[:min(len(known), maxCompared)], 1); len(hits) > 0 {
		return parent + "/" + text.PointerStep(hits[0])
	}
	return ""
}

// expected describes the values that would fit in the place of f.
func (v *Validator) expected(f fault, s signature.Schema) string {
	all := []string{v.expectedOf(f, s)}
	for _, other := range f.others[:min(len(f.others), maxExpected)] {
		if alternative := v.expectedOf(other, v.at(other.rule)); !slices.Contains(all, alternative) {
			all = append(all, alternative)
		}
	}
	return text.Clip(strings.Join(all, " | "), maxExpected)
}

func (v *Validator) expectedOf(f fault, s signature.Schema) string {
	switch f.keyword {
	case "$ref":
		return "a JSON Schema"
	case "type":
		return strings.Join(f.rule.types, " | ")
	case "const":
		return signature.Value(s.Get("const"))
	case "enum":
		return cmp.Or(choices(s, f.at.Content()), "nothing")
	case "uniqueItems":
		return "unique items"
	case "minContains", "maxContains":
		return containsText(f, s, v.typeOf(f.rule.contains))
	case "not":
		if t := v.typeOf(f.rule.not); t != "any" {
			return "anything but " + t
		}
		return "something that is not excluded"
	case "false":
		return "nothing"
	case "anyOf", "oneOf":
		if f.indexes != [2]int{} {
			return fmt.Sprintf("exactly one of the alternatives, of which the %s and the %s both fit", ordinal(f.indexes[0]),
				ordinal(f.indexes[1]))
		}
		var all []string
		subs := slices.Concat(f.rule.anyOf, f.rule.oneOf)
		for _, sub := range subs[:min(len(subs), maxExpected)] {
			if t := v.typeOf(sub); !slices.Contains(all, t) && len(all) < signature.Note.Choices {
				all = append(all, t)
			}
		}
		if slices.Contains(all, "any") {
			return "one of the alternatives"
		}
		return strings.Join(all, " | ")
	}
	n := s.Get(f.keyword)
	if n.Is("t") { // draft 4's exclusiveMinimum
		n = s.Get(strings.ToLower(f.keyword[9:10]) + f.keyword[10:])
	}
	return signature.Bound(f.keyword, n)
}

func containsText(f fault, s signature.Schema, t string) string {
	n := s.Get(f.keyword)
	if n == nil {
		return "an item that is " + t
	}
	return signature.Bound(f.keyword, n) + " that are " + t
}

// choices returns the values of an enum. If there are too many to show, the values most similar to given come first.
func choices(s signature.Schema, value string) string {
	values := s.List("enum")
	if len(values) > signature.Note.Choices {
		var names []string
		for _, n := range values[:min(len(values), maxCompared)] {
			names = append(names, signature.Plain(n))
		}
		for i, name := range text.Nearest(value, names, 3) {
			at := slices.Index(names, name)
			values = slices.Insert(slices.Clone(values), i, values[at])
			names = slices.Insert(names, i, name)
		}
	}
	return signature.Values(values, " | ", signature.Note)
}

// got describes a fault that is visible only by counting or comparing, or returns "".
func (f fault) got() string {
	if f.keyword == "uniqueItems" {
		return fmt.Sprintf("the %s and the %s are equal", ordinal(f.indexes[0]), ordinal(f.indexes[1]))
	}
	noun, n := signature.Counted(f.keyword), measure(f.at, f.keyword)
	if noun == "" || n == nil || noun == "character" && clampInt(n) <= maxGot/2 {
		return ""
	}
	return signature.Count(n.RatString(), noun)
}

// ordinal returns the position of an index: 0 is the 1st.
func ordinal(i int) string {
	if i < 3 {
		return []string{"1st", "2nd", "3rd"}[i]
	}
	return fmt.Sprintf("%dth", i+1)
}

// shorten clips a text to about most bytes and makes it one line that is safe for a terminal.
func shorten(s string, maxBytes int) string {
	return strings.Join(strings.Fields(text.OneLine(strings.ToValidUTF8(text.Clip(s, maxBytes), "\uFFFD"))), " ")
}

// quote returns a name as JSON, clipped.
func quote(s string) string { return text.OneLine(string(text.Quote(text.Clip(s, maxShownName)))) }
