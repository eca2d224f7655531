package llm

import (
	"crypto/rand"
	"strings"

	"github.com/indusagi/indus/agent"
)

// maxMessage bounds what the parts of a message hold.
const maxMessage = 16 << 20

// maxCalls bounds the calls of a message.
const maxCalls = 256

// Intake bounds a message while it arrives, and passes its pieces on.
type Intake struct {
	hear  func(agent.Piece)
	left  int
	calls int
	ids   map[string]bool
}

// NewIntake takes the answer to a request. hear may be nil.
func NewIntake(r agent.Request, hear func(agent.Piece)) *Intake {
	in := &Intake{hear: hear, left: maxMessage, ids: map[string]bool{}}
	if hear == nil {
		in.hear = func(agent.Piece) {}
	}
	for _, m := range r.Messages {
		for _, c := range m.Calls() {
			in.ids[c.ID] = true
		}
	}
	return in
}

// Text adds a piece of text.
func (in *Intake) Text(to *strings.Builder, s string) error {
	if s != "" {
		in.hear(agent.Piece{Text: s})
	}
	return in.Add(to, s)
}

// Reasoning adds a piece of reasoning.
func (in *Intake) Reasoning(to *strings.Builder, s string) error {
	if s != "" {
		in.hear(agent.Piece{Reasoning: s})
	}
	return in.Add(to, s)
}

// Add adds a piece that is not passed on.
func (in *Intake) Add(to *strings.Builder, s string) error {
	to.WriteString(s)
	return in.Hold(len(s))
}

// Hold counts bytes that are kept of the message.
func (in *Intake) Hold(n int) error {
	if in.left -= n; in.left < 0 {
		return Malformed("the message has more than %d MiB", maxMessage>>20)
	}
	return nil
}

// Begin begins a call.
func (in *Intake) Begin(id, name string) error {
	if in.calls++; in.calls > maxCalls {
		return Malformed("the message has more than %d calls", maxCalls)
	}
	if name != "" {
		in.hear(agent.Piece{Call: name})
	}
	return in.Hold(len(id) + len(name))
}

// Call is a call that is complete. Its id is the server's, unless that is missing or was used before in the conversation.
func (in *Intake) Call(id, name, input string) *agent.Call {
	for id == "" || in.ids[id] {
		id = "call_" + rand.Text()
	}
	in.ids[id] = true
	if strings.TrimSpace(input) == "" {
		input = "{}"
	}
	return &agent.Call{ID: id, Name: name, Input: []byte(input)}
}

// Count is a number of tokens as a server reports it, within reason. Some servers write whole numbers with a fraction.
func Count(n float64) int { return int(min(max(n, 0), 1<<40)) }
