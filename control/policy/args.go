package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cedar-policy/cedar-go"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// Bounds of the arguments that conditions can use. They limit the time of a decision: Cedar compares the elements of a
// set with each other if their hashes are equal.
const (
	maxDepth      = 32
	maxValues     = 10_000 // of all arguments
	maxElements   = 1000   // of an array of scalars
	maxContainers = 100    // of an array that holds arrays or objects
	maxDigits     = 40     // of a number; longer numbers are out of range or have too many decimal places
)

// gap is a value of the arguments that Cedar cannot represent. It is missing in the record.
type gap struct {
	path   []string // the members on the way to the value, up to the first array
	place  string   // the whole way, such as args.items[2].price
	reason string
}

// args are converted arguments.
type args struct {
	record cedar.Record
	gaps   []gap
	fault  string // the arguments are not usable at all
}

// convertArguments converts the members of the arguments for which wanted returns true. Nil stands for {}.
func convertArguments(raw json.RawMessage, wanted func(name string) bool) args {
	if len(raw) == 0 {
		return args{}
	}
	// The conversion reads only the wanted members. A repeated name, also elsewhere, shows that readers of the arguments
	// can differ.
	if !jsontext.Value(raw).IsValid(jsontext.AllowInvalidUTF8(true)) {
		if wire.Valid(raw) {
			return args{fault: "the arguments repeat a member"}
		}
		return args{fault: "the arguments are not JSON"}
	}
	members, err := wire.Members(raw)
	if err != nil {
		return args{fault: "the arguments are not an object, or have too many members"}
	}
	c := converter{}
	record := make(cedar.RecordMap, len(members))
	for _, m := range members {
		if wanted(m.Key) {
			c.member(record, m, nil, 1)
		}
	}
	return args{record: cedar.NewRecord(record), gaps: c.gaps}
}

// otherSpellings returns a gap for each used member that the arguments have in another spelling. Many servers ignore
// the case of keys.
func otherSpellings(raw json.RawMessage, uses []use) (gaps []gap) {
	all, _ := wire.Members(raw)
	for _, u := range uses {
		members, place := all, "args"
		for i, name := range u.path {
			var at json.RawMessage
			for _, m := range members {
				switch {
				case m.Key == name:
					at = m.Value
				case strings.EqualFold(m.Key, name):
					gaps = append(gaps, gap{u.path[:i+1], placeOf(place, m.Key), "is another spelling of " + strconv.Quote(name)})
				}
			}
			if i == len(u.path)-1 || at == nil {
				break
			}
			place = placeOf(place, name)
			members, _ = wire.Members(at)
		}
	}
	return gaps
}

type converter struct {
	values int
	gaps   []gap
}

// site is a place in the arguments.
type site struct {
	parent *site
	name   string
	index  int // of an element; -1 for a member
}

func (s *site) String() string {
	switch {
	case s == nil:
		return "args"
	case s.index >= 0:
		return s.parent.String() + "[" + strconv.Itoa(s.index) + "]"
	}
	return placeOf(s.parent.String(), s.name)
}

// path returns the members on the way to the place, up to the first array: a set has no places.
func (s *site) path() []string {
	if s == nil {
		return nil
	}
	path := s.parent.path()
	if s.index >= 0 || s.parent.inArray() {
		return path
	}
	return append(path, s.name)
}

func (s *site) inArray() bool { return s != nil && (s.index >= 0 || s.parent.inArray()) }

// member converts a member of an object and adds it to record.
func (c *converter) member(record cedar.RecordMap, m wire.Member, parent *site, depth int) {
	if v := c.value(m.Value, &site{parent: parent, name: m.Key, index: -1}, depth); v != nil {
		record[cedar.String(m.Key)] = v
	}
}

func placeOf(parent, name string) string {
	if isIdentifier(name) {
		return parent + "." + name
	}
	return parent + "[" + strconv.Quote(text.Clip(text.OneLine(name), 40)) + "]"
}

// value converts a value. It records a gap and returns nil if Cedar has no such value.
func (c *converter) value(raw json.RawMessage, at *site, depth int) cedar.Value {
	missing := func(reason string) cedar.Value {
		c.gaps = append(c.gaps, gap{path: at.path(), place: at.String(), reason: reason})
		return nil
	}
	c.values++
	switch {
	case c.values > maxValues:
		return missing(fmt.Sprintf("is after the first %d values", maxValues))
	case depth > maxDepth:
		return missing(fmt.Sprintf("is deeper than %d levels", maxDepth))
	}
	switch raw[0] {
	case '{':
		members, err := wire.Members(raw)
		if err != nil {
			return missing("has too many members")
		}
		record := make(cedar.RecordMap, len(members))
		for _, m := range members {
			c.member(record, m, at, depth+1)
		}
		return cedar.NewRecord(record)
	case '[':
		return c.set(raw, at, depth, missing)
	case '"':
		s, ok := wire.Unquote(raw)
		if !ok || !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
			return missing("is not Unicode")
		}
		return cedar.String(s)
	case 't':
		return cedar.True
	case 'f':
		return cedar.False
	case 'n':
		return missing("is null")
	}
	v, reason := numberOf(string(raw))
	if v == nil {
		return missing(reason)
	}
	return v
}

func (c *converter) set(raw json.RawMessage, at *site, depth int, missing func(string) cedar.Value) cedar.Value {
	elements, err := wire.Elements(raw)
	limit := maxElements
	if slices.ContainsFunc(elements, func(e json.RawMessage) bool { return e[0] == '{' || e[0] == '[' }) {
		limit = maxContainers
	}
	if err != nil || len(elements) > limit {
		return missing(fmt.Sprintf("has more than %d elements", limit))
	}
	values := make([]cedar.Value, 0, len(elements))
	for i, e := range elements {
		if v := c.value(e, &site{parent: at, index: i}, depth+1); v != nil {
			values = append(values, v)
		}
	}
	return cedar.NewSet(values...)
}

// numberOf converts a JSON number: an integer of 64 bits to a long, and a number with at most four decimal places to a
// decimal.
func numberOf(s string) (cedar.Value, string) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return cedar.Long(n), ""
	}
	digits, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	e, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if len(digits) > maxDigits || err != nil || e > maxDigits || e < -maxDigits {
		return nil, "is a number out of range"
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, "is a number out of range"
	}
	if r.IsInt() {
		if r.Num().IsInt64() {
			return cedar.Long(r.Num().Int64()), ""
		}
		return nil, "is an integer of more than 64 bits"
	}
	scaled := new(big.Rat).Mul(r, big.NewRat(10_000, 1))
	if !scaled.IsInt() {
		return nil, "has more than four decimal places"
	} else if !scaled.Num().IsInt64() {
		return nil, "is a number out of range"
	}
	d, err := cedar.NewDecimal(scaled.Num().Int64(), -4)
	if err != nil {
		return nil, "is a number out of range"
	}
	return d, ""
}

// isIdentifier reports whether a name can follow a dot in Cedar.
func isIdentifier(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
