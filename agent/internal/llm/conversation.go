package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

// maxImage is the size in bytes of the largest image that all providers accept. In base64 it has 5 MB.
const maxImage = 3_750_000

// Turns joins successive messages of the same role, and puts results before the text of a person. Providers require the
// results of all calls directly after the calls.
func Turns(messages []agent.Message) (turns []agent.Message) {
	for _, m := range messages {
		if last := len(turns) - 1; last >= 0 && turns[last].Role == m.Role {
			turns[last].Parts = slices.Concat(turns[last].Parts, m.Parts)
		} else {
			turns = append(turns, agent.Message{Role: m.Role, Parts: slices.Clone(m.Parts)})
		}
	}
	for _, m := range turns {
		slices.SortStableFunc(m.Parts, func(a, b agent.Part) int { return rank(a) - rank(b) })
	}
	return turns
}

func rank(p agent.Part) int {
	if p.Result != nil {
		return 0
	}
	return 1
}

// Arguments returns the input of a call as an object. Servers refuse a conversation with any other input, and the model
// could not correct it.
func Arguments(c agent.Call) json.RawMessage {
	input := bytes.TrimSpace(c.Input)
	if len(input) > 0 && input[0] == '{' && json.Valid(input) {
		return input
	}
	if len(input) == 0 {
		return json.RawMessage("{}")
	}
	return slices.Concat([]byte(`{"unreadable":`), text.Quote(string(input)), []byte("}"))
}

// Word replaces all characters of s that providers refuse in names. A model may have invented any name.
func Word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "unnamed"
	}
	return text.Cut(s, 64)
}

// Showable reports whether providers accept an image. If not, it returns a text for its place.
func Showable(i agent.Image) (placeholder string, ok bool) {
	switch {
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, i.MIME):
		return fmt.Sprintf("[an image of type %q, which cannot be shown]", text.Clip(i.MIME, 100)), false
	case len(i.Data) > maxImage || len(i.Data) == 0:
		return fmt.Sprintf("[an image of %d bytes, which cannot be shown]", len(i.Data)), false
	}
	return "", true
}

// Parameters returns the parameters of a tool, or an empty schema if it has none.
func Parameters(d toolbox.Descriptor) json.RawMessage {
	if len(d.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return d.Parameters
}
