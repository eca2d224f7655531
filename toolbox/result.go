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
	// Wire is a block in its owner's own grammar, for media, links and unknown types. [Image], [Audio], [Link]
	// and [Embedded] make such blocks.
	Wire Wire
}

// Text returns a block of plain text.
func Text(s string) Block { return Block{Text: &s} }

// JSON returns a block that holds one JSON value. v is not checked.
func JSON(v json.RawMessage) Block { return Block{JSON: v} }

// Decoded is the decoded content of a result's wire.
type Decoded struct {
	Blocks     []Block
	Structured json.RawMessage // nil if there is none
	IsError    bool
	Err        error // the reason why the wire cannot be read, or nil
}

// Result is the result of a tool. It is immutable and safe for concurrent use.
//
// A result that came over a wire keeps its bytes. It is decoded at the first call of Blocks, IsError, Structured
// or Err.
type Result struct {
	wire    Wire
	decode  func(Wire) Decoded
	once    sync.Once
	decoded Decoded
}

// NewResult returns a local tool's result.
func NewResult(blocks ...Block) *Result {
	return &Result{decoded: Decoded{Blocks: blocks}}
}

// ErrorResult returns the result of a local tool that ran and failed, with one text block.
func ErrorResult(text string) *Result {
	return &Result{decoded: Decoded{Blocks: []Block{Text(text)}, IsError: true}}
}

// StructuredResult returns a local tool's result with a structured value besides its blocks.
func StructuredResult(structured json.RawMessage, blocks ...Block) *Result {
	return &Result{decoded: Decoded{Blocks: blocks, Structured: structured}}
}

// WireResult returns a result that came over a wire. decode is called at most once, when the content is first
// read. It must accept every input.
func WireResult(w Wire, decode func(Wire) Decoded) *Result {
	return &Result{wire: w, decode: decode}
}

// Wire returns the result as it came over the wire. It is zero for a local tool.
func (r *Result) Wire() Wire { return r.wire }

// Blocks returns the pieces of the result. The slice is shared: do not change it.
func (r *Result) Blocks() []Block { return r.content().Blocks }

// Structured returns the structured value besides the blocks, or nil if there is none.
func (r *Result) Structured() json.RawMessage { return r.content().Structured }

// Err returns the reason why the result cannot be read, or nil if it can. The wire of such a result still has the
// bytes that its owner sent.
func (r *Result) Err() error { return r.content().Err }

// IsError reports whether the tool ran and failed.
func (r *Result) IsError() bool { return r.content().IsError }

func (r *Result) content() *Decoded {
	r.once.Do(func() {
		if r.decode != nil {
			r.decoded = r.decode(r.wire)
		}
	})
	return &r.decoded
}
