package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/text"
)

// instance is one value of the arguments.
type instance struct {
	v       any
	up      *instance // what it is in; nil for the root
	step    string    // its name or place there
	depth   int
	size    int // values within it, itself included; a long one counts as several
	members map[string]*instance
	items   []*instance
}

func newInstance(v any, up *instance, step string) *instance {
	node := &instance{v: v, up: up, step: step, size: 1 + len(step)/64}
	if up != nil {
		node.depth = up.depth + 1
	}
	switch v := v.(type) {
	case string:
		node.size += len(v) / 64
	case json.Number:
		node.size += len(v) / 16
	case map[string]any:
		node.members = make(map[string]*instance, len(v))
		for name, member := range v {
			inner := newInstance(member, node, name)
			node.members[name] = inner
			node.size += inner.size
		}
	case []any:
		node.items = make([]*instance, len(v))
		for i, item := range v {
			node.items[i] = newInstance(item, node, strconv.Itoa(i))
			node.size += node.items[i].size
		}
	}
	return node
}

// steps lead to the value.
func (v *instance) steps() []string {
	if v.up == nil {
		return nil
	}
	return append(v.up.steps(), v.step)
}

func (v *instance) path() string { return text.Pointer(v.steps()...) }

// isType reports whether the value is of a type.
func (v *instance) isType(name string) bool {
	switch inner := v.v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case json.Number:
		return name == "number" || name == "integer" && (!strings.ContainsAny(string(inner), ".eE") || rational(inner).IsInt())
	}
	return name == "object" && v.members != nil || name == "array" && v.items != nil
}

// measure is what a keyword bounds of the value; nil where the value has nothing of the kind.
func (v *instance) measure(keyword string) *big.Rat {
	s, isString := v.v.(string)
	switch {
	case strings.HasSuffix(keyword, "imum") || keyword == "multipleOf":
		return rational(v.v)
	case isString && strings.HasSuffix(keyword, "Length"):
		return big.NewRat(int64(utf8.RuneCountInString(s)), 1)
	case v.items != nil && strings.HasSuffix(keyword, "Items"):
		return big.NewRat(int64(len(v.items)), 1)
	case v.members != nil && strings.HasSuffix(keyword, "Properties"):
		return big.NewRat(int64(len(v.members)), 1)
	}
	return nil
}

// A number is compared as a fraction of whole numbers, and 1e999999 has a million digits. Nobody means a number beyond
// these: the largest float64 has 309 digits.
const (
	maxDigits   = 400
	maxExponent = 400
)

var errNumber = errors.New("there is a number that is too long")

// decode reads one JSON value, with its numbers as they are.
func decode(raw json.RawMessage) (doc any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	return doc, checkNumbers(doc)
}

// checkNumbers bounds what it takes to calculate with the numbers within v.
func checkNumbers(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if err := checkNumbers(member); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(string(v)), "e")
		if e, bad := strconv.Atoi(exponent); len(v) > maxDigits || bad != nil && exponent != "" || max(e, -e) > maxExponent {
			return errNumber
		}
	}
	return nil
}

// rational is a number; nil for all else.
func rational(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	r, _ := new(big.Rat).SetString(string(n))
	return r
}

// canonical is a text that two values share if they are equal.
func canonical(v any) string { return string(appendCanonical(nil, v)) }

func appendCanonical(out []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return strconv.AppendQuote(out, v)
	case json.Number:
		if r := rational(v); r != nil {
			return append(out, r.RatString()...)
		}
	case bool:
		return strconv.AppendBool(out, v)
	case map[string]any:
		out = append(out, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(strconv.AppendQuote(out, name), ':')
			out = append(appendCanonical(out, v[name]), ',')
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for _, item := range v {
			out = append(appendCanonical(out, item), ',')
		}
		return append(out, ']')
	}
	return append(out, "null"...)
}
