package toolbox

import (
	"encoding/json"
	"sync"
)

// Block is one piece of a result. Exactly one field is set.
type Block struct {
	// Text is plain text.
	Text *string
	// JSON is one JSON value.
	JSON json.RawMessage
	// Wire is a block in its owner's own grammar: media, links, unknown types.
	// [Image], [Audio], [Link] and [Embedded] make them.
	Wire Wire
}

// Text is a block of plain text.
func Text(s string) Block { return Block{Text: &s} }

// JSON is a block that holds one JSON value; v is not checked.
func JSON(v json.RawMessage) Block { return Block{JSON: v} }

// Decoded is what a result's wire says.
type Decoded struct {
	Blocks     []Block
	Structured json.RawMessage // nil where there is none
	IsError    bool
	Err        error // why the wire cannot be read; nil if it can
}

// Result is what a tool gave. It is immutable and safe for concurrent use.
//
// A result that came over a wire keeps its bytes and is decoded only when
// Blocks, IsError or Structured is asked for.
type Result struct {
	wire    Wire
	decode  func(Wire) Decoded
	once    sync.Once
	decoded Decoded
}

// NewResult is a local tool's result.
func NewResult(blocks ...Block) *Result {
	return &Result{decoded: Decoded{Blocks: blocks}}
}

// ErrorResult is the result of a local tool that ran and failed: one text block.
func ErrorResult(text string) *Result {
	return &Result{decoded: Decoded{Blocks: []Block{Text(text)}, IsError: true}}
}

// StructuredResult is a local tool's result that has a structured value beside its blocks.
func StructuredResult(structured json.RawMessage, blocks ...Block) *Result {
	return &Result{decoded: Decoded{Blocks: blocks, Structured: structured}}
}

// WireResult is a result that came over a wire. decode is called at most once,
// when somebody looks inside; it must be total.
func WireResult(w Wire, decode func(Wire) Decoded) *Result {
	return &Result{wire: w, decode: decode}
}

// Wire is the result as it came, zero for a local tool's.
func (r *Result) Wire() Wire { return r.wire }

// Blocks are the pieces of the result. The slice is shared: do not change it.
func (r *Result) Blocks() []Block { return r.look().Blocks }

// Structured is the structured value beside the blocks, nil where there is none.
func (r *Result) Structured() json.RawMessage { return r.look().Structured }

// Err returns why the result cannot be read, and nil if it can. The wire of such a result is what its owner sent.
func (r *Result) Err() error { return r.look().Err }

// IsError reports whether the tool ran and failed.
func (r *Result) IsError() bool { return r.look().IsError }

func (r *Result) look() *Decoded {
	r.once.Do(func() {
		if r.decode != nil {
			r.decoded = r.decode(r.wire)
		}
	})
	return &r.decoded
}
