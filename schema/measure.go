package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/jsontree"
)

// What a schema may measure where [Limits] has a zero: far more than a person writes by hand, and little enough for a
// validator that is handed a stranger's.
const (
	DefaultDepth = 64
	DefaultNodes = 10_000
	DefaultBytes = 1 << 20
)

// maxNesting is how deep JSON may nest before encoding/json takes it for malformed.
const maxNesting = 10_000

// Limits are the bounds of a schema. In each field zero stands for the default, and a negative number for no limit.
type Limits struct {
	// Depth is how deep objects and arrays may nest: {} is 1 deep, and [Measure] never goes deeper than 10,000, for no
	// reader of JSON here does. Zero is [DefaultDepth].
	Depth int

	// Nodes is how many JSON values there may be, the root and those inside enum, anyOf and the like included; keys are
	// not counted. Zero is [DefaultNodes].
	Nodes int

	// Bytes is the length of the text as it is, whitespace included. Zero is [DefaultBytes].
	Bytes int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Depth: min(boundOr(l.Depth, DefaultDepth), maxNesting),
		Nodes: boundOr(l.Nodes, DefaultNodes),
		Bytes: boundOr(l.Bytes, DefaultBytes),
	}
}

func boundOr(n, standard int) int {
	switch {
	case n == 0:
		return standard
	case n < 0:
		return math.MaxInt
	}
	return n
}

// ErrMalformed is what [Measure] returns, with the reason, for bytes that are not one JSON value in UTF-8.
var ErrMalformed = errors.New("malformed JSON")

// LimitError says which bound a schema exceeds and where.
type LimitError struct {
	Bound string // depth, nodes or bytes: the field of Limits in lower case
	Found int    // what had been counted when counting stopped; for bytes, the whole length
	Limit int

	// Pointer leads to the value where the bound was passed (RFC 6901), and Offset is the byte where that value starts.
	// Both are zero for bytes. A long pointer is cut and ends in an ellipsis. It is made of keys that a stranger wrote:
	// Error quotes it.
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

// Measure returns nil if raw is one JSON value within the limits. It does not ask whether that value is a schema.
//
// Beyond a bound it returns a [*LimitError] as soon as that is certain, without reading on: bytes first, which costs
// nothing, then depth and nodes, whichever is passed first. So of malformed JSON that is too large the one or the other
// may be reported.
func Measure(raw []byte, limits Limits) error {
	limits = limits.withDefaults()
	if len(raw) > limits.Bytes {
		return &LimitError{Bound: "bytes", Found: len(raw), Limit: limits.Bytes}
	}
	return readError(raw, jsontree.Measure(raw, limits.Depth, limits.Nodes))
}

// readTree reads JSON that is within the default limits.
func readTree(raw []byte) (*node, error) {
	if len(raw) > DefaultBytes {
		return nil, &LimitError{Bound: "bytes", Found: len(raw), Limit: DefaultBytes}
	}
	root, excess := jsontree.Read(raw, DefaultDepth, DefaultNodes)
	return root, readError(raw, excess)
}

// readError is why raw cannot be used. Whether it is JSON is asked of what is within the bounds, since that has to read all of it.
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
