package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/jsontree"
)

// The defaults for zero fields of [Limits]. They are far more than a person writes by hand, and small enough for a
// validator of untrusted schemas.
const (
	DefaultDepth = 64
	DefaultNodes = 10_000
	DefaultBytes = 1 << 20
)

// maxNesting is the maximum depth of JSON that encoding/json accepts.
const maxNesting = 10_000

// Limits holds the bounds of a schema. In each field, zero selects the default and a negative number means no limit.
type Limits struct {
	// Depth is the maximum nesting of objects and arrays: {} has depth 1. [Measure] never goes deeper than 10,000,
	// because no JSON reader in this module does. Zero selects [DefaultDepth].
	Depth int

	// Nodes is the maximum number of JSON values, including the root and values inside enum, anyOf and similar
	// keywords. Keys are not counted. Zero selects [DefaultNodes].
	Nodes int

	// Bytes is the maximum length of the text, including whitespace. Zero selects [DefaultBytes].
	Bytes int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Depth: min(boundOr(l.Depth, DefaultDepth), maxNesting),
		Nodes: boundOr(l.Nodes, DefaultNodes),
		Bytes: boundOr(l.Bytes, DefaultBytes),
	}
}

func boundOr(n, fallbackBound int) int {
	switch {
	case n == 0:
		return fallbackBound
	case n < 0:
		return math.MaxInt
	}
	return n
}

// ErrMalformed is returned by [Measure], wrapped with the reason, for bytes that are not one JSON value in UTF-8.
var ErrMalformed = errors.New("malformed JSON")

// LimitError reports the bound that a schema exceeds, and the place.
type LimitError struct {
	Bound string // depth, nodes or bytes: the field of Limits in lower case
	Found int    // the count when Measure stopped; for bytes, the whole length
	Limit int

	// Pointer leads to the value that exceeds the bound (RFC 6901). Offset is the byte at which that value starts. Both
	// are zero for bytes. A long pointer is cut and ends in an ellipsis. Error quotes it, because its keys are
	// untrusted.
	Pointer string
	Offset  int
}

func (e *LimitError) Error() string {
	unit := e.Bound
	if unit == "depth" {
		unit = "levels"
	}
	text := fmt.Sprintf("schema: %d %s exceed the limit of %d", e.Found, unit, e.Limit)
	if e.Pointer != "" {
		text += fmt.Sprintf(" at %q", e.Pointer)
	}
	return text
}

// Measure returns nil if raw is one JSON value within the limits. It does not check whether that value is a schema.
//
// It returns a [*LimitError] as soon as a bound is exceeded, and does not read on. It checks bytes first, and then
// depth and nodes together. For malformed JSON that is also too large, it may return either error.
func Measure(raw []byte, limits Limits) error {
	limits = limits.withDefaults()
	if len(raw) > limits.Bytes {
		return &LimitError{Bound: "bytes", Found: len(raw), Limit: limits.Bytes}
	}
	return readError(raw, jsontree.Measure(raw, limits.Depth, limits.Nodes))
}

// readTree reads JSON within the default limits.
func readTree(raw []byte) (*node, error) {
	if len(raw) > DefaultBytes {
		return nil, &LimitError{Bound: "bytes", Found: len(raw), Limit: DefaultBytes}
	}
	root, excess := jsontree.Read(raw, DefaultDepth, DefaultNodes)
	return root, readError(raw, excess)
}

// readError returns the reason why raw cannot be used. It checks the syntax only if raw is within the bounds, because
// that check reads all of it.
func readError(raw []byte, excess *jsontree.Excess) error {
	if excess != nil {
		return (*LimitError)(excess)
	}
	return wellFormed(raw)
}

func wellFormed(raw []byte) error {
	if !utf8.Valid(raw) {
		return fmt.Errorf("schema: %w: invalid UTF-8", ErrMalformed)
	}
	if json.Valid(raw) {
		return nil
	}
	var value json.RawMessage
	err := json.Unmarshal(raw, &value) // for the reason
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("schema: %w: %w at byte %d", ErrMalformed, err, syntax.Offset)
	}
	return fmt.Errorf("schema: %w: %w", ErrMalformed, err)
}
