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

// maxImage is the largest image that all providers take, before base64 makes it 5 MB.
const maxImage = 3_750_000

// Turns are the messages with those of one role after each other as one, and results in front of what a person says: a
// provider wants the results of all calls right behind them.
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

// Arguments are the input of a call as an object: servers refuse a conversation in which it is anything else, and then the
// model could not mend it.
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

// Word is s with nothing but letters, digits, "_" and "-", as the providers take names: a model may have made up another.
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

// Showable reports whether the providers take an image, and otherwise what to say in its place.
func Showable(i agent.Image) (instead string, ok bool) {
	switch {
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, i.MIME):
		return fmt.Sprintf("[an image of type %q, which cannot be shown]", text.Clip(i.MIME, 100)), false
	case len(i.Data) > maxImage || len(i.Data) == 0:
		return fmt.Sprintf("[an image of %d bytes, which cannot be shown]", len(i.Data)), false
	}
	return "", true
}

// Parameters are a tool's, or those of a tool without any.
func Parameters(d toolbox.Descriptor) json.RawMessage {
	if len(d.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return d.Parameters
}
