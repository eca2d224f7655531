package openai

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/llm"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// native is what some servers want back with a message, beside text and calls.
type native struct {
	// Reasoning is by the name that the server has for it.
	Reasoning map[string]string `json:"reasoning,omitempty"`
	// Extra has by the id of a call what its server gave with it: Gemini's signatures of thoughts.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

func (m *Model) params(r agent.Request, blind bool) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: m.options.Model, StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}}
	p.SetExtraFields(map[string]any{"stream": true})
	switch {
	case r.MaxTokens > 0 && m.options.Provider == "openai": // whose newer models refuse the older name, which other servers know
		p.MaxCompletionTokens = openai.Int(int64(r.MaxTokens))
	case r.MaxTokens > 0:
		p.MaxTokens = openai.Int(int64(r.MaxTokens))
	}
	for _, d := range r.Tools {
		p.Tools = append(p.Tools, function(d))
	}
	if strings.TrimSpace(r.System) != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(r.System))
	}
	for _, turn := range llm.Turns(r.Messages) {
		if turn.Role == agent.User {
			p.Messages = append(p.Messages, userMessages(turn, blind)...)
		} else if one := m.assistant(turn); len(one.ToolCalls) > 0 || one.Content.OfString.Value != "" {
			p.Messages = append(p.Messages, openai.ChatCompletionMessageParamUnion{OfAssistant: one})
		}
	}
	return p
}

func function(d toolbox.Descriptor) openai.ChatCompletionToolUnionParam {
	f := shared.FunctionDefinitionParam{Name: d.Name, Parameters: shared.FunctionParameters{}}
	if d.Description != "" {
		f.Description = openai.String(d.Description)
	}
	members, _ := wire.Members(llm.Parameters(d)) // an object: the toolbox made it
	for _, one := range members {
		f.Parameters[one.Key] = one.Value
	}
	return openai.ChatCompletionFunctionTool(f)
}

// userMessages are the results of calls, then their images, then what a person says.
func userMessages(turn agent.Message, blind bool) (messages []openai.ChatCompletionMessageParamUnion) {
	var shown []openai.ChatCompletionContentPartUnionParam
	for _, p := range turn.Parts {
		if p.Result == nil {
			continue
		}
		output := p.Result.Text()
		for _, i := range p.Result.Images {
			if instead, ok := llm.Showable(i); !ok {
				output += "\n" + instead
			} else if blind {
				output += "\n[an image, which this model cannot see]"
			} else {
				shown = append(shown, openai.TextContentPart("An image from "+llm.Word(p.Result.Name)+":"), image(i))
			}
		}
		messages = append(messages, openai.ToolMessage(output, p.Result.ID))
	}
	if len(shown) > 0 {
		messages = append(messages, openai.UserMessage(shown))
	}
	if text := turn.Text(); strings.TrimSpace(text) != "" {
		messages = append(messages, openai.UserMessage(text))
	}
	return messages
}

func image(i agent.Image) openai.ChatCompletionContentPartUnionParam {
	return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{
		URL: "data:" + i.MIME + ";base64," + base64.StdEncoding.EncodeToString(i.Data),
	})
}

// assistant is a message of the model. Its reasoning goes back with its calls: some servers insist on it there, and
// refuse it elsewhere.
func (m *Model) assistant(turn agent.Message) *openai.ChatCompletionAssistantMessageParam {
	one := &openai.ChatCompletionAssistantMessageParam{}
	var with native
	for _, p := range turn.Parts {
		if p.Native != nil && p.Native.Provider == m.Name() {
			_ = json.Unmarshal(p.Native.JSON, &with)
		}
	}
	for _, c := range turn.Calls() {
		f := &openai.ChatCompletionMessageFunctionToolCallParam{ID: c.ID}
		f.Function.Name, f.Function.Arguments = llm.Word(c.Name), string(llm.Arguments(c))
		if extra := with.Extra[c.ID]; extra != nil {
			f.SetExtraFields(map[string]any{"extra_content": extra})
		}
		one.ToolCalls = append(one.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: f})
	}
	if text := turn.Text(); text != "" {
		one.Content.OfString = openai.String(text)
	}
	if len(one.ToolCalls) > 0 && len(with.Reasoning) > 0 {
		extra := map[string]any{}
		for name, text := range with.Reasoning {
			extra[name] = text
		}
		one.SetExtraFields(extra)
	}
	return one
}

func hasImages(r agent.Request) bool {
	return slices.ContainsFunc(r.Messages, func(m agent.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p agent.Part) bool { return p.Result != nil && len(p.Result.Images) > 0 })
	})
}
