package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/llm"
	"github.com/indusagi/indus/internal/text"
)

// answer is a message while it arrives.
type answer struct {
	intake   *llm.Intake
	provider string
	blocks   []*block
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

// event takes one event, and has enough with the last one.
func (a *answer) event(data []byte) (enough bool, err error) {
	var e anthropic.MessageStreamEventUnion
	if err := json.Unmarshal(data, &e); err != nil {
		return false, llm.Malformed("an event of the answer is no JSON: %s", text.Clip(string(data), 200))
	}
	switch e.Type {
	case "error":
		return false, llm.InStream(data)
	case "message_start":
		u := e.Message.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	case "content_block_start":
		return false, a.begin(e)
	case "content_block_delta":
		return false, a.grow(e)
	case "message_delta":
		a.stop = e.Delta.StopReason
		u := e.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	}
	return e.Type == "message_stop", nil
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
	if e.Index != int64(len(a.blocks)) {
		return llm.Malformed("block %d of the answer begins after %d others", e.Index, len(a.blocks))
	}
	b := &block{kind: c.Type, id: c.ID, name: c.Name, raw: json.RawMessage(c.RawJSON())}
	a.blocks = append(a.blocks, b)
	switch b.kind {
	case "text":
		return a.intake.Text(&b.text, c.Text)
	case "thinking":
		return a.intake.Reasoning(&b.text, c.Thinking)
	case "tool_use":
		if input, err := json.Marshal(c.Input); err == nil && len(input) > len("null") { // all of it at once
			b.raw = input
		} else {
			b.raw = nil
		}
		return a.intake.Begin(b.name)
	}
	return a.intake.Add(&strings.Builder{}, string(b.raw))
}

func (a *answer) grow(e anthropic.MessageStreamEventUnion) error {
	if e.Index < 0 || e.Index >= int64(len(a.blocks)) {
		return llm.Malformed("block %d of the answer goes on, and has not begun", e.Index)
	}
	b, d := a.blocks[e.Index], e.Delta
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
		if input == "" {
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
