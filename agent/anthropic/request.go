package anthropic

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/internal/llm"
)

// request is the body of a request for a streamed answer.
type request struct {
	Model      string     `json:"model"`
	MaxTokens  int        `json:"max_tokens"`
	System     []*content `json:"system,omitempty"`
	Messages   []message  `json:"messages"`
	Tools      []*tool    `json:"tools,omitempty"`
	ToolChoice *typeOnly  `json:"tool_choice,omitempty"`
	Stream     bool       `json:"stream"`
}

// typeOnly is a JSON object that has only a type.
type typeOnly struct {
	Type string `json:"type"`
}

// message is one message of a request. Each element of Content is a *content, or a json.RawMessage that the model
// wrote.
type message struct {
	Role    agent.Role `json:"role"`
	Content []any      `json:"content"`
}

// content is a block of a message. Type determines which other fields are set.
type content struct {
	Type   string          `json:"type"`
	Text   string          `json:"text,omitempty"`
	ID     string          `json:"id,omitempty"` // of a call
	Name   string          `json:"name,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	CallID string          `json:"tool_use_id,omitempty"` // of a result
	Parts  []*content      `json:"content,omitempty"`
	Failed bool            `json:"is_error,omitempty"`
	Source *source         `json:"source,omitempty"` // of an image
	Cache  *typeOnly       `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *typeOnly       `json:"cache_control,omitempty"`
}

// request builds the body of a request. It marks up to four ends of cached prefixes: the tools, the system prompt, and
// the last two user messages. The previous request has already cached the prefix up to the earlier of these messages.
func (m *Model) request(r agent.Request) request {
	body := request{
		Model: m.model, MaxTokens: cmp.Or(r.MaxTokens, maxTokens), Messages: m.messages(r.Messages), Stream: true,
	}
	cached := &typeOnly{"ephemeral"}
	if strings.TrimSpace(r.System) != "" {
		body.System = []*content{{Type: "text", Text: r.System, Cache: cached}}
	}
	for _, d := range r.Tools {
		body.Tools = append(body.Tools, &tool{Name: d.Name, Description: d.Description, InputSchema: llm.Parameters(d)})
	}
	if n := len(body.Tools); n > 0 {
		body.Tools[n-1].Cache = cached
	} else if slices.ContainsFunc(r.Messages, func(m agent.Message) bool { return len(m.Calls()) > 0 }) {
		// The API refuses a conversation with calls and without tools.
		none := json.RawMessage(`{"type":"object","properties":{}}`)
		body.Tools = []*tool{{Name: "none", Description: "There are no tools now.", InputSchema: none}}
		body.ToolChoice = &typeOnly{"none"}
	}
	marked := 0
	for _, msg := range slices.Backward(body.Messages) {
		if last, ok := msg.Content[len(msg.Content)-1].(*content); ok && msg.Role == agent.User && marked < 2 {
			last.Cache = cached
			marked++
		}
	}
	return body
}

func (m *Model) messages(all []agent.Message) []message {
	messages := []message{}
	for _, turn := range llm.Turns(all) {
		var results, images, rest []any // in this order
		for _, part := range withPlacedThinking(turn.Parts) {
			switch b := m.block(part); {
			case part.Result != nil:
				results = append(results, b)
				images = append(images, imagesOfFailure(*part.Result)...)
			case b != nil:
				rest = append(rest, b)
			}
		}
		blocks := slices.Concat(results, images, rest)
		if len(blocks) > 0 { // the API refuses an empty message, and joins two messages of the same role
			messages = append(messages, message{turn.Role, blocks})
		}
	}
	return messages
}

// withPlacedThinking leaves thinking out where the API refuses it: at the end of a message, and behind other blocks if
// the message does not begin with thinking.
func withPlacedThinking(parts []agent.Part) []agent.Part {
	isThinking := func(p agent.Part) bool { return p.Native != nil }
	end := len(parts)
	for end > 0 && isThinking(parts[end-1]) {
		end--
	}
	parts = parts[:end]
	if end > 0 && !isThinking(parts[0]) {
		return slices.DeleteFunc(slices.Clone(parts), isThinking)
	}
	return parts
}

// block converts a part of a message to the form of the API. It returns nil for a part that is left out.
func (m *Model) block(p agent.Part) any {
	switch {
	case p.Call != nil:
		return &content{Type: "tool_use", ID: llm.ID(p.Call.ID), Name: llm.Word(p.Call.Name), Input: llm.Arguments(*p.Call)}
	case p.Result != nil:
		return result(*p.Result)
	case p.Native != nil && p.Native.Provider == m.Name():
		return p.Native.JSON
	case p.Native != nil || strings.TrimSpace(p.Text) == "":
		return nil
	}
	return &content{Type: "text", Text: p.Text}
}

func result(r agent.Result) *content {
	c := &content{Type: "tool_result", CallID: llm.ID(r.ID), Failed: r.IsError}
	add := func(s string) {
		if strings.TrimSpace(s) != "" {
			c.Parts = append(c.Parts, &content{Type: "text", Text: s})
		}
	}
	add(llm.Output(r))
	for _, i := range r.Images {
		if placeholder, ok := llm.Showable(i); !ok {
			add(placeholder)
		} else if !r.IsError { // the API accepts only texts in the result of a failed call
			c.Parts = append(c.Parts, image(i))
		}
	}
	return c
}

// imagesOfFailure returns the images of a failed call, which follow all results of the message.
func imagesOfFailure(r agent.Result) (blocks []any) {
	for _, i := range r.Images {
		if _, ok := llm.Showable(i); ok && r.IsError {
			about := "An image from " + llm.Word(r.Name) + ":"
			blocks = append(blocks, &content{Type: "text", Text: about}, image(i))
		}
	}
	return blocks
}

func image(i agent.Image) *content {
	data := &source{"base64", i.MIME, base64.StdEncoding.EncodeToString(i.Data)}
	return &content{Type: "image", Source: data}
}
