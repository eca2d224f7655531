package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/llm"
)

// blockSize is what a block holds even if it is empty.
const blockSize = 256

// answer is a message while it arrives.
type answer struct {
	intake   *llm.Intake
	provider string
	blocks   []*block
	at       map[int64]*block // the last one of an index
	stop     anthropic.StopReason
	usage    agent.Usage
}

// block is one block of a message.
type block struct {
	kind      string
	id, name  string
	text      strings.Builder // of text and thinking, and the input of a call
	signature strings.Builder
	raw       json.RawMessage // as it began
}

// event takes one event.
func (a *answer) event(data []byte) (llm.Progress, error) {
	var e anthropic.MessageStreamEventUnion
	if err := json.Unmarshal(data, &e); err != nil {
		return llm.More, llm.NoJSON(data)
	}
	var err error
	switch e.Type {
	case "error":
		err = llm.InStream(data)
	case "message_start":
		u := e.Message.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	case "content_block_start":
		err = a.begin(e)
	case "content_block_delta":
		err = a.grow(e)
	case "message_delta":
		a.stop = e.Delta.StopReason
		u := e.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	case "message_stop":
		return llm.Last, nil
	}
	if a.stop != "" {
		return llm.Whole, err
	}
	return llm.More, err
}

// count takes what is known by now: the counts of an event are of the whole message, or missing.
func (a *answer) count(fresh, read, written, output int64) {
	if read > 0 {
		a.usage.CacheRead = llm.Count(read)
	}
	if written > 0 {
		a.usage.CacheWrite = llm.Count(written)
	}
	if fresh > 0 || a.usage.Input == 0 {
		a.usage.Input = llm.Count(fresh) + a.usage.CacheRead + a.usage.CacheWrite
	}
	if output > 0 {
		a.usage.Output = llm.Count(output)
	}
}

func (a *answer) begin(e anthropic.MessageStreamEventUnion) error {
	c := e.ContentBlock
	b := &block{kind: c.Type, id: c.ID, name: c.Name}
	a.blocks, a.at[e.Index] = append(a.blocks, b), b
	switch b.kind {
	case "text":
		return a.intake.Text(&b.text, c.Text)
	case "thinking":
		return a.intake.Reasoning(&b.text, c.Thinking)
	case "tool_use":
		if err := a.intake.Begin(b.id, b.name); err != nil {
			return err
		}
		b.raw, _ = json.Marshal(c.Input) // some servers send all of it at once
	default:
		b.raw = json.RawMessage(c.RawJSON())
	}
	return a.intake.Hold(blockSize + len(b.raw))
}

func (a *answer) grow(e anthropic.MessageStreamEventUnion) error {
	b, d := a.at[e.Index], e.Delta
	if b == nil {
		return llm.Malformed("block %d of the answer goes on, and has not begun", e.Index)
	}
	switch d.Type {
	case "text_delta":
		return a.intake.Text(&b.text, d.Text)
	case "thinking_delta":
		return a.intake.Reasoning(&b.text, d.Thinking)
	case "signature_delta":
		return a.intake.Add(&b.signature, d.Signature)
	case "input_json_delta":
		return a.intake.Add(&b.text, d.PartialJSON)
	}
	return nil
}

func (a *answer) reply() agent.Reply {
	r := agent.Reply{Message: agent.Message{Role: agent.Assistant}, Stop: agent.StopEnd, Usage: a.usage}
	for _, b := range a.blocks {
		if p, ok := a.part(b); ok {
			r.Message.Parts = append(r.Message.Parts, p)
		}
	}
	switch a.stop {
	case anthropic.StopReasonMaxTokens, "model_context_window_exceeded":
		r.Stop = agent.StopLength
	case anthropic.StopReasonRefusal:
		r.Stop = agent.StopRefusal
	default:
		if len(r.Message.Calls()) > 0 {
			r.Stop = agent.StopCalls
		}
	}
	return r
}

func (a *answer) part(b *block) (p agent.Part, ok bool) {
	switch b.kind {
	case "text":
		return agent.Part{Text: b.text.String()}, b.text.Len() > 0
	case "tool_use":
		input := b.text.String()
		if input == "" && string(b.raw) != "null" {
			input = string(b.raw)
		}
		return agent.Part{Call: a.intake.Call(b.id, b.name, input)}, true
	case "thinking":
		if b.signature.Len() == 0 {
			return agent.Part{}, false // the API would refuse it
		}
		b.raw, _ = json.Marshal(map[string]string{"type": b.kind, "thinking": b.text.String(), "signature": b.signature.String()})
	case "redacted_thinking":
	default:
		return agent.Part{}, false // of a server's own tools, which nobody asked for
	}
	return agent.Part{Native: &agent.Native{Provider: a.provider, JSON: b.raw}}, true
}
