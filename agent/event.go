package agent

import (
	"encoding/json"
	"time"
)

// Event is something that happens in a turn. Kind says which of the other fields are set.
type Event struct {
	Kind EventKind `json:"type"`
	// Text of EventText, EventReasoning, EventProgress and EventEnd, the tool's name of EventDraft, and the reason of
	// EventRetry.
	Text string `json:"text,omitempty"`
	// Call of EventCall, EventProgress and EventResult.
	Call *Call `json:"call,omitempty"`
	// Result of EventResult.
	Result *Result `json:"result,omitempty"`
	// Took is how long a call ran, and how long EventRetry waits. In JSON it is in seconds.
	Took time.Duration `json:"-"`
	// Usage of EventMessage and EventEnd, where it is that of the turn.
	Usage *Usage `json:"usage,omitempty"`
	// Stop of EventMessage and EventEnd.
	Stop Stop `json:"stop,omitempty"`
	// Dropped of EventCompact is how many results were taken out.
	Dropped int `json:"dropped,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	return json.Marshal(struct {
		plain
		Took float64 `json:"took,omitempty"`
	}{plain(e), e.Took.Round(time.Millisecond).Seconds()})
}

// EventKind says what happened.
type EventKind string

const (
	// EventText and EventReasoning are pieces of a message of the model.
	EventText      EventKind = "text"
	EventReasoning EventKind = "reasoning"
	// EventDraft: the model begins to write a call, which may take a while.
	EventDraft EventKind = "draft"
	// EventMessage ends a message of the model.
	EventMessage EventKind = "message"
	// EventCall: a call begins to run, or to wait for permission.
	EventCall EventKind = "call"
	// EventProgress: a call reports.
	EventProgress EventKind = "progress"
	// EventResult ends a call.
	EventResult EventKind = "result"
	// EventRetry: the provider failed, and is asked again after Took. What it had said of the message is void.
	EventRetry EventKind = "retry"
	// EventCompact: results of older calls were taken out.
	EventCompact EventKind = "compact"
	// EventEnd ends a turn that ends without an error, with the whole answer in Text.
	EventEnd EventKind = "end"
)
