package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/internal/llm"
)

// event is one event of the stream. Numbers are float64 because some servers write whole numbers with a fraction.
type event struct {
	Type    string
	Index   float64
	Message struct{ Usage usage }
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Type, Text, Thinking, Signature string

		Input string `json:"partial_json"`
		Stop  string `json:"stop_reason"`
	}
	Usage usage
}

type usage struct {
	Input   float64 `json:"input_tokens"`
	Output  float64 `json:"output_tokens"`
	Read    float64 `json:"cache_read_input_tokens"`
	Written float64 `json:"cache_creation_input_tokens"`
}

// blockSize is the number of bytes that are counted for a block even if it is empty.
const blockSize = 256

// answer collects a message from the events of its stream.
type answer struct {
	intake   *llm.Intake
	provider string
	blocks   []*block
	byIndex  map[float64]*block // the last block with each index
	stop     string
	usage    agent.Usage
}

// block is one block of a message.
type block struct {
	kind      string
	id, name  string
	text      strings.Builder // text, thinking, or the input of a call
	signature strings.Builder
	raw       json.RawMessage // the block as it began
}

// event handles one event.
func (a *answer) event(data []byte) (llm.Progress, error) {
	var e event
	if err := llm.Decode(data, &e); err != nil {
		return llm.More, err
	}
	var err error
	switch e.Type {
	case "error":
		err = llm.InStream(data)
	case "message_start":
		a.count(e.Message.Usage)
	case "content_block_start":
		err = a.beginBlock(e)
	case "content_block_delta":
		err = a.extendBlock(e)
	case "message_delta":
		a.stop = e.Delta.Stop
		a.count(e.Usage)
	case "message_stop":
		return llm.Last, nil
	}
	if a.stop != "" {
		return llm.Whole, err
	}
	return llm.More, err
}

// count updates the usage. An event either counts the whole message so far or has no count.
func (a *answer) count(u usage) {
	if u.Read > 0 {
		a.usage.CacheRead = llm.Count(u.Read)
	}
	if u.Written > 0 {
		a.usage.CacheWrite = llm.Count(u.Written)
	}
	if u.Input > 0 || a.usage.Input == 0 {
		a.usage.Input = llm.Count(u.Input) + a.usage.CacheRead + a.usage.CacheWrite
	}
	if u.Output > 0 {
		a.usage.Output = llm.Count(u.Output)
	}
}

func (a *answer) beginBlock(e event) error {
	var c struct {
		Type, ID, Name, Text, Thinking string

		Input json.RawMessage
	}
	_ = json.Unmarshal(e.Block, &c) // fields of another type are left out, as in Decode
	b := &block{kind: c.Type, id: c.ID, name: c.Name}
	a.blocks = append(a.blocks, b)
	a.byIndex[e.Index] = b
	switch b.kind {
	case "text":
		return a.intake.Text(&b.text, c.Text)
	case "thinking":
		return a.intake.Reasoning(&b.text, c.Thinking)
	case "tool_use":
		if err := a.intake.Begin(b.id, b.name); err != nil {
			return err
		}
		b.raw = c.Input // some servers send the whole input here
	default:
		b.raw = e.Block
	}
	return a.intake.Hold(blockSize + len(b.raw))
}

func (a *answer) extendBlock(e event) error {
	b, d := a.byIndex[e.Index], e.Delta
	if b == nil {
		return llm.Malformed("block %.0f of the answer goes on, and has not begun", e.Index)
	}
	switch d.Type {
	case "text_delta":
		return a.intake.Text(&b.text, d.Text)
	case "thinking_delta":
		return a.intake.Reasoning(&b.text, d.Thinking)
	case "signature_delta":
		return a.intake.Add(&b.signature, d.Signature)
	case "input_json_delta":
		return a.intake.Add(&b.text, d.Input)
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
	case "max_tokens", "model_context_window_exceeded":
		r.Stop = agent.StopLength
	case "refusal":
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
		if input == "" && llm.Present(b.raw) {
			input = string(b.raw)
		}
		return agent.Part{Call: a.intake.Call(b.id, b.name, input)}, true
	case "thinking":
		if b.signature.Len() == 0 {
			return agent.Part{}, false // the API refuses thinking without a signature
		}
		b.raw, _ = json.Marshal(map[string]string{
			"type": b.kind, "thinking": b.text.String(), "signature": b.signature.String(),
		})
	case "redacted_thinking":
	default:
		return agent.Part{}, false // blocks of the server's own tools, which the request did not ask for
	}
	return agent.Part{Native: &agent.Native{Provider: a.provider, JSON: b.raw}}, true
}
