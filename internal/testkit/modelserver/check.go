package modelserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/wire"
)

// refusal is an error with the text of a provider.
type refusal string

func (r refusal) Error() string { return string(r) }

// checkAnthropic returns an error if the Messages API would refuse the request, with the same text.
func checkAnthropic(r Request) error {
	b, err := checkBody(r, regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`))
	switch {
	case err != nil:
		return err
	case r.Header.Get("Anthropic-Version") == "":
		return errors.New("anthropic-version: header is required")
	case b.MaxTokens < 1:
		return errors.New("max_tokens: Field required")
	case strings.Count(string(r.Body), `"cache_control":`) > 4:
		return refusal("A maximum of 4 blocks with cache_control may be provided.")
	case b.Messages[0].Role != "user":
		return errors.New("messages: first message must use the \"user\" role")
	}
	var open []string // calls of the previous message
	ids := map[string]bool{}
	for i, m := range b.Messages {
		if len(m.Content) == 0 {
			return fmt.Errorf("messages.%d: all messages must have non-empty content except for the optional final assistant "+
				"message", i)
		}
		if err := checkThinking(m); err != nil {
			return fmt.Errorf("messages.%d%w", i, err)
		}
		var calls, results []string
		unanswered := false
		for j, one := range m.Content {
			if err := checkBlock(one, m.Role); err != nil {
				return fmt.Errorf("messages.%d.content.%d: %w", i, j, err)
			}
			switch one.Type {
			case "tool_use":
				if calls = append(calls, one.ID); ids[one.ID] {
					return fmt.Errorf("messages.%d.content.%d: `tool_use` ids must be unique", i, j)
				}
				ids[one.ID] = true
			case "tool_result":
				if !slices.Contains(open, one.Result) || slices.Contains(results, one.Result) || unanswered {
					return fmt.Errorf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each "+
						"`tool_result` block must have a corresponding `tool_use` block in the previous message", i, j, one.Result)
				}
				results = append(results, one.Result)
			default:
				unanswered = true
			}
		}
		if len(calls) > 0 && len(b.Tools) == 0 {
			return refusal("Requests which include `tool_use` or `tool_result` blocks must define tools")
		}
		if len(results) < len(open) {
			return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", i-1,
				strings.Join(open, ", "))
		}
		open = calls
	}
	if len(open) > 0 {
		return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s",
			len(b.Messages)-1, strings.Join(open, ", "))
	}
	return nil
}

// checkThinking returns an error if thinking of a message is not before its other blocks, or at its end.
func checkThinking(m message) error {
	isThinking := func(b block) bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }
	first := slices.IndexFunc(m.Content, isThinking)
	switch {
	case first > 0:
		return refusal(fmt.Sprintf(".content.0: If an assistant message contains any thinking blocks, the first block "+
			"must be `thinking` or `redacted_thinking`. Found `%s`.", m.Content[0].Type))
	case first == 0 && isThinking(m.Content[len(m.Content)-1]):
		return refusal(": The final block in an assistant message cannot be `thinking`.")
	}
	return nil
}

func checkBlock(b block, role string) error {
	var input map[string]json.RawMessage
	switch {
	case isBlank(b):
		return errors.New("text content blocks must contain non-whitespace text")
	case b.Type == "tool_use" && (json.Unmarshal(b.Input, &input) != nil || input == nil):
		return errors.New("tool_use.input: Input should be a valid dictionary")
	case b.Type == "tool_use" && !regexp.MustCompile(`^[a-zA-Z0-9_-]+$`).MatchString(b.ID):
		return errors.New("tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
	case b.Type == "tool_use" && !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,200}$`).MatchString(b.Name):
		return errors.New("tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'")
	case b.Type == "tool_result" && b.IsError && len(b.Content) == 0:
		return errors.New("tool_result: content cannot be empty if `is_error` is true")
	case b.Type == "tool_result" && b.IsError &&
		slices.ContainsFunc(b.Content, func(c block) bool { return c.Type != "text" }):
		return errors.New("tool_result: all content must be type \"text\" if `is_error` is true")
	case b.Type == "tool_result" && slices.ContainsFunc(b.Content, isBlank):
		return errors.New("tool_result: text content blocks must contain non-whitespace text")
	case b.Type == "image" && role != "user":
		return errors.New("image blocks are only permitted in user messages")
	case b.Type == "thinking" && b.Signature != Signature(b.Thinking):
		return refusal("Invalid `signature` in `thinking` block")
	case slices.Contains([]string{"tool_use", "thinking", "redacted_thinking"}, b.Type) != (role == "assistant") &&
		b.Type != "text" && b.Type != "image":
		return fmt.Errorf("%s blocks are not allowed in a message of %s", b.Type, role)
	}
	return nil
}

func isBlank(b block) bool { return b.Type == "text" && strings.TrimSpace(b.Text) == "" }

// checkOpenAI returns an error if chat completions would refuse the request, with the same text.
func checkOpenAI(r Request) error {
	b, err := checkBody(r, regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`))
	if err != nil {
		return err
	}
	var open []string // calls that wait for their results
	for i, m := range b.Messages {
		switch {
		case m.Role == "tool" && !slices.Contains(open, m.ID):
			return refusal(fmt.Sprintf("Invalid parameter: messages with role 'tool' must be a response to a preceeding "+
				"message with 'tool_calls': messages.[%d]", i))
		case m.Role == "tool":
			open = slices.DeleteFunc(open, func(id string) bool { return id == m.ID })
			continue
		case len(open) > 0:
			return unanswered(open)
		case m.Role == "assistant" && len(m.Content) == 0 && len(m.Calls) == 0:
			return refusal(fmt.Sprintf("Invalid value for 'content': expected a string, got null: messages.[%d]", i))
		}
		for _, c := range m.Calls {
			if c.ID == "" || c.Function.Name == "" || c.Function.Arguments == nil || slices.Contains(open, c.ID) {
				return refusal(fmt.Sprintf("Missing or repeated parameter: 'messages[%d].tool_calls'", i))
			}
			if n := len(c.ID); n > 40 {
				return refusal(fmt.Sprintf("Invalid 'messages[%d].tool_calls[0].id': string too long. Expected a string with "+
					"maximum length 40, but got a string with length %d instead.", i, n))
			}
			if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(c.Function.Name) {
				return refusal(fmt.Sprintf("Invalid 'messages[%d].tool_calls[0].function.name': string does not match pattern.", i))
			}
			if err := checkJSON([]byte(*c.Function.Arguments)); err != nil { // many servers read it for their templates
				return refusal(fmt.Sprintf("Invalid 'messages[%d].tool_calls[0].function.arguments': %v", i, err))
			}
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return nil
}

func unanswered(ids []string) error {
	return refusal(fmt.Sprintf("An assistant message with 'tool_calls' must be followed by tool messages responding to "+
		"each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", ")))
}

// checkBody returns an error if both APIs would refuse the body.
func checkBody(r Request, names *regexp.Regexp) (b body, err error) {
	if err := errors.Join(json.Unmarshal(r.Body, &b), checkJSON(r.Body)); err != nil {
		return b, fmt.Errorf("the request body is not valid JSON: %w", err)
	}
	var raw struct{ Tools json.RawMessage }
	_ = json.Unmarshal(r.Body, &raw)
	switch {
	case !b.Stream:
		return b, errors.New("this server streams only: set \"stream\"")
	case b.Model == "":
		return b, errors.New("model: Field required")
	case len(b.Messages) == 0:
		return b, errors.New("messages: at least one message is required")
	case raw.Tools != nil && len(b.Tools) == 0:
		return b, errors.New("[] is too short - 'tools'")
	}
	seen := map[string]bool{}
	for i, t := range r.Tools() {
		if !names.MatchString(t.Name) {
			return b, fmt.Errorf("tools.%d.name: String should match pattern '%s'", i, names)
		}
		if seen[t.Name] {
			return b, refusal("tools: Tool names must be unique.")
		}
		seen[t.Name] = true
		var root struct{ Type string }
		if err := json.Unmarshal(t.Schema, &root); err != nil || root.Type != "object" {
			return b, fmt.Errorf("tools.%d: Input should be 'object'", i)
		}
	}
	return b, nil
}

// checkJSON returns an error for JSON that the strict readers of the providers refuse.
func checkJSON(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	depth := 0
	for {
		token, err := d.Token()
		switch token := token.(type) {
		case json.Delim:
			if depth--; token == '{' || token == '[' {
				depth += 2
			}
		case json.Number:
			_, err = token.Float64()
		}
		switch {
		case errors.Is(err, io.EOF) && !utf8.Valid(raw):
			return errors.New("invalid UTF-8")
		case errors.Is(err, io.EOF) && wire.HasLoneSurrogate(raw):
			return errors.New("no low surrogate in string")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case depth > 128:
			return errors.New("recursion limit exceeded")
		}
	}
}
