package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

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
	root   *jsonschema.Schema
	places map[string]*jsonschema.Schema // by location, for what an error says
	notes  []string
	faulty []string
}

// New reads a tool's input schema. The error says why nothing can be checked against it: it is malformed or beyond the
// limits, a reference leads nowhere or out of it, or it uses $dynamicRef or $recursiveRef. A keyword whose value no draft of
// JSON Schema accepts, such as title: 7, is left out, with a note, and what can be checked is checked.
//
// It takes 0.1 ms for a small schema, and at the limits a second or a few.
func New(raw json.RawMessage) (v *Validator, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, fmt.Errorf("validate: the schema cannot be read: %v", p)
		}
	}()
	if err := schema.Measure(raw, schema.Limits{}); err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	doc, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	if err := checkReferences(doc); err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	v = &Validator{}
	if v.root, err = v.compile(doc); err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	if v.places, err = reachable(v.root); err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	return v, nil
}

// Notes are what of the schema is not checked, one line each; nil where all is. The slice is the caller's own.
func (v *Validator) Notes() []string { return slices.Concat(v.faulty, v.notes) }

// Faulty are those of [Validator.Notes] that are about keywords with a value that no draft takes: faults of the schema.
func (v *Validator) Faulty() []string { return slices.Clone(v.faulty) }

// Validate checks arguments. nil: they fit, as far as can be said (see [Validator.Notes]). An [*Error]: they do not. Any
// other error wraps [ErrUnchecked]: nobody knows, and the call may go on.
func (v *Validator) Validate(arguments json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrUnchecked, p)
		}
	}()
	if err := schema.Measure(arguments, schema.Limits{Depth: MaxDepth, Nodes: MaxNodes, Bytes: MaxBytes}); err != nil {
		return fmt.Errorf("%w: %w", ErrUnchecked, err)
	}
	given, err := decode(arguments)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnchecked, err)
	}
	root := newValue(given, 0)
	if err := affordable(v.root, root); err != nil {
		return fmt.Errorf("%w: %w", ErrUnchecked, err)
	}
	misfit := (*jsonschema.ValidationError)(nil)
	if err := v.root.Validate(given); !errors.As(err, &misfit) {
		return err
	}
	return v.explain(misfit, root)
}

// decode reads one JSON value, with its numbers as they are.
func decode(raw json.RawMessage) (any, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return doc, checkNumbers(doc)
}
