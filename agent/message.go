package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/toolbox"
)

// Role is the author of a message.
type Role string

const (
	// User messages contain prompts of a person and results of calls.
	User Role = "user"
	// Assistant messages are written by the model.
	Assistant Role = "assistant"
)

// Message is one message of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
	// Partial is set if the turn was cancelled before the model finished its message. Providers can ignore it: the next
	// message explains it to the model.
	Partial bool `json:"partial,omitempty"`
}

// Part is one piece of a message. Exactly one of its fields is set.
type Part struct {
	// Text is plain text.
	Text string `json:"text,omitempty"`
	// Call is a tool call of the model.
	Call *Call `json:"call,omitempty"`
	// Result is the result of a call. It is in the message after the call.
	Result *Result `json:"result,omitempty"`
	// Native is a part in its provider's own format.
	Native *Native `json:"native,omitempty"`
}

// Call is a tool call that a model requests.
type Call struct {
	// ID is the provider's id of the call. The result refers to it.
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"` // as the model wrote it, possibly invalid JSON
}

// MarshalJSON writes an input that is invalid JSON as a string under another key.
func (c Call) MarshalJSON() ([]byte, error) {
	w := writtenCall{ID: c.ID, Name: c.Name, Input: c.Input}
	if !json.Valid(c.Input) {
		w.Input, w.Text = nil, string(c.Input)
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads the output of MarshalJSON.
func (c *Call) UnmarshalJSON(b []byte) error {
	var w writtenCall
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if w.Input == nil {
		w.Input = json.RawMessage(w.Text)
	}
	*c = Call{w.ID, w.Name, w.Input}
	return nil
}

// writtenCall is the JSON form of a call. Exactly one of Input and Text is set.
type writtenCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input,omitempty"`
	Text  string          `json:"text,omitempty"`
}

// Result is the result of a call as the model receives it.
type Result struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Output  json.RawMessage `json:"output"` // one JSON value; see toolbox.Outcome
	Images  []Image         `json:"images,omitempty"`
	IsError bool            `json:"isError,omitempty"`
}

// Text returns Output as text for a reader, as [toolbox.Outcome.Text] does.
func (r Result) Text() string { return toolbox.Outcome{Output: r.Output}.Text() }

// Image is an image in the result of a tool.
type Image struct {
	MIME string `json:"mime"` // "image/png"
	Data []byte `json:"data"`
}

// Native is a part of a model's message that only its provider understands, such as reasoning with its signature. It is
// sent back unchanged, and only to the provider with that name.
type Native struct {
	Provider string          `json:"provider"`
	JSON     json.RawMessage `json:"json"`
}

// Text returns the text of a message without its other parts. Texts of a user are separate prompts, so a blank line
// separates them. Pieces of a model's text are joined directly.
func (m Message) Text() string {
	var text strings.Builder
	for _, p := range m.Parts {
		if m.Role == User && text.Len() > 0 && p.Text != "" {
			text.WriteString("\n\n")
		}
		text.WriteString(p.Text)
	}
	return text.String()
}

// Calls returns the calls that a message requests, in order.
func (m Message) Calls() (calls []Call) {
	for _, p := range m.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// withoutCalls returns a copy of the message without its calls.
func (m Message) withoutCalls() Message {
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool { return p.Call != nil })
	return m
}
