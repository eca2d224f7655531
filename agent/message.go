package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/toolbox"
)

// Role says whose message it is.
type Role string

const (
	// User messages are what a person wrote, and the outcomes of calls.
	User Role = "user"
	// Assistant messages are the model's.
	Assistant Role = "assistant"
)

// Message is one message of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
	// Partial: the turn was cancelled before the model had finished its message. Providers are told so in the message
	// after it, and need not look at this.
	Partial bool `json:"partial,omitempty"`
}

// Part is one piece of a message. Exactly one of its fields is set.
type Part struct {
	// Text is plain text.
	Text string `json:"text,omitempty"`
	// Call is a call that the model asks for.
	Call *Call `json:"call,omitempty"`
	// Result is what came of a call, in the message after it.
	Result *Result `json:"result,omitempty"`
	// Native is a part in its provider's own grammar.
	Native *Native `json:"native,omitempty"`
}

// Call is a call that a model asks for.
type Call struct {
	// ID is the provider's, by which the result refers to the call.
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"` // as the model wrote it: perhaps no JSON
}

// MarshalJSON writes an input that is no JSON as the text it is, under another key.
func (c Call) MarshalJSON() ([]byte, error) {
	w := writtenCall{ID: c.ID, Name: c.Name, Input: c.Input}
	if !json.Valid(c.Input) {
		w.Input, w.Text = nil, string(c.Input)
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON writes.
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

// writtenCall is a call in JSON. It has one of Input and Text.
type writtenCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input,omitempty"`
	Text  string          `json:"text,omitempty"`
}

// Result is what came of a call, as the model is shown it.
type Result struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Output  json.RawMessage `json:"output"` // one JSON value; see toolbox.Outcome
	Images  []Image         `json:"images,omitempty"`
	IsError bool            `json:"isError,omitempty"`
}

// Text is Output for a reader, as [toolbox.Outcome.Text] has it.
func (r Result) Text() string { return toolbox.Outcome{Output: r.Output}.Text() }

// Image is an image that a tool gave.
type Image struct {
	MIME string `json:"mime"` // "image/png"
	Data []byte `json:"data"`
}

// Native is a part of an assistant's message that only its own provider understands (reasoning with its signature, for
// example). It is sent back as it is, to the provider of that name only.
type Native struct {
	Provider string          `json:"provider"`
	JSON     json.RawMessage `json:"json"`
}

// Text returns the text of a message, without its other parts. Texts of a user are separated by a blank line: each was
// written by itself. Pieces of a model's text follow each other as they are.
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

// Calls are the calls that a message asks for, in order.
func (m Message) Calls() (calls []Call) {
	for _, p := range m.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// withoutCalls is the message without its calls.
func (m Message) withoutCalls() Message {
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool { return p.Call != nil })
	return m
}
