package toolbox

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/text"
)

// Outcome is the result of a call for a model.
//
// Output is projected from the result's blocks and its structured value. Texts, text resources under their URI, and
// one line for each link and each medium make one JSON string, with a blank line between two that are not empty. The
// JSON of the structured value follows, unless a block already shows it. If there is one JSON block, Output is the
// value of that block. Other combinations become an array of {"kind":"text","text":…} and {"kind":"json","value":…}. A
// block of unknown type counts as JSON, with its own bytes as the value. Without blocks, Output is the structured
// value. Without that, it is "".
type Outcome struct {
	// ID and Name are copied from the call.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Output is one JSON value in UTF-8, whatever the tool returned. Numbers keep their digits. If it exceeds the
	// budget, it becomes a string with the middle cut out: the text, or the JSON text without its whitespace.
	Output json.RawMessage `json:"output"`
	// IsError reports whether the tool ran and failed, or never ran.
	IsError bool `json:"isError"`
	// Cut is the number of bytes cut out of the text, or 0 if the text is complete.
	Cut int `json:"cut,omitempty"`
	// Result is the tool's result, uncut. It is nil if Err is set.
	Result *Result `json:"-"`
	// Err is the reason why there is no result. Examples are an unknown name, a fault of a server, the end of a
	// context, and arguments that are not JSON. If the arguments do not fit the tool, it is a [*validate.Error]. It is
	// nil for a tool that ran and failed.
	Err error `json:"-"`
}

// Text returns Output for a reader: the content of a string, or the JSON of any other value.
func (o Outcome) Text() string {
	if s, ok := stringOf(o.Output); ok {
		return s
	}
	return string(o.Output)
}

// Within returns the outcome with its output cut to a smaller budget than the box's, in the way of [Box.Run].
func (o Outcome) Within(budget int) Outcome {
	var n int
	o.Output, n = value{json: o.Output}.within(budget)
	o.Cut += n
	return o
}

// Showing returns the outcome with an output projected from other blocks than the blocks of its result. It is for
// programs that show some blocks (an image) to a model in another way. Result does not change.
func (o Outcome) Showing(budget int, blocks ...Block) Outcome {
	shown := NewResult(blocks...)
	if o.Result != nil {
		shown = StructuredResult(o.Result.Structured(), blocks...)
	}
	o.Output, o.Cut = project(shown).within(budget)
	return o
}

// value is a projection: one JSON value. A text is encoded as JSON only at the end.
type value struct {
	json   json.RawMessage
	text   string
	isText bool
}

func textValue(s string) value { return value{text: s, isText: true} }

func project(r *Result) value {
	var pieces []Block // only texts and values
	isText := true
	for _, b := range r.Blocks() {
		if shown, ok := b.Shown(); ok {
			b = Text(shown)
		} else {
			isText = false
		}
		pieces = append(pieces, b)
	}
	if beside := r.StructuredBeside(); beside != nil && isText && len(pieces) > 0 {
		pieces = append(pieces, Text(string(validJSON(beside))))
	} else if beside != nil {
		pieces, isText = append(pieces, JSON(beside)), false
	}
	switch {
	case isText:
		return textValue(joinTexts(pieces))
	case len(pieces) == 1:
		return value{json: pieces[0].value()}
	}
	return value{json: blocksJSON(pieces)}
}

func blocksJSON(blocks []Block) json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, b := range blocks {
		if i > 0 {
			out.WriteByte(',')
		}
		if b.Text != nil {
			out.WriteString(`{"kind":"text","text":`)
			out.Write(text.Quote(*b.Text))
		} else {
			out.WriteString(`{"kind":"json","value":`)
			out.Write(b.value())
		}
		out.WriteByte('}')
	}
	out.WriteByte(']')
	return out.Bytes()
}

// value returns the block as JSON.
func (b Block) value() json.RawMessage {
	if b.JSON != nil {
		return validJSON(b.JSON)
	}
	return validJSON(b.Wire.JSON)
}

// validJSON returns raw if it is JSON in UTF-8, else the nearest valid value. The JSON of a tool is not checked before.
func validJSON(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) == 0:
		return json.RawMessage("null")
	case !json.Valid(raw):
		return text.Quote(string(raw))
	case !utf8.Valid(raw):
		return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	return raw
}

// within returns the value in at most budget bytes of text, and the number of bytes that it cut.
func (v value) within(budget int) (json.RawMessage, int) {
	if !v.isText {
		if budget < 0 || len(v.json) <= budget {
			return v.json, 0
		}
		if s, ok := stringOf(v.json); ok {
			return textValue(s).within(budget)
		}
		var compact bytes.Buffer
		_ = json.Compact(&compact, v.json) // it is valid
		if compact.Len() <= budget {
			return compact.Bytes(), 0
		}
		v.text = compact.String()
	}
	shown, n := strings.ToValidUTF8(v.text, "\uFFFD"), 0
	if budget >= 0 {
		shown, n = text.Middle(shown, shown, -len(shown), budget)
	}
	return text.Quote(shown), n
}

func stringOf(raw json.RawMessage) (s string, ok bool) {
	trimmed := bytes.TrimLeft(raw, jsonSpace)
	if len(trimmed) == 0 || trimmed[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(trimmed, &s) == nil
}
