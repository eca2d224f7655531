package modelserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Request is a request of a client.
type Request struct {
	Path   string          `json:"path"`
	Header http.Header     `json:"header"`
	Body   json.RawMessage `json:"body"`
}

// Tool is a tool that a request offers, with its schema as it is on the wire.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage
}

// Result is the result of a call in a request. Text is all of its text.
type Result struct {
	ID, Text string
	IsError  bool // of Anthropic's API only
}

// Tools returns the tools in the request, in order.
func (r Request) Tools() (tools []Tool) {
	var body struct {
		Tools []struct {
			Name, Description string
			Input             json.RawMessage `json:"input_schema"`
			Function          struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
	}
	_ = json.Unmarshal(r.Body, &body)
	for _, t := range body.Tools {
		if f := t.Function; f.Name != "" {
			tools = append(tools, Tool{f.Name, f.Description, f.Parameters})
		} else {
			tools = append(tools, Tool{t.Name, t.Description, t.Input})
		}
	}
	return tools
}

// System returns the system prompt.
func (r Request) System() string {
	b := r.conversation()
	text := b.System.text()
	for _, m := range b.Messages {
		if m.Role == "system" || m.Role == "developer" {
			text += m.Content.text()
		}
	}
	return text
}

// Prompt returns the text of the last message of a person.
func (r Request) Prompt() string {
	for _, m := range slices.Backward(r.conversation().Messages) {
		if text := m.Content.text(); m.Role == "user" && text != "" {
			return text
		}
	}
	return ""
}

// Results returns the results of all calls, in order.
func (r Request) Results() (results []Result) {
	for _, m := range r.conversation().Messages {
		if m.Role == "tool" {
			results = append(results, Result{ID: m.ID, Text: m.Content.text()})
		}
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				results = append(results, Result{b.Result, b.Content.text(), b.IsError})
			}
		}
	}
	return results
}

// body holds the parts of a conversation that both APIs have.
type body struct {
	Model     string
	MaxTokens int `json:"max_tokens"`
	Stream    bool
	System    content
	Messages  []message
	Tools     []struct{ Name, Type string }
}

type message struct {
	Role    string
	Content content
	ID      string `json:"tool_call_id"`
	Calls   []struct {
		ID       string
		Function struct {
			Name      string
			Arguments *string
		}
	} `json:"tool_calls"`
}

// content is a string, or blocks.
type content []block

type block struct {
	Type, Text          string
	ID, Name            string
	Thinking, Signature string
	Result              string `json:"tool_use_id"`
	Input               json.RawMessage
	Content             content
	IsError             bool            `json:"is_error"`
	Cache               json.RawMessage `json:"cache_control"`
}

// UnmarshalJSON accepts a string, blocks or null.
func (c *content) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err == nil {
		if text != "" {
			*c = content{{Type: "text", Text: text}}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]block)(c))
}

func (c content) text() string {
	var all strings.Builder
	for _, b := range c {
		if b.Type == "text" {
			all.WriteString(b.Text)
		}
	}
	return all.String()
}

func (r Request) conversation() (b body) {
	_ = json.Unmarshal(r.Body, &b)
	return b
}
