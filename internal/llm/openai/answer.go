package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/llm"
	"github.com/indusagi/indus/internal/text"
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
	failed    bool // the stream is an error
	usage     agent.Usage
}

// call is one call while it arrives.
type call struct {
	id, name  string
	arguments strings.Builder
	extra     json.RawMessage
}

// event takes one event, and has enough with the last one.
func (a *answer) event(data []byte) (enough bool, err error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		if a.finish == "" && (a.text.Len() > 0 || len(a.calls) > 0) {
			a.finish = "stop" // some servers give no reason
		}
		return a.finish != "", nil
	}
	var chunk openai.ChatCompletionChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return false, llm.Malformed("an event of the answer is no JSON: %s", text.Clip(string(data), 200))
	}
	if e := chunk.JSON.ExtraFields["error"].Raw(); e != "" && e != "null" {
		a.failed = true
		return false, llm.InStream(data)
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
			a.failed = true
			return false, err
		}
		if c.FinishReason != "" {
			a.finish = c.FinishReason
		}
	}
	if a.finish == "error" {
		a.failed = true
		return false, llm.InStream(nil)
	}
	return false, nil
}

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
// them: so another id begins another call, and without any id another name behind complete arguments does.
func (a *answer) call(place int64, t openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	if t.JSON.Index.Valid() {
		place = t.Index
	}
	c := a.at[place]
	if c == nil || t.ID != "" && c.id != "" && t.ID != c.id ||
		t.ID == "" && c.id == "" && t.Function.Name != "" && json.Valid([]byte(c.arguments.String())) {
		c = &call{name: t.Function.Name}
		a.calls, a.at[place] = append(a.calls, c), c
		if err := a.intake.Begin(c.name); err != nil {
			return err
		}
	}
	if c.id == "" {
		c.id = t.ID
	}
	if c.name == "" {
		c.name = t.Function.Name
	}
	if extra := t.JSON.ExtraFields["extra_content"].Raw(); extra != "" && extra != "null" {
		c.extra = json.RawMessage(extra)
	}
	return errors.Join(
		a.intake.Add(&strings.Builder{}, t.ID+t.Function.Name+string(c.extra)), // counted again and again, as it comes
		a.intake.Add(&c.arguments, t.Function.Arguments),
	)
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
	case a.finish == "content_filter" || a.refused:
		r.Stop = agent.StopRefusal
	case len(a.calls) > 0:
		r.Stop = agent.StopCalls
	}
	return r
}

func fault(err error) (e *agent.ProviderError, ok bool) {
	ok = errors.As(err, &e)
	return e, ok
}
