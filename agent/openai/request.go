package openai

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/internal/llm"
)

// request is the body of a request for a streamed answer.
type request struct {
	Model         string        `json:"model"`
	Messages      []message     `json:"messages"`
	Tools         []tool        `json:"tools,omitempty"`
	MaxTokens     int           `json:"max_tokens,omitempty"`
	MaxCompletion int           `json:"max_completion_tokens,omitempty"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message is one message of a request. Content is a string, a []content, or nil.
type message struct {
	Role      string     `json:"role"`
	Content   any        `json:"content,omitempty"`
	Calls     []toolCall `json:"tool_calls,omitempty"`
	CallID    string     `json:"tool_call_id,omitempty"` // for the role "tool"
	Reasoning string     `json:"reasoning,omitempty"`
	Thoughts  string     `json:"reasoning_content,omitempty"` // the name of Reasoning on some servers

	Details []json.RawMessage `json:"reasoning_details,omitempty"` // of OpenRouter
}

// content is a piece of a message: a text or an image.
type content struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// toolCall is a call of the model as it is sent back.
type toolCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function calledFunction  `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

type calledFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// native holds the parts of a message that some servers require back, beside text and calls.
type native struct {
	// Reasoning is keyed by the server's field name.
	Reasoning map[string]string `json:"reasoning,omitempty"`
	// Extra is keyed by the id of a call. It holds Gemini's thought signatures.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
	// Details is OpenRouter's reasoning_details.
	Details []json.RawMessage `json:"details,omitempty"`
}

func (m *Model) request(r agent.Request, withoutImages bool) request {
	body := request{Model: m.model, Messages: []message{}, Stream: true, StreamOptions: streamOptions{IncludeUsage: true}}
	if m.provider == "openai" { // newer models of OpenAI refuse max_tokens, and other servers know only max_tokens
		body.MaxCompletion = max(r.MaxTokens, 0)
	} else {
		body.MaxTokens = max(r.MaxTokens, 0)
	}
	for _, d := range r.Tools {
		body.Tools = append(body.Tools, tool{"function", function{d.Name, d.Description, llm.Parameters(d)}})
	}
	if strings.TrimSpace(r.System) != "" {
		body.Messages = append(body.Messages, message{Role: "system", Content: r.System})
	}
	for _, turn := range llm.Turns(r.Messages) {
		if turn.Role == agent.User {
			body.Messages = append(body.Messages, userMessages(turn, withoutImages)...)
		} else if reply := m.assistant(turn); len(reply.Calls) > 0 || reply.Content != nil {
			body.Messages = append(body.Messages, reply)
		}
	}
	return body
}

// userMessages returns the results of calls, then their images, then the text of a person.
func userMessages(turn agent.Message, withoutImages bool) (messages []message) {
	var images []content
	for _, p := range turn.Parts {
		if p.Result == nil {
			continue
		}
		output := llm.Output(*p.Result)
		for _, i := range p.Result.Images {
			if placeholder, ok := llm.Showable(i); !ok {
				output += "\n" + placeholder
			} else if withoutImages {
				output += "\n[an image, which this model cannot see]"
			} else {
				images = append(images, content{Type: "text", Text: "An image from " + llm.Word(p.Result.Name) + ":"}, image(i))
			}
		}
		messages = append(messages, message{Role: "tool", CallID: llm.ShortID(p.Result.ID), Content: output})
	}
	if len(images) > 0 {
		messages = append(messages, message{Role: "user", Content: images})
	}
	if text := turn.Text(); strings.TrimSpace(text) != "" {
		messages = append(messages, message{Role: "user", Content: text})
	}
	return messages
}

func image(i agent.Image) content {
	url := "data:" + i.MIME + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
	return content{Type: "image_url", Image: &imageURL{url}}
}

// assistant returns a message of the model. Its reasoning is sent back only with calls: some servers require it there
// and refuse it elsewhere.
func (m *Model) assistant(turn agent.Message) message {
	reply := message{Role: "assistant"}
	var extras native
	for _, p := range turn.Parts {
		if p.Native != nil && p.Native.Provider == m.Name() {
			_ = json.Unmarshal(p.Native.JSON, &extras)
		}
	}
	for _, c := range turn.Calls() {
		f := calledFunction{llm.Word(c.Name), string(llm.Arguments(c))}
		reply.Calls = append(reply.Calls, toolCall{llm.ShortID(c.ID), "function", f, extras.Extra[c.ID]})
	}
	if text := turn.Text(); text != "" {
		reply.Content = text
	}
	reply.Details = extras.Details
	if len(reply.Calls) > 0 {
		reply.Reasoning, reply.Thoughts = extras.Reasoning["reasoning"], extras.Reasoning["reasoning_content"]
	}
	return reply
}

func hasImages(r agent.Request) bool {
	return slices.ContainsFunc(r.Messages, func(m agent.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p agent.Part) bool { return p.Result != nil && len(p.Result.Images) > 0 })
	})
}
