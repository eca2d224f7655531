package validate

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// wanted is what the schema s asks for where e is. s is nil where it is not known.
func wanted(e *jsonschema.ValidationError, s *jsonschema.Schema) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return strings.Join(k.Want, " or ")
	case *kind.Const:
		return brief(k.Want, maxGot)
	case *kind.Enum:
		return choices(k.Want, k.Got)
	case *kind.Pattern:
		return "a match of " + shorten(k.Want, 100)
	case *kind.MultipleOf:
		return "a multiple of " + number(k.Want)
	case *kind.Minimum:
		return "at least " + number(k.Want)
	case *kind.Maximum:
		return "at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "less than " + number(k.Want)
	}
	return wantedCount(e, s)
}

// wantedCount is wanted for what is about how many there are.
func wantedCount(e *jsonschema.ValidationError, s *jsonschema.Schema) string {
	switch k := e.ErrorKind.(type) {
	case *kind.MinLength:
		return "at least " + count(k.Want, "character")
	case *kind.MaxLength:
		return "at most " + count(k.Want, "character")
	case *kind.MinItems:
		return "at least " + count(k.Want, "item")
	case *kind.MaxItems:
		return "at most " + count(k.Want, "item")
	case *kind.AdditionalItems:
		return count(k.Count, "item") + " fewer"
	case *kind.MinProperties:
		return "at least " + count(k.Want, "member")
	case *kind.MaxProperties:
		return "at most " + count(k.Want, "member")
	case *kind.UniqueItems:
		return "items that differ"
	case *kind.MinContains:
		return "at least " + count(k.Want, "item") + contained(s, " that are ")
	case *kind.MaxContains:
		return "at most " + count(k.Want, "item") + contained(s, " that are ")
	case *kind.Contains:
		return "an item" + contained(s, " that is ")
	}
	return wantedWhole(e, s)
}

func contained(s *jsonschema.Schema, that string) string {
	if s == nil || phrase(s.Contains) == anything {
		return " of the kind that it must contain"
	}
	return that + phrase(s.Contains)
}

// wantedWhole is wanted for what is about a schema as a whole.
func wantedWhole(e *jsonschema.ValidationError, s *jsonschema.Schema) string {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return alternatives(s)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return alternatives(s)
		}
		return fmt.Sprintf("exactly one of the alternatives, of which the %s and the %s both fit", ordinal(k.Subschemas[0]), ordinal(k.Subschemas[1]))
	case *kind.Not:
		if s != nil && phrase(s.Not) != anything {
			return "anything but " + phrase(s.Not)
		}
		return "something that is not excluded"
	case *kind.FalseSchema:
		return "nothing"
	}
	return "another value"
}

func alternatives(s *jsonschema.Schema) string {
	if s != nil {
		for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
			if text := either(branches, 4); len(branches) > 0 && text != anything {
				return text
			}
		}
	}
	return "one of the alternatives"
}

// ordinal is the place of an index: 0 is the 1st.
func ordinal(i int) string {
	switch i {
	case 0:
		return "1st"
	case 1:
		return "2nd"
	case 2:
		return "3rd"
	}
	return fmt.Sprintf("%dth", i+1)
}

// number is a number of the schema as people write it.
func number(r *big.Rat) string {
	if r.IsInt() {
		return shorten(r.Num().String(), 40)
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

// got is what stands where f is.
func (x *explainer) got(f fault) string {
	e, path := f.errors[0], f.path()
	if f.name != "" {
		path = append(path[:len(path):len(path)], f.name)
	}
	v := x.root.at(path)
	switch k := e.ErrorKind.(type) {
	case *kind.MinLength:
		return length(v, k.Got, "character")
	case *kind.MaxLength:
		return length(v, k.Got, "character")
	case *kind.MinItems:
		return count(k.Got, "item")
	case *kind.MaxItems:
		return count(k.Got, "item")
	case *kind.MinProperties:
		return count(k.Got, "member")
	case *kind.MaxProperties:
		return count(k.Got, "member")
	case *kind.UniqueItems:
		return fmt.Sprintf("the %s and the %s are equal", ordinal(k.Duplicates[0]), ordinal(k.Duplicates[1]))
	}
	return brief(v, maxGot)
}

func length(v any, n int, noun string) string {
	if n <= maxGot/2 {
		return brief(v, maxGot)
	}
	return count(n, noun)
}
