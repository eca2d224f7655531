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

// What arguments may measure. Beyond it they are not checked.
const (
	MaxDepth = 512
	MaxNodes = 100_000
	MaxBytes = 16 << 20
)

// ErrUnchecked is wrapped by what [Validator.Validate] returns for arguments that it cannot judge: they are too large, it
// would take too long, or the schema leads back to itself without end. They may fit or not.
var ErrUnchecked = errors.New("the arguments were not checked")

// Validator is one schema, ready to check arguments.
type Validator struct {
	root          *rule
	text          signature.Schema // the schema as it is written
	tracks        bool
	notes, faulty []string
}

// New reads a tool's input schema. The error says why nothing can be checked against it: it is malformed or beyond the
// limits, a reference leads nowhere or out of it, or it uses $dynamicRef or $recursiveRef. A keyword whose value no draft of
// JSON Schema accepts, such as title: 7, is left out, with a note, and what can be checked is checked.
func New(raw json.RawMessage) (*Validator, error) {
	if err := schema.Measure(raw, schema.Limits{}); err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	doc, err := readValue(raw)
	if err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	root, c, err := compile(doc)
	if err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	return &Validator{root, signature.New(doc, jsontree.NewDocument(doc).LookUp), c.tracks, c.notes, c.faults()}, nil
}

// Notes are what of the schema is not checked, one line each; nil where all is. The slice is the caller's own.
func (v *Validator) Notes() []string { return slices.Concat(v.faulty, v.notes) }

// Faulty are those of [Validator.Notes] that are about keywords with a value that no draft takes: faults of the schema.
func (v *Validator) Faulty() []string { return slices.Clone(v.faulty) }

// Validate checks arguments. nil: they fit, as far as can be said (see [Validator.Notes]). An [*Error]: they do not. Any
// other error wraps [ErrUnchecked]: nobody knows, and the call may go on.
func (v *Validator) Validate(arguments json.RawMessage) error {
	if err := schema.Measure(arguments, schema.Limits{Depth: MaxDepth, Nodes: MaxNodes, Bytes: MaxBytes}); err != nil {
		return fmt.Errorf("%w: %w", ErrUnchecked, err)
	}
	given, err := readValue(arguments)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnchecked, err)
	}
	c := &checker{tracks: v.tracks, known: map[pair]*result{}, fields: map[*node]map[string]*node{}}
	out := c.check(v.root, given)
	switch {
	case c.err != nil:
		return fmt.Errorf("%w: %w", ErrUnchecked, c.err)
	case out.faults == nil:
		return nil
	}
	return v.explain(out.faults)
}
