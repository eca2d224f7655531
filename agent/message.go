package agent

import "encoding/json"

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

// Result is what came of a call, as the model is shown it.
type Result struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Output  json.RawMessage `json:"output"` // one JSON value; see toolbox.Outcome
	Images  []Image         `json:"images,omitempty"`
	IsError bool            `json:"isError,omitempty"`
}

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

// Text is the text of a message, without its other parts.
func (m Message) Text() string {
	text := ""
	for _, p := range m.Parts {
		text += p.Text
	}
	return text
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
