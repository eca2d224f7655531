package toolbox

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/text"
)

// Outcome is the result of a call for a model.
//
// Output is projected from the result's blocks. Text blocks alone are one JSON string, with a
// blank line between two that are not empty. A lone JSON block is its value. Other combinations are an array of
// {"kind":"text","text":…} and {"kind":"json","value":…}. A block in its owner's
// grammar (an image, a link) counts as JSON with its own bytes for the value. Where there
// are no blocks it is the structured value, and where there is none either, "".
type Outcome struct {
	// ID and Name are the call's.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Output is one JSON value in UTF-8, whatever the tool gave. Numbers keep
	// their digits. If it exceeded the budget it is a string: the text, or the JSON
	// text without its whitespace, with the middle cut out.
	Output json.RawMessage `json:"output"`
	// IsError: the tool ran and failed, or never ran.
	IsError bool `json:"isError"`
	// Cut is how many bytes were cut out of the text; 0 where all is there.
	Cut int `json:"cut,omitempty"`
	// Result is what the tool gave, uncut; nil where Err is set.
	Result *Result `json:"-"`
	// Err is why there is no result: an unknown name, a fault of a server, a
	// context that ended, arguments that are not JSON, or a [*validate.Error] where they
	// do not fit the tool. A tool that ran and failed has none.
	Err error `json:"-"`
}

// Text is Output for a reader: the content of a string, of any other value its JSON.
func (o Outcome) Text() string {
	if s, ok := stringOf(o.Output); ok {
		return s
	}
	return string(o.Output)
}

// Within is the outcome with its output cut, as [Box.Run] cuts it, to fewer bytes than the box did.
func (o Outcome) Within(budget int) Outcome {
	var n int
	o.Output, n = value{json: o.Output}.within(budget)
	o.Cut += n
	return o
}

// Showing is the outcome with the projection of other blocks than those of its result, for whoever shows a model some of
// them (an image) in another way. Result stays what it is.
func (o Outcome) Showing(budget int, blocks ...Block) Outcome {
	o.Output, o.Cut = project(NewResult(blocks...)).within(budget)
	return o
}

// value is a projection: one JSON value, which a text is only written as in the end.
type value struct {
	json   json.RawMessage
	text   string
	isText bool
}

func textValue(s string) value { return value{text: s, isText: true} }

func project(r *Result) value {
	blocks := r.Blocks()
	switch {
	case len(blocks) > 0 && !slices.ContainsFunc(blocks, func(b Block) bool { return b.Text == nil }):
		return textValue(joinTexts(blocks))
	case len(blocks) == 1:
		return value{json: blocks[0].value()}
	case len(blocks) > 1:
		return value{json: blocksJSON(blocks)}
	case r.Structured() != nil:
		return value{json: validJSON(r.Structured())}
	}
	return textValue("")
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

// value is the block as JSON.
func (b Block) value() json.RawMessage {
	if b.JSON != nil {
		return validJSON(b.JSON)
	}
	return validJSON(b.Wire.JSON)
}

// validJSON is raw if it is JSON in UTF-8, else the nearest thing that is: nobody checked
// what a tool called JSON.
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

// within writes the value in at most budget bytes of text, and says how much it cut.
func (v value) within(budget int) (json.RawMessage, int) {
	if !v.isText {
		if budget < 0 || len(v.json) <= budget {
			return v.json, 0
		}
		if s, ok := stringOf(v.json); ok {
			return textValue(s).within(budget)
		}
		var compact bytes.Buffer
		_ = json.Compact(&compact, v.json) // it is sound
		if compact.Len() <= budget {
			return compact.Bytes(), 0
		}
		v.text = compact.String()
	}
	shown, n := strings.ToValidUTF8(v.text, "\uFFFD"), 0
	if budget >= 0 && len(shown) > budget {
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
