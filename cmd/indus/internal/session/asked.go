package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/chat"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema/validate"
)

// personCapabilities is the declaration of capabilities for servers if a person can be asked.
const personCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{}}`

const (
	// maxSampled limits the messages of a sampling request. sampledTokens is the answer's limit if the server sets
	// none.
	maxSampled    = 100
	sampledTokens = 4096
)

// person is the user at the terminal. It is nil if there is no terminal.
type person struct {
	ask  askFunc
	fill func(context.Context, chat.Form) ([]string, error)
}

// endpoint returns the options for the connection to a server.
func (x *session) endpoint(s config.Server) *interop.EndpointOptions {
	o := x.signIns.Endpoint(s)
	if x.person != nil {
		o.Capabilities, o.Receive = json.RawMessage(personCapabilities), x.receive
	}
	return o
}

// receive answers requests of servers.
func (x *session) receive(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	switch m.Method {
	case "elicitation/create":
		return x.elicit(ctx, m)
	case "sampling/createMessage":
		return x.sample(ctx, m)
	}
	return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
}

func badParams(format string, args ...any) error {
	return &interop.RPCError{Code: interop.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// elicit asks the user for values, or to open a page.
func (x *session) elicit(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	var p struct {
		Mode, Message, URL string
		RequestedSchema    json.RawMessage
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, badParams("%v", err)
	}
	f := chat.Form{Head: "the server " + m.Server + " asks you", Lines: []string{p.Message}, Yes: "answers"}
	var questions []property
	switch p.Mode {
	case "", "form":
		f.Lines = append(f.Lines, "(Give it no password and no key.)")
		questions = propertiesOf(p.RequestedSchema)
		if questions == nil {
			return nil, badParams("requestedSchema is no object of values that can be typed")
		}
		for _, q := range questions {
			f.Fields = append(f.Fields, chat.Field{Prompt: q.prompt(), Check: q.check})
		}
	case "url":
		if u, err := url.Parse(p.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, badParams("the URL is none of a page")
		}
		f.Lines = append(f.Lines, "Open this page in a browser, if you trust its site:", p.URL)
		f.Yes = "says that you opened it"
	default:
		return nil, badParams("mode %q is not known", p.Mode)
	}
	texts, err := x.person.fill(ctx, f)
	switch {
	case errors.Is(err, chat.ErrDeclined):
		return json.RawMessage(`{"action":"decline"}`), nil
	case err != nil && ctx.Err() == nil:
		return json.RawMessage(`{"action":"cancel"}`), nil
	case err != nil:
		return nil, err
	case p.Mode == "url":
		return json.RawMessage(`{"action":"accept"}`), nil
	}
	content := map[string]json.RawMessage{}
	for i, q := range questions {
		if value := q.value(texts[i]); value != nil {
			content[q.name] = value
		}
	}
	return json.Marshal(map[string]any{"action": "accept", "content": content})
}

// property is a value that a server asks for.
type property struct {
	name     string
	required bool
	schema   json.RawMessage

	Type, Title, Description, Format string
	Default                          json.RawMessage
	Enum, EnumNames                  []string
	OneOf                            []titledChoice
	Items                            struct {
		Enum  []string
		AnyOf []titledChoice
	}
}

// titledChoice is a choice with a title.
type titledChoice struct{ Const, Title string }

// propertiesOf returns the values of a form in the order of its schema, or nil if the schema is not a flat object of
// values.
func propertiesOf(schema json.RawMessage) []property {
	var object struct {
		Properties json.RawMessage
		Required   []string
	}
	all := []property{}
	if len(schema) == 0 {
		return all
	}
	if json.Unmarshal(schema, &object) != nil {
		return nil
	}
	members, err := wire.Members(object.Properties)
	if err != nil && len(object.Properties) > 0 {
		return nil
	}
	for _, m := range members {
		p := property{name: m.Key, required: slices.Contains(object.Required, m.Key), schema: m.Value}
		if json.Unmarshal(m.Value, &p) != nil {
			return nil
		}
		all = append(all, p)
	}
	return all
}

// prompt returns the name of the value and its format.
func (p property) prompt() string {
	choices := slices.Clone(p.Items.Enum)
	for _, c := range p.titled() {
		if c.Title != "" && c.Title != c.Const {
			choices = append(choices, c.Const+" ("+c.Title+")")
		} else {
			choices = append(choices, c.Const)
		}
	}
	about := show.Where([]string{p.Title, p.Description, p.Format, strings.Join(choices, " | ")},
		func(s string) bool { return s != "" })
	switch p.Type {
	case "boolean":
		about = append(about, "y or n")
	case "array":
		about = append(about, "separated by commas")
	case "number", "integer":
		about = append(about, p.Type)
	}
	switch {
	case p.Default != nil:
		about = append(about, "Enter: "+string(p.Default))
	case !p.required:
		about = append(about, "Enter leaves it out")
	}
	if len(about) == 0 {
		return p.name
	}
	return p.name + " (" + strings.Join(about, "; ") + ")"
}

// titled returns the choices that may have a title. EnumNames are the titles of Enum in 2025-06-18.
func (p property) titled() (choices []titledChoice) {
	for i, value := range p.Enum {
		c := titledChoice{Const: value}
		if i < len(p.EnumNames) {
			c.Title = p.EnumNames[i]
		}
		choices = append(choices, c)
	}
	return slices.Concat(choices, p.OneOf, p.Items.AnyOf)
}

// choice returns the value of a choice that is typed as its title. Any other text stays.
func (p property) choice(typed string) string {
	all := p.titled()
	if slices.ContainsFunc(all, func(c titledChoice) bool { return c.Const == typed }) {
		return typed
	}
	if i := slices.IndexFunc(all, func(c titledChoice) bool { return strings.EqualFold(c.Title, typed) }); i >= 0 {
		return all[i].Const
	}
	return typed
}

// value converts a text to a value of the schema's type, or to nil to leave it out.
func (p property) value(text string) json.RawMessage {
	if text == "" {
		return p.Default
	}
	switch p.Type {
	case "number", "integer":
		if !wire.Valid(json.RawMessage(text)) {
			return wire.Quote(text)
		}
		return json.RawMessage(text)
	case "boolean":
		switch strings.ToLower(text) {
		case "y", "yes", "true":
			return json.RawMessage("true")
		case "n", "no", "false":
			return json.RawMessage("false")
		}
	case "array":
		var items []string
		for item := range strings.SplitSeq(text, ",") {
			items = append(items, p.choice(strings.TrimSpace(item)))
		}
		b, _ := json.Marshal(items)
		return b
	}
	return wire.Quote(p.choice(text))
}

// checkFormat returns an error for a text that does not have the format of the schema. Validators leave formats out.
func (p property) checkFormat(text string) error {
	var err error
	example := map[string]string{"email": "name@example.com", "date": "2026-07-28", "date-time": "2026-07-28T15:04:05Z",
		"uri": "https://example.com"}[p.Format]
	switch p.Format {
	case "email":
		var a *mail.Address
		if a, err = mail.ParseAddress(text); err == nil && a.Address != text {
			err = errors.ErrUnsupported
		}
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	case "uri":
		var u *url.URL
		if u, err = url.Parse(text); err == nil && u.Scheme == "" {
			err = errors.ErrUnsupported
		}
	}
	if err != nil {
		return fmt.Errorf("expected the format %s, such as %s", p.Format, example)
	}
	return nil
}

// check returns an error if a text is not a value of the schema.
func (p property) check(text string) error {
	value := p.value(text)
	if value == nil {
		if p.required {
			return errors.New("it is required")
		}
		return nil
	}
	if err := p.checkFormat(text); text != "" && p.Type == "string" && err != nil {
		return err
	}
	v, err := validate.New(p.schema)
	if err != nil {
		return nil //nolint:nilerr // the server checks it
	}
	if err := v.Validate(value); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "/: "))
	}
	return nil
}

// sample asks the model for a message on behalf of a server. The user must allow the request, and then the answer.
func (x *session) sample(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	var p struct {
		SystemPrompt string
		MaxTokens    int
		Tools        []json.RawMessage
		ToolChoice   json.RawMessage
		Messages     []struct {
			Role    agent.Role
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, badParams("%v", err)
	}
	if p.Tools != nil || p.ToolChoice != nil && string(p.ToolChoice) != "null" {
		return nil, badParams("tools: indus does not declare sampling.tools") // else the model would answer without them
	}
	if len(p.Messages) == 0 || len(p.Messages) > maxSampled {
		return nil, badParams("%d messages: indus takes 1 to %d", len(p.Messages), maxSampled)
	}
	r := agent.Request{System: p.SystemPrompt, MaxTokens: cmp.Or(p.MaxTokens, sampledTokens)}
	f := chat.Form{Head: "the server " + m.Server + " wants the model to answer", Yes: "lets it, once"}
	if p.SystemPrompt != "" {
		f.Lines = append(f.Lines, "system: "+p.SystemPrompt)
	}
	for i, one := range p.Messages {
		text, ok := sampledText(one.Content)
		if !ok || one.Role != agent.User && one.Role != agent.Assistant {
			return nil, badParams("message %d is not one of text alone", i)
		}
		f.Lines = append(f.Lines, string(one.Role)+": "+text)
		r.Messages = append(r.Messages, agent.Message{Role: one.Role, Parts: []agent.Part{{Text: text}}})
	}
	if _, err := x.person.fill(ctx, f); err != nil {
		return nil, samplingError(err)
	}
	provider := x.currentModel()
	reply, err := provider.Generate(ctx, r, nil)
	if err != nil {
		return nil, &interop.RPCError{Code: interop.CodeInternal, Message: err.Error()}
	}
	text := reply.Message.Text()
	f = chat.Form{Head: "the model's answer, for the server " + m.Server, Lines: []string{text}, Yes: "sends it"}
	if _, err := x.person.fill(ctx, f); err != nil {
		return nil, samplingError(err)
	}
	stop := map[agent.Stop]string{agent.StopLength: "maxTokens", agent.StopRefusal: "refusal"}[reply.Stop]
	return json.Marshal(map[string]any{
		"role": "assistant", "model": provider.Name(), "stopReason": cmp.Or(stop, "endTurn"),
		"content": map[string]string{"type": "text", "text": text},
	})
}

// samplingError returns the server's error if the user rejects a sampling request (client/sampling, "Error Handling").
func samplingError(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &interop.RPCError{Code: -1, Message: "the user rejected the sampling request"}
}

// sampledText returns the text of a message of one or more blocks, if all blocks are text.
func sampledText(content json.RawMessage) (string, bool) {
	blocks, err := wire.Elements(content)
	if err != nil {
		blocks = []json.RawMessage{content}
	}
	var texts []string
	for _, b := range blocks {
		var block struct{ Type, Text string }
		if json.Unmarshal(b, &block) != nil || block.Type != "text" {
			return "", false
		}
		texts = append(texts, block.Text)
	}
	return strings.Join(texts, "\n\n"), strings.TrimSpace(strings.Join(texts, "")) != ""
}
