package anthropic

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/llm"
)

// params are the request. Four places may end what is cached: the tools, the system prompt, and the last two messages of
// the user, of which the earlier one is what the request before has left in the cache.
func (m *Model) params(r agent.Request) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: m.options.Model, MaxTokens: int64(cmp.Or(r.MaxTokens, maxTokens)), Messages: m.messages(r.Messages)}
	p.SetExtraFields(map[string]any{"stream": true})
	cache := anthropic.NewCacheControlEphemeralParam()
	if strings.TrimSpace(r.System) != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System, CacheControl: cache}}
	}
	for _, d := range r.Tools {
		tool := &anthropic.ToolParam{Name: d.Name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](llm.Parameters(d))}
		if d.Description != "" {
			tool.Description = anthropic.String(d.Description)
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: tool})
	}
	if n := len(p.Tools); n > 0 {
		p.Tools[n-1].OfTool.CacheControl = cache
	} else if slices.ContainsFunc(r.Messages, func(m agent.Message) bool { return len(m.Calls()) > 0 }) {
		p.Tools, p.ToolChoice = noTools()
	}
	marked := 0
	for _, one := range slices.Backward(p.Messages) {
		if last := one.Content[len(one.Content)-1]; one.Role == anthropic.MessageParamRoleUser && marked < 2 {
			if at := last.GetCacheControl(); at != nil {
				*at = cache
				marked++
			}
		}
	}
	return p
}

// noTools is for a conversation with calls whose tools are all gone: the API refuses one without tools.
func noTools() ([]anthropic.ToolUnionParam, anthropic.ToolChoiceUnionParam) {
	none := anthropic.ToolParam{
		Name: "none", Description: anthropic.String("There are no tools now."),
		InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}},
	}
	return []anthropic.ToolUnionParam{{OfTool: &none}}, anthropic.ToolChoiceUnionParam{OfNone: &anthropic.ToolChoiceNoneParam{}}
}

func (m *Model) messages(all []agent.Message) (messages []anthropic.MessageParam) {
	for _, turn := range llm.Turns(all) {
		var blocks []anthropic.ContentBlockParamUnion
		for _, part := range turn.Parts {
			if b, ok := m.block(part); ok {
				blocks = append(blocks, b)
			}
		}
		if len(blocks) > 0 { // the API takes no empty message, and makes one of two of the same role
			messages = append(messages, anthropic.MessageParam{Role: anthropic.MessageParamRole(turn.Role), Content: blocks})
		}
	}
	return messages
}

func (m *Model) block(p agent.Part) (b anthropic.ContentBlockParamUnion, ok bool) {
	switch {
	case p.Call != nil:
		return anthropic.NewToolUseBlock(llm.Word(p.Call.ID), llm.Arguments(*p.Call), llm.Word(p.Call.Name)), true
	case p.Result != nil:
		return anthropic.ContentBlockParamUnion{OfToolResult: result(*p.Result)}, true
	case p.Native != nil:
		return param.Override[anthropic.ContentBlockParamUnion](p.Native.JSON), p.Native.Provider == m.Name()
	}
	return anthropic.NewTextBlock(p.Text), strings.TrimSpace(p.Text) != ""
}

func result(r agent.Result) *anthropic.ToolResultBlockParam {
	b := &anthropic.ToolResultBlockParam{ToolUseID: llm.Word(r.ID), IsError: anthropic.Bool(r.IsError)}
	say := func(s string) {
		if strings.TrimSpace(s) != "" {
			b.Content = append(b.Content, anthropic.ToolResultBlockParamContentUnion{OfText: &anthropic.TextBlockParam{Text: s}})
		}
	}
	say(r.Text())
	for _, i := range r.Images {
		instead, ok := llm.Showable(i)
		if !ok {
			say(instead)
			continue
		}
		image := anthropic.NewImageBlockBase64(i.MIME, base64.StdEncoding.EncodeToString(i.Data)).OfImage
		b.Content = append(b.Content, anthropic.ToolResultBlockParamContentUnion{OfImage: image})
	}
	return b
}
