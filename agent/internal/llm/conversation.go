package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
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

// Arguments returns the input of a call as an object that every JSON reader accepts. Servers refuse a conversation with
// any other input, and the model could not correct it.
func Arguments(c agent.Call) json.RawMessage {
	input := bytes.TrimSpace(c.Input)
	if len(input) > 0 && input[0] == '{' && json.Valid(input) {
		input = wellFormed(input)
		if isPortable(input) {
			return input
		}
	}
	if len(input) == 0 {
		return json.RawMessage("{}")
	}
	return slices.Concat([]byte(`{"unreadable":`), text.Quote(string(input)), []byte("}"))
}

// maxDepth is the deepest nesting of arguments that is sent as JSON. Readers in Rust stop at 128 levels, with those of
// the request.
const maxDepth = 100

// isPortable reports whether strict readers accept valid JSON: it is not too deep, and each number fits a float64.
func isPortable(valid []byte) bool {
	finite, depth := wire.Finite(valid)
	return depth <= maxDepth && bytes.Equal(finite, valid)
}

// wellFormed returns valid JSON as strict readers accept it: in UTF-8, and without halves of surrogate pairs.
func wellFormed(valid []byte) []byte {
	return wire.WithoutLoneSurrogates(bytes.ToValidUTF8(valid, []byte("\uFFFD")))
}

// silentFailure is sent for a failed call without a text. Anthropic refuses such a result, and without a text the model
// would read a success.
const silentFailure = "The tool failed and gave no reason."

// Output returns the text of a result. A failed result always has one.
func Output(r agent.Result) string {
	output := r.Text()
	if r.IsError && strings.TrimSpace(output) == "" {
		return silentFailure
	}
	return output
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

// ID returns the id of a call with characters that all providers accept. Different ids stay different.
func ID(id string) string {
	if word := Word(id); word != id {
		return shortID(word, id)
	}
	return ShortID(id)
}

// maxID is the length of the longest id that OpenAI accepts.
const maxID = 40

// ShortID returns the id of a call as it is, or an id of maxID bytes for a longer one.
func ShortID(id string) string {
	if len(id) <= maxID {
		return id
	}
	return shortID(Word(id), id)
}

func shortID(word, id string) string {
	sum := sha256.Sum256([]byte(id))
	return text.Cut(word, maxID-17) + "_" + hex.EncodeToString(sum[:8])
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
