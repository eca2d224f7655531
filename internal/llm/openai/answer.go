package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/llm"
)

// answer is a message while it arrives.
type answer struct {
	intake    *llm.Intake
	provider  string
	text      strings.Builder
	reasoning strings.Builder
	named     string // what the server calls reasoning
	calls     []*call
	at        map[int64]*call // the last call of an index
	refused   bool
	finish    string
	usage     agent.Usage
}

// call is one call while it arrives.
type call struct {
	id, name  string
	arguments strings.Builder
	extra     json.RawMessage
}

// event takes one event.
func (a *answer) event(data []byte) (llm.Progress, error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return a.done()
	}
	var chunk openai.ChatCompletionChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return llm.More, llm.NoJSON(data)
	}
	if hasValue(chunk.JSON.ExtraFields["error"]) {
		return llm.More, llm.InStream(data)
	}
	if u := chunk.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 {
		a.usage = agent.Usage{
			Input: llm.Count(u.PromptTokens), Output: llm.Count(u.CompletionTokens),
			CacheRead: llm.Count(u.PromptTokensDetails.CachedTokens),
		}
	}
	for _, c := range chunk.Choices {
		if c.Index != 0 {
			continue // one was asked for
		}
		if err := a.delta(c.Delta); err != nil {
			return llm.More, err
		}
		if c.FinishReason != "" {
			a.finish = c.FinishReason
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

// done ends the stream, of which some servers give no reason.
func (a *answer) done() (llm.Progress, error) {
	if a.finish == "" && a.text.Len() == 0 && len(a.calls) == 0 {
		return llm.More, io.ErrUnexpectedEOF
	}
	return llm.Last, nil
}

func hasValue(f respjson.Field) bool { return f.Raw() != "" && f.Raw() != "null" }

func (a *answer) delta(d openai.ChatCompletionChunkChoiceDelta) error {
	a.refused = a.refused || d.Refusal != ""
	err := errors.Join(a.think(d.JSON.ExtraFields), a.intake.Text(&a.text, d.Content), a.intake.Text(&a.text, d.Refusal))
	for i, t := range d.ToolCalls {
		if err == nil {
			err = a.call(int64(i), t)
		}
	}
	return err
}

// think takes the reasoning, of which some servers send the same twice, under both names.
func (a *answer) think(extra map[string]respjson.Field) error {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var s string
		if json.Unmarshal([]byte(extra[name].Raw()), &s) == nil && s != "" && (a.named == "" || a.named == name) {
			a.named = name
			return a.intake.Reasoning(&a.reasoning, s)
		}
	}
	return nil
}

// call takes a piece of a call. Pieces belong together by their index, which some servers leave out, or have 0 in all of
// them: so another id begins another call.
func (a *answer) call(place int64, t openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	if t.JSON.Index.Valid() {
		place = t.Index
	}
	c, name := a.at[place], t.Function.Name
	if c == nil || c.another(t.ID, name) {
		c = &call{id: t.ID, name: name}
		a.calls, a.at[place] = append(a.calls, c), c
		if err := a.intake.Begin(t.ID, name); err != nil {
			return err
		}
	}
	if extra := t.JSON.ExtraFields["extra_content"]; c.extra == nil && hasValue(extra) {
		c.extra = json.RawMessage(extra.Raw())
		if err := a.intake.Hold(len(c.extra)); err != nil {
			return err
		}
	}
	return a.intake.Add(&c.arguments, t.Function.Arguments)
}

// another reports whether a piece with this id and name begins another call. Without ids another name does, and the same
// one behind complete arguments.
func (c *call) another(id, name string) bool {
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
	with := native{Extra: map[string]json.RawMessage{}}
	for _, c := range a.calls {
		one := a.intake.Call(c.id, c.name, c.arguments.String())
		r.Message.Parts = append(r.Message.Parts, agent.Part{Call: one})
		if c.extra != nil {
			with.Extra[one.ID] = c.extra
		}
	}
	if a.named != "" && len(a.calls) > 0 {
		with.Reasoning = map[string]string{a.named: a.reasoning.String()}
	}
	if len(with.Extra) > 0 || with.Reasoning != nil {
		b, _ := json.Marshal(with)
		r.Message.Parts = append([]agent.Part{{Native: &agent.Native{Provider: a.provider, JSON: b}}}, r.Message.Parts...)
	}
	switch {
	case a.finish == "length":
		r.Stop = agent.StopLength
	case strings.HasPrefix(strings.ToLower(a.finish), "content_filter") || a.refused: // Gemini's has the category behind it
		r.Stop = agent.StopRefusal
	case len(a.calls) > 0:
		r.Stop = agent.StopCalls
	}
	return r
}
