package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// toolClient is the client of a call, in the form for local tools.
type toolClient struct {
	client *interop.Client // nil: the call has no client
	back   interop.Peer    // nil: the client cannot be reached
}

var _ toolbox.Client = (*toolClient)(nil)

// WithClient returns ctx with the client of a request, for servers and for local tools.
func WithClient(ctx context.Context, m interop.Message, back interop.Peer) context.Context {
	return toolbox.WithClient(interop.WithClient(ctx, m.Client), &toolClient{m.Client, back})
}

// Session implements [toolbox.Client].
func (t *toolClient) Session() (name string, life context.Context) {
	if t.client == nil {
		return "", nil
	}
	return t.client.Session, t.client.Life
}

// ask sends a question to the client. The params are checked against its capabilities.
func (t *toolClient) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	if t.client == nil || t.back == nil {
		return nil, toolbox.ErrCannotAsk
	}
	if err := protocol.CheckClientRequest(t.client.Capabilities, method, raw); err != nil {
		return nil, fmt.Errorf("%w: %w", toolbox.ErrCannotAsk, err)
	}
	answer, err := t.back(ctx, interop.Message{Method: method, Params: raw, Era: t.client.Era})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%s: %w", method, err)
	case !wire.Valid(answer) || answer[0] != '{':
		return nil, fmt.Errorf("%s: the client's answer is no object", method)
	}
	return answer, nil
}

// Elicit implements [toolbox.Client] (2025-11-25, client/elicitation).
func (t *toolClient) Elicit(ctx context.Context, message string, schema json.RawMessage) (json.RawMessage, error) {
	answer, err := t.ask(ctx, protocol.MethodElicit, struct {
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}{message, schema})
	if err != nil {
		return nil, err
	}
	switch action, _ := protocol.LookupString(answer, "action"); action {
	case "accept":
		content, ok := wire.Lookup(answer, "content")
		if !ok || content[0] != '{' {
			content = json.RawMessage(`{}`)
		}
		return content, nil
	case "decline":
		return nil, toolbox.ErrDeclined
	case "cancel":
		return nil, toolbox.ErrDismissed
	default:
		return nil, fmt.Errorf("%s: the client's answer has the action %q",
			protocol.MethodElicit, protocol.Printable(action, 40))
	}
}

// defaultMaxTokens bounds a reply of a client's model if the tool sets no bound.
const defaultMaxTokens = 1000

// Sample implements [toolbox.Client] (2025-11-25, client/sampling).
func (t *toolClient) Sample(ctx context.Context, s toolbox.Sampling) (toolbox.Message, error) {
	messages, err := EncodeMessages(s.Messages)
	if err != nil {
		return toolbox.Message{}, fmt.Errorf("%s: %w", protocol.MethodSample, err)
	}
	type hint struct {
		Name string `json:"name"`
	}
	type preferences struct {
		Hints []hint `json:"hints"`
	}
	params := struct {
		Messages    json.RawMessage `json:"messages"`
		System      string          `json:"systemPrompt,omitempty"`
		MaxTokens   int             `json:"maxTokens"`
		Temperature *float64        `json:"temperature,omitempty"`
		Stop        []string        `json:"stopSequences,omitempty"`
		Models      *preferences    `json:"modelPreferences,omitempty"`
	}{messages, s.System, cmp.Or(s.MaxTokens, defaultMaxTokens), s.Temperature, s.Stop, nil}
	if len(s.Models) > 0 {
		params.Models = &preferences{}
		for _, name := range s.Models {
			params.Models.Hints = append(params.Models.Hints, hint{name})
		}
	}
	answer, err := t.ask(ctx, protocol.MethodSample, params)
	if err != nil {
		return toolbox.Message{}, err
	}
	return decodeReply(answer)
}

// EncodeMessages encodes messages for MCP. Each has one block, which is valid in every revision.
func EncodeMessages(all []toolbox.Message) (json.RawMessage, error) {
	if len(all) == 0 {
		return nil, errors.New("there is no message")
	}
	b := []byte{'['}
	for i, m := range all {
		role := cmp.Or(m.Role, "user")
		if role != "user" && role != "assistant" {
			return nil, fmt.Errorf("message %d has the role %q; use user or assistant", i+1, role)
		}
		blocks := m.Blocks
		if m.Text != "" || len(blocks) == 0 {
			blocks = append([]toolbox.Block{toolbox.Text(m.Text)}, blocks...)
		}
		for _, block := range blocks {
			if len(b) > 1 {
				b = append(b, ',')
			}
			content, err := appendBlock(nil, block)
			if err != nil {
				return nil, fmt.Errorf("message %d: %w", i+1, err)
			}
			b = append(b, wire.Object{}.Text("role", role).Raw("content", content).JSON()...)
		}
	}
	return append(b, ']'), nil
}

// decodeReply decodes the reply of a client's model.
func decodeReply(answer json.RawMessage) (toolbox.Message, error) {
	var m toolbox.Message
	m.Role, _ = protocol.LookupString(answer, "role")
	m.Model, _ = protocol.LookupString(answer, "model")
	m.Stop, _ = protocol.LookupString(answer, "stopReason")
	content, _ := wire.Lookup(answer, "content")
	blocks := []json.RawMessage{content}
	if len(content) > 0 && content[0] == '[' {
		var err error
		blocks, err = wire.Elements(content)
		if err != nil {
			return m, fmt.Errorf("%s: the reply's content: %w", protocol.MethodSample, err)
		}
	}
	var texts []string
	for _, block := range blocks {
		kind, ok := protocol.LookupString(block, "type")
		if !ok {
			return m, fmt.Errorf("%s: the reply holds no content block: %s",
				protocol.MethodSample, protocol.Printable(string(answer), 200))
		}
		if text, isText := protocol.LookupString(block, "text"); isText && kind == "text" {
			texts = append(texts, text)
			continue
		}
		m.Blocks = append(m.Blocks, toolbox.Block{Wire: toolbox.Wire{Format: toolbox.FormatMCP, JSON: block}})
	}
	m.Text = strings.Join(texts, "\n\n")
	return m, nil
}

// Log implements [toolbox.Client].
func (t *toolClient) Log() slog.Handler { return &logHandler{client: t} }

// logHandler sends records to a client as notifications/message (2025-11-25, server/utilities/logging).
type logHandler struct {
	client   *toolClient
	wrappers []func(slog.Handler) slog.Handler // WithAttrs and WithGroup, in order
}

// Enabled implements [slog.Handler]. A legacy client receives all records until it sets a level. A modern client
// receives only the levels that its request asks for.
func (l *logHandler) Enabled(_ context.Context, level slog.Level) bool {
	c := l.client.client
	if c == nil || l.client.back == nil {
		return false
	}
	if c.LogLevel == "" {
		return c.Era == interop.Legacy
	}
	return protocol.ReachesSeverity(logLevel(level), c.LogLevel)
}

// Handle implements [slog.Handler]. A record that cannot be sent is lost, and the error is returned.
func (l *logHandler) Handle(ctx context.Context, r slog.Record) error {
	var line bytes.Buffer
	data := json.RawMessage(wire.Quote(strings.ToValidUTF8(r.Message, "\uFFFD")))
	if r.NumAttrs() > 0 || len(l.wrappers) > 0 {
		opts := &slog.HandlerOptions{Level: slog.Level(-1 << 20), ReplaceAttr: logMember}
		handler := slog.Handler(slog.NewJSONHandler(io.Writer(&line), opts))
		for _, wrap := range l.wrappers {
			handler = wrap(handler)
		}
		if err := handler.Handle(ctx, r); err != nil {
			return err
		}
		data = bytes.TrimSpace(line.Bytes())
	}
	params := wire.Object{}.Text("level", logLevel(r.Level)).Raw("data", data).JSON()
	_, err := l.client.back(ctx, interop.Message{Method: protocol.NoteMessage, Params: params})
	return err
}

// logMember removes the attributes of a record that the notification has in other fields.
func logMember(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

// WithAttrs implements [slog.Handler].
func (l *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return l.withWrapper(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

// WithGroup implements [slog.Handler].
func (l *logHandler) WithGroup(name string) slog.Handler {
	return l.withWrapper(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (l *logHandler) withWrapper(wrap func(slog.Handler) slog.Handler) slog.Handler {
	return &logHandler{l.client, append(l.wrappers[:len(l.wrappers):len(l.wrappers)], wrap)}
}

// logLevel returns MCP's name of a level.
func logLevel(level slog.Level) string {
	for _, known := range []struct {
		from slog.Level
		name string
	}{
		{slog.LevelError + 12, "emergency"}, {slog.LevelError + 8, "alert"},
		{slog.LevelError + 4, "critical"}, {slog.LevelError, "error"},
		{slog.LevelWarn, "warning"}, {slog.LevelInfo + 2, "notice"}, {slog.LevelInfo, "info"},
	} {
		if level >= known.from {
			return known.name
		}
	}
	return "debug"
}
