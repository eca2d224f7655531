package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/indusagi/indus/schema/infer"
	"github.com/indusagi/indus/schema/validate"
)

// Client is the program that made a call, for the functions [Elicit], [Sample] and [Log] of a tool. A host implements
// it, and puts it into the context with [WithClient]. All methods may be called from any goroutine.
type Client interface {
	// Session returns the name of the session or connection of the call, and a context that ends with it. They are ""
	// and nil if the call belongs to no session.
	Session() (name string, life context.Context)
	// Elicit shows the message and a form of the schema (see [infer.Form]) to a person. It returns the filled form, an
	// object. Its errors are described at the function Elicit.
	Elicit(ctx context.Context, message string, schema json.RawMessage) (json.RawMessage, error)
	// Sample sends a request to the client's model. Its errors are described at the function Sample.
	Sample(ctx context.Context, s Sampling) (Message, error)
	// Log returns a handler that sends records to the client, at the levels that the client requested.
	Log() slog.Handler
}

// The errors of [Elicit] and [Sample]. Each may be wrapped.
var (
	// ErrCannotAsk means that the caller is no client that supports such questions, or that it did not declare the
	// capability.
	ErrCannotAsk = Errorf("the client cannot be asked")
	// ErrDeclined means that the person refused to answer.
	ErrDeclined = Errorf("the person declined to answer")
	// ErrDismissed means that the person closed the question without a choice.
	ErrDismissed = Errorf("the person dismissed the question")
)

// Elicit asks the person behind a call to fill in a T. T is a struct with fields of strings, numbers, booleans or lists
// of enum strings. Package infer documents the struct tags that describe the fields. A field with a default or
// omitempty may be left out.
//
//	type choice struct {
//		Size string `json:"size" jsonschema:"enum=small,enum=large"`
//	}
//	c, err := toolbox.Elicit[choice](ctx, "Which size?")
//
// ctx is the context that the tool received. Elicit waits until the person answers or ctx ends. The error is
// [ErrDeclined], [ErrDismissed], [ErrCannotAsk], the error of ctx, or the reason why the client's answer does not fit.
// If T is not a form, Elicit returns an error before it asks anything, whatever the client supports.
func Elicit[T any](ctx context.Context, message string) (answer T, err error) {
	schema, err := infer.Form[T]()
	if err != nil {
		return answer, fmt.Errorf("toolbox: Elicit: %w", err)
	}
	client := clientOf(ctx)
	if client == nil {
		return answer, errNoClient
	}
	content, err := client.Elicit(ctx, message, schema)
	if err != nil {
		return answer, err
	}
	v, err := validate.New(schema)
	if err == nil {
		content = v.Complete(content)
		err = checkInput(v, content)
	}
	if err == nil {
		err = json.Unmarshal(content, &answer)
	}
	if err != nil {
		return *new(T), Errorf("the client's answer does not fit the form: %w", err)
	}
	return answer, nil
}

// Sampling is a request to a client's model.
type Sampling struct {
	// Messages is the conversation so far. It has at least one message.
	Messages []Message
	// System is the system prompt, which the client may change or leave out. "" means no prompt.
	System string
	// MaxTokens bounds the reply. 0 means 1,000.
	MaxTokens int
	// Temperature is nil if the client decides.
	Temperature *float64
	// Stop lists texts at which the reply ends. It may be nil.
	Stop []string
	// Models lists the preferred models by name or part of a name, the best first. nil means any model.
	Models []string
}

// Message is one message of a conversation with a model. It is part of a [Sampling], its reply, or part of a prompt.
type Message struct {
	// Role is "user" or "assistant". "" means "user".
	Role string
	// Text is the text of the message. In a reply it holds all text of the reply.
	Text string
	// Blocks holds the content of the message besides Text: [Image], [Audio], [Embedded].
	Blocks []Block
	// Model and Stop are set only in a reply: the model that wrote it, and the reason why it ended ("endTurn").
	Model, Stop string
}

// Sample sends a request to the model of the client that made a call. ctx is the context that the tool received. Sample
// waits until there is a reply or ctx ends. The error is [ErrCannotAsk], the error of ctx, or the reason why the client
// refused.
func Sample(ctx context.Context, s Sampling) (Message, error) {
	client := clientOf(ctx)
	if client == nil {
		return Message{}, errNoClient
	}
	return client.Sample(ctx, s)
}

// Log returns a logger that sends its records to the client that made a call, at the levels that the client requested.
// Without such a client, records are dropped. MCP has levels besides slog's: notice is Info+2, critical Error+4, alert
// Error+8, emergency Error+12.
func Log(ctx context.Context) *slog.Logger {
	if client := clientOf(ctx); client != nil {
		return slog.New(client.Log())
	}
	return slog.New(slog.DiscardHandler)
}

// errNoClient is the error for a call that no client of a host made.
var errNoClient = Errorf("%w: no client made this call", ErrCannotAsk)

type clientKey struct{}

// WithClient returns ctx with the client that [Elicit], [Sample] and [Log] use.
func WithClient(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

func clientOf(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}

// Session returns the name of the client's session or connection, to which the call belongs. All calls of one session
// come from one program. life ends with the session, so that [context.AfterFunc] can drop data that a tool holds for
// it. A call without a session has the name "", and its own context as life.
func (c *Context) Session() (name string, life context.Context) {
	if c.life == nil {
		return "", context.Background()
	}
	return c.session, c.life
}

// joinTexts joins the texts of blocks that are not empty, with a blank line between them.
func joinTexts(blocks []Block) string {
	var texts []string
	for _, b := range blocks {
		if b.Text != nil && *b.Text != "" {
			texts = append(texts, *b.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
