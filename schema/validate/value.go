package validate

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/schema"
)

// isType reports whether a value is of a type.
func isType(v *node, name string) bool {
	switch v.Kind {
	case '{':
		return name == "object"
	case '[':
		return name == "array"
	case '"':
		return name == "string"
	case 't', 'f':
		return name == "boolean"
	case 'n':
		return name == "null"
	}
	return name == "number" || name == "integer" && (!strings.ContainsAny(string(v.Text), ".eE") || rational(v).IsInt())
}

// measure returns the number, length or count that a keyword bounds, or nil if the keyword does not apply to the value.
func measure(v *node, keyword string) *big.Rat {
	count := -1
	switch {
	case strings.HasSuffix(keyword, "imum") || keyword == "multipleOf":
		return rational(v)
	case v.Is(`"`) && strings.HasSuffix(keyword, "Length"):
		count = utf8.RuneCountInString(v.Content())
	case v.Is("[") && strings.HasSuffix(keyword, "Items"):
		count = len(v.Elems)
	case v.Is("{") && strings.HasSuffix(keyword, "Properties"):
		count = len(v.Fields)
	}
	if count < 0 {
		return nil
	}
	return big.NewRat(int64(count), 1)
}

// sizeOf estimates the number of values in v, including v, from the length of its text.
func sizeOf(v *node) int { return 1 + len(v.Text)/16 }

// Bounds of numbers. A number is compared as a fraction of whole numbers, and 1e999999 has a million digits. Numbers in
// practice are smaller: the largest float64 has 309 digits.
const (
	maxDigits   = 400
	maxExponent = 400
)

var errNumber = errors.New("there is a number that is too long")

// readValue reads one JSON value within limits. It refuses numbers that are slow to compute with.
func readValue(raw []byte, limits schema.Limits) (*node, error) {
	if err := schema.Measure(raw, limits); err != nil {
		return nil, err
	}
	root := jsontree.Parse(raw)
	for v := range root.All() {
		if !v.Is("0") {
			continue
		}
		_, exponent, _ := strings.Cut(strings.ToLower(string(v.Text)), "e")
		if e, convErr := strconv.Atoi(exponent); len(v.Text) > maxDigits || convErr != nil && exponent != "" ||
			max(e, -e) > maxExponent {
			return nil, errNumber
		}
	}
	return root, nil
}

// rational returns the value of a number, or nil for other values.
func rational(v *node) *big.Rat {
	if !v.Is("0") {
		return nil
	}
	r, _ := new(big.Rat).SetString(string(v.Text))
	return r
}

// canonical returns a text that is the same for equal values.
func canonical(v *node) string { return string(appendCanonical(nil, v)) }

func appendCanonical(out []byte, v *node) []byte {
	switch v.Kind {
	case '"':
		return strconv.AppendQuote(out, v.Content())
	case '0':
		return append(out, rational(v).RatString()...)
	case '{':
		out = append(out, '{')
		for _, f := range byName(v) {
			out = append(strconv.AppendQuote(out, f.Name), ':')
			out = append(appendCanonical(out, f.Value), ',')
		}
		return append(out, '}')
	case '[':
		out = append(out, '[')
		for _, item := range v.Elems {
			out = append(appendCanonical(out, item), ',')
		}
		return append(out, ']')
	}
	return append(out, v.Text...)
}
