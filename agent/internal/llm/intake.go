package llm

import (
	"crypto/rand"
	"strings"

	"github.com/indusagi/indus/agent"
)

// maxMessage limits the bytes in the parts of a message.
const maxMessage = 16 << 20

// maxCalls limits the calls of a message.
const maxCalls = 256

// Intake enforces the limits of a message while it arrives, and passes its pieces to the caller.
type Intake struct {
	onPiece   func(agent.Piece)
	remaining int
	calls     int
	ids       map[string]bool
}

// NewIntake returns an Intake for the answer to a request. onPiece may be nil.
func NewIntake(r agent.Request, onPiece func(agent.Piece)) *Intake {
	in := &Intake{onPiece: onPiece, remaining: maxMessage, ids: map[string]bool{}}
	if onPiece == nil {
		in.onPiece = func(agent.Piece) {}
	}
	for _, m := range r.Messages {
		for _, c := range m.Calls() {
			in.ids[c.ID] = true
		}
	}
	return in
}

// Text adds a piece of text and passes it to the caller.
func (in *Intake) Text(to *strings.Builder, s string) error {
	if s != "" {
		in.onPiece(agent.Piece{Text: s})
	}
	return in.Add(to, s)
}

// Reasoning adds a piece of reasoning and passes it to the caller.
func (in *Intake) Reasoning(to *strings.Builder, s string) error {
	if s != "" {
		in.onPiece(agent.Piece{Reasoning: s})
	}
	return in.Add(to, s)
}

// Add adds a piece without passing it to the caller.
func (in *Intake) Add(to *strings.Builder, s string) error {
	to.WriteString(s)
	return in.Hold(len(s))
}

// Hold counts n stored bytes of the message. It returns an error above the limit.
func (in *Intake) Hold(n int) error {
	in.remaining -= n
	if in.remaining < 0 {
		return Malformed("the message has more than %d MiB", maxMessage>>20)
	}
	return nil
}

// Begin counts a new call, and passes its name to the caller.
func (in *Intake) Begin(id, name string) error {
	in.calls++
	if in.calls > maxCalls {
		return Malformed("the message has more than %d calls", maxCalls)
	}
	if name != "" {
		in.onPiece(agent.Piece{Call: name})
	}
	return in.Hold(len(id) + len(name))
}

// Call returns a complete call. It keeps the server's id, unless the id is missing or already used in the conversation.
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

// Count converts a server's token count to an int within bounds. Some servers write whole numbers with a fraction.
func Count(n float64) int { return int(min(max(n, 0), 1<<40)) }
