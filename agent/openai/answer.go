package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/internal/llm"
)

// chunk is one event of an answer. Numbers are float64 because some servers write whole numbers with a fraction.
type chunk struct {
	Error   json.RawMessage
	Choices []struct {
		Index        float64
		Delta        delta
		FinishReason string `json:"finish_reason"`
	}
	Usage struct {
		Prompt     float64 `json:"prompt_tokens"`
		Completion float64 `json:"completion_tokens"`
		Details    struct {
			Cached float64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// delta is the part that a chunk adds to the message.
type delta struct {
	Content   chunks
	Refusal   string
	Reasoning string
	Thoughts  string            `json:"reasoning_content"` // the name of Reasoning on some servers
	Details   []json.RawMessage `json:"reasoning_details"` // of OpenRouter
	Calls     []callDelta       `json:"tool_calls"`
}

// callDelta is the part that a chunk adds to a call.
type callDelta struct {
	Index    *float64 // nil if the server sends none
	ID       string
	Function struct {
		Name      string
		Arguments argumentText
	}
	Extra json.RawMessage `json:"extra_content"`
}

// answer collects a message from its chunks.
type answer struct {
	intake         *llm.Intake
	provider       string
	text           strings.Builder
	reasoning      strings.Builder
	reasoningField string // the name under which the server sends reasoning
	details        details
	calls          []*call
	byIndex        map[float64]*call // the last call with each index
	refused        bool
	finish         string
	usage          agent.Usage
}

// call collects one call from its chunks.
type call struct {
	id, name  string
	arguments strings.Builder
	extra     json.RawMessage
}

// event handles one event.
func (a *answer) event(data []byte) (llm.Progress, error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return a.finishStream()
	}
	var c chunk
	if err := llm.Decode(data, &c); err != nil {
		return llm.More, err
	}
	if llm.Present(c.Error) {
		return llm.More, llm.InStream(data)
	}
	if u := c.Usage; u.Prompt > 0 || u.Completion > 0 {
		a.usage = agent.Usage{Input: llm.Count(u.Prompt), Output: llm.Count(u.Completion),
			CacheRead: llm.Count(u.Details.Cached)}
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // the request asked for one choice
		}
		if err := a.addDelta(choice.Delta); err != nil {
			return llm.More, err
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	switch a.finish {
	case "":
		return llm.More, nil
	case "error":
		return llm.More, llm.InStream(nil)
	}
	return llm.Whole, nil
}

// finishStream ends the stream. Some servers send no finish reason.
func (a *answer) finishStream() (llm.Progress, error) {
	if a.finish == "" && a.text.Len() == 0 && len(a.calls) == 0 {
		return llm.More, io.ErrUnexpectedEOF
	}
	return llm.Last, nil
}

func (a *answer) addDelta(d delta) error {
	a.refused = a.refused || d.Refusal != ""
	err := errors.Join(a.addReasoning(d), a.intake.Text(&a.text, d.Content.text), a.intake.Text(&a.text, d.Refusal))
	for _, raw := range d.Details {
		err = errors.Join(err, a.intake.Hold(pieceSize+len(raw)))
		if err == nil {
			a.details.add(raw)
		}
	}
	for i, c := range d.Calls {
		if err == nil {
			err = a.addCall(float64(i), c)
		}
	}
	return err
}

// addReasoning adds reasoning. Some servers send the same text under both names, so only the first name is used.
func (a *answer) addReasoning(d delta) error {
	for _, field := range []struct{ name, text string }{{"reasoning_content", d.Thoughts}, {"reasoning", d.Reasoning}} {
		if field.text != "" && (a.reasoningField == "" || a.reasoningField == field.name) {
			a.reasoningField = field.name
			return a.intake.Reasoning(&a.reasoning, field.text)
		}
	}
	return a.intake.Reasoning(&strings.Builder{}, d.Content.reasoning) // it is shown, and not sent back
}

// addCall adds a piece of a call. Pieces with the same index belong together. Some servers send no index, or always 0,
// so a new id also begins a new call.
func (a *answer) addCall(index float64, d callDelta) error {
	if d.Index != nil {
		index = *d.Index
	}
	c, name := a.byIndex[index], d.Function.Name
	if c == nil || c.startsNewCall(d.ID, name) {
		c = &call{id: d.ID, name: name}
		a.calls = append(a.calls, c)
		a.byIndex[index] = c
		if err := a.intake.Begin(d.ID, name); err != nil {
			return err
		}
	}
	if c.extra == nil && llm.Present(d.Extra) {
		c.extra = d.Extra
		if err := a.intake.Hold(len(c.extra)); err != nil {
			return err
		}
	}
	return a.intake.Add(&c.arguments, string(d.Function.Arguments))
}

// startsNewCall reports whether a piece with this id and name begins a new call. If there are no ids, a different name
// begins a new call. The same name begins one if the arguments are already complete.
func (c *call) startsNewCall(id, name string) bool {
	if id != "" || c.id != "" {
		return id != "" && c.id != "" && id != c.id
	}
	return name != "" && c.name != "" && (name != c.name || json.Valid([]byte(c.arguments.String())))
}

func (a *answer) reply() agent.Reply {
	r := agent.Reply{Message: agent.Message{Role: agent.Assistant}, Stop: agent.StopEnd, Usage: a.usage}
	if a.text.Len() > 0 {
		r.Message.Parts = append(r.Message.Parts, agent.Part{Text: a.text.String()})
	}
	extras := native{Extra: map[string]json.RawMessage{}}
	for _, c := range a.calls {
		toolUse := a.intake.Call(c.id, c.name, c.arguments.String())
		r.Message.Parts = append(r.Message.Parts, agent.Part{Call: toolUse})
		if c.extra != nil {
			extras.Extra[toolUse.ID] = c.extra
		}
	}
	if a.reasoningField != "" && len(a.calls) > 0 {
		extras.Reasoning = map[string]string{a.reasoningField: a.reasoning.String()}
	}
	extras.Details = a.details.joined()
	if len(extras.Extra) > 0 || extras.Reasoning != nil || extras.Details != nil {
		b, _ := json.Marshal(extras)
		r.Message.Parts = append([]agent.Part{{Native: &agent.Native{Provider: a.provider, JSON: b}}}, r.Message.Parts...)
	}
	switch {
	case a.finish == "length":
		r.Stop = agent.StopLength
	case strings.HasPrefix(strings.ToLower(a.finish), "content_filter") || a.refused: // Gemini appends the category
		r.Stop = agent.StopRefusal
	case len(a.calls) > 0:
		r.Stop = agent.StopCalls
	}
	return r
}
