package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// pieceSize is the number of bytes that are counted for a piece of reasoning_details even if it is empty.
const pieceSize = 256

// chunks is the content of a delta: a string, or a list of chunks, as Mistral's models with reasoning send it.
type chunks struct{ text, reasoning string }

// UnmarshalJSON reads the text of content. It skips chunks of other types.
func (c *chunks) UnmarshalJSON(raw []byte) error {
	c.text, c.reasoning = textOf(raw, false)
	return nil
}

// textOf returns the text and the reasoning of content: a text, a chunk, or a list of both. Chunks may be nested once,
// within a chunk of reasoning.
func textOf(raw []byte, nested bool) (shown, reasoning string) {
	if json.Unmarshal(raw, &shown) == nil {
		return shown, ""
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var texts, thoughts strings.Builder
	for _, one := range list {
		var part struct {
			Text     string
			Thinking json.RawMessage
		}
		if json.Unmarshal(one, &part.Text) != nil {
			_ = json.Unmarshal(one, &part) // fields of another type are left out
		}
		texts.WriteString(part.Text)
		if len(part.Thinking) > 0 && !nested {
			thought, _ := textOf(part.Thinking, true)
			thoughts.WriteString(thought)
		}
	}
	return texts.String(), thoughts.String()
}

// argumentText holds a piece of arguments: a string, or the whole value, as some servers send it.
type argumentText string

// UnmarshalJSON implements json.Unmarshaler.
func (a *argumentText) UnmarshalJSON(raw []byte) error {
	var s string
	var members map[string]json.RawMessage
	switch {
	case json.Unmarshal(raw, &s) == nil: // null too
		*a = argumentText(s)
	case json.Unmarshal(raw, &members) == nil && len(members) == 0: // the arguments may follow as text
		*a = ""
	default:
		*a = argumentText(raw)
	}
	return nil
}

// details joins the pieces of OpenRouter's reasoning_details. Pieces with the same type and index belong together.
type details struct {
	all     []*detail
	byIndex map[detailKey]*detail
}

type detailKey struct {
	kind  string
	index float64
}

type detail struct {
	raw     json.RawMessage // the first piece
	whole   bool            // there is no other piece
	members map[string]json.RawMessage
	texts   map[string]*bytes.Buffer // the JSON of strings that the pieces continue, without the quotes
}

func (d *details) add(raw json.RawMessage) {
	var key struct {
		Type  string
		Index *float64
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &key)
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return
	}
	var joined *detail
	if key.Index != nil {
		joined = d.byIndex[detailKey{key.Type, *key.Index}]
	}
	if joined == nil {
		joined = &detail{
			raw: bytes.Clone(raw), whole: true,
			members: map[string]json.RawMessage{}, texts: map[string]*bytes.Buffer{},
		}
		d.all = append(d.all, joined)
		if d.byIndex == nil {
			d.byIndex = map[detailKey]*detail{}
		}
		if key.Index != nil {
			d.byIndex[detailKey{key.Type, *key.Index}] = joined
		}
	} else {
		joined.whole = false
	}
	for name, value := range members {
		isText := name == "text" || name == "summary" || name == "data"
		switch {
		case string(value) == "null" && joined.members[name] != nil:
		case isText && value[0] == '"':
			if joined.texts[name] == nil {
				joined.texts[name] = &bytes.Buffer{}
			}
			joined.texts[name].Write(value[1 : len(value)-1]) // escaped: a pair of surrogates may be split
			joined.members[name] = value
		default:
			joined.members[name] = value
		}
	}
}

// joined returns the details as they are sent back, or nil if there are none. A detail of one piece is unchanged.
func (d *details) joined() (all []json.RawMessage) {
	for _, one := range d.all {
		raw := one.raw
		if !one.whole {
			for name, s := range one.texts {
				one.members[name] = slices.Concat([]byte{'"'}, s.Bytes(), []byte{'"'})
			}
			raw, _ = json.Marshal(one.members)
		}
		all = append(all, raw)
	}
	return all
}
