package validate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/schema"
)

// Limits of arguments. Larger arguments are not checked.
const (
	MaxDepth = 512
	MaxNodes = 100_000
	MaxBytes = 16 << 20
)

var argumentLimits = schema.Limits{Depth: MaxDepth, Nodes: MaxNodes, Bytes: MaxBytes}

// ErrUnchecked is wrapped by the errors of [Validator.Validate] for arguments that it cannot check. The arguments are
// too large, the check would take too long, or the schema is recursive without end. Such arguments may be valid or
// invalid.
var ErrUnchecked = errors.New("the arguments were not checked")

// Validator is a compiled schema. It checks arguments. A nil Validator checks nothing.
type Validator struct {
	root          *rule
	text          signature.Schema // the schema as written
	tracks        bool
	notes, faulty []string
}

// New compiles a tool's input schema. It returns an error if the schema is malformed or beyond the limits, or if it
// uses $dynamicRef or $recursiveRef. A reference that leads nowhere or out of the document is an error too. A keyword
// with a value that no draft of JSON Schema accepts, such as title: 7, is left out and noted. The other keywords are
// checked.
func New(raw json.RawMessage) (*Validator, error) {
	doc, err := readValue(raw, schema.Limits{})
	if err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	root, c, err := compile(doc)
	if err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	return &Validator{root, signature.New(doc, jsontree.NewDocument(doc).LookUp), c.tracks, c.notes, c.faultTexts()}, nil
}

// Notes describes the parts of the schema that are not checked, one line each. It returns nil if all parts are checked.
// The caller owns the slice.
func (v *Validator) Notes() []string { return slices.Concat(v.faulty, v.notes) }

// Faulty returns the lines of [Validator.Notes] about keywords with values that no draft accepts. These are faults of
// the schema.
func (v *Validator) Faulty() []string { return slices.Clone(v.faulty) }

// Validate checks arguments. It returns nil if they fit the checked parts of the schema (see [Validator.Notes]), and an
// [*Error] if they do not. Any other error wraps [ErrUnchecked]. In that case the result is unknown, and the call may
// proceed.
func (v *Validator) Validate(arguments json.RawMessage) error {
	if v == nil {
		return nil
	}
	value, err := readValue(arguments, argumentLimits)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnchecked, err)
	}
	c := &checker{tracks: v.tracks, known: map[pair]*result{}, finders: map[*node]func(string) *node{}}
	out := c.check(v.root, value)
	switch {
	case c.err != nil:
		return fmt.Errorf("%w: %w", ErrUnchecked, c.err)
	case out.faults == nil:
		return nil
	}
	return v.explain(out.faults)
}
