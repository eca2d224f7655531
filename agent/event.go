package agent

import (
	"encoding/json"
	"time"
)

// Event reports progress of a turn. Kind determines which other fields are set.
type Event struct {
	Kind EventKind `json:"type"`
	// Text is the text of EventText, EventReasoning, EventProgress and EventEnd. For EventDraft it is the name of the
	// tool, and for EventRetry the reason. For EventCompact it is the reason of the provider, or "" if the conversation
	// was too long.
	Text string `json:"text,omitempty"`
	// Call is set for EventCall, EventProgress and EventResult.
	Call *Call `json:"call,omitempty"`
	// Result is set for EventResult.
	Result *Result `json:"result,omitempty"`
	// Took is the duration of a call, or the delay of EventRetry. In JSON it is in seconds.
	Took time.Duration `json:"-"`
	// Usage is set for EventMessage, and for EventEnd, where it covers the whole turn.
	Usage *Usage `json:"usage,omitempty"`
	// Stop is set for EventMessage and EventEnd.
	Stop Stop `json:"stop,omitempty"`
	// Dropped is the number of results that were removed, or of calls that were removed with their results, for
	// EventCompact.
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

// EventKind is the kind of an event.
type EventKind string

const (
	// EventText and EventReasoning are pieces of a message of the model.
	EventText      EventKind = "text"
	EventReasoning EventKind = "reasoning"
	// EventDraft reports that the model begins to write a call, which may take a while.
	EventDraft EventKind = "draft"
	// EventMessage ends a message of the model.
	EventMessage EventKind = "message"
	// EventCall reports that a call begins to run, or to wait for permission.
	EventCall EventKind = "call"
	// EventProgress is a progress report of a call.
	EventProgress EventKind = "progress"
	// EventResult ends a call.
	EventResult EventKind = "result"
	// EventRetry reports that the provider failed. The request is sent again after Took. Earlier pieces of the message
	// are void.
	EventRetry EventKind = "retry"
	// EventCompact reports that results of calls were removed from the requests: older ones to make room, or any that
	// the provider refused.
	EventCompact EventKind = "compact"
	// EventEnd ends a turn that ends without an error. Text is the whole answer.
	EventEnd EventKind = "end"
)
