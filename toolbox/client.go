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

// Client is the program that made a call, as the tool reaches it through [Elicit], [Sample] and [Log]. A host
// implements it, and puts it into the context with [WithClient]. All methods may be called from any goroutine.
type Client interface {
	// Session names the session or connection that the call came in, and life ends with it. "" and nil: the call
	// stands alone.
	Session() (name string, life context.Context)
	// Elicit shows a person the message and a form of the schema (see [infer.Form]), and returns the filled form, an
	// object. Its errors are those of the function Elicit.
	Elicit(ctx context.Context, message string, schema json.RawMessage) (json.RawMessage, error)
	// Sample asks the client's model. Its errors are those of the function Sample.
	Sample(ctx context.Context, s Sampling) (Message, error)
	// Log takes the records for the client, at the levels that it wants.
	Log() slog.Handler
}

// The errors of [Elicit] and [Sample]. Each may be wrapped.
var (
	// ErrCannotAsk: the caller is no client that can be asked this, or it did not declare the capability.
	ErrCannotAsk = Errorf("the client cannot be asked")
	// ErrDeclined: the person has refused to answer.
	ErrDeclined = Errorf("the person declined to answer")
	// ErrDismissed: the person has closed the question without a choice.
	ErrDismissed = Errorf("the person dismissed the question")
)

// Elicit asks the person behind a call to fill in a T: a struct whose fields are strings, numbers, booleans or lists
// of enum strings. Package infer says which struct tags describe them; what has a default or omitempty may be left out.
//
//	type choice struct {
//		Size string `json:"size" jsonschema:"enum=small,enum=large"`
//	}
//	c, err := toolbox.Elicit[choice](ctx, "Which size?")
//
// ctx is the context that the tool was given. Elicit waits until the person answers or ctx ends. The error is an
// [ErrDeclined], an [ErrDismissed], an [ErrCannotAsk], the error of ctx, or why the client gave no answer that fits.
// The error of a T that is no form comes before anything is asked, whatever the client can do.
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

// Sampling is a request to the model of a client.
type Sampling struct {
	// Messages are the conversation so far, at least one.
	Messages []Message
	// System is the system prompt, which the client may change or leave out. "": none.
	System string
	// MaxTokens bounds the reply. 0: 1,000.
	MaxTokens int
	// Temperature is nil where the client decides.
	Temperature *float64
	// Stop are texts at which the reply ends. nil: none.
	Stop []string
	// Models are names of models, or parts of names, that would do best, the best first. nil: any.
	Models []string
}

// Message is one message of a conversation with a model: of a [Sampling], its reply, or a prompt.
type Message struct {
	// Role is "user" or "assistant". "": "user".
	Role string
	// Text is the text of the message. Of a reply it is all its text.
	Text string
	// Blocks are what the message holds beside Text: [Image], [Audio], [Embedded].
	Blocks []Block
	// Model and Stop are those of a reply: the model that wrote it, and why it ended ("endTurn").
	Model, Stop string
}

// Sample asks the model of the client that made a call. ctx is the context that the tool was given. Sample waits until
// there is a reply or ctx ends. The error is an [ErrCannotAsk], the error of ctx, or why the client refused.
func Sample(ctx context.Context, s Sampling) (Message, error) {
	client := clientOf(ctx)
	if client == nil {
		return Message{}, errNoClient
	}
	return client.Sample(ctx, s)
}

// Log returns a logger whose records reach the client that made a call, at the levels that it asked for. Without such
// a client it drops them. Beside slog's levels there are MCP's: notice is Info+2, critical Error+4, alert Error+8,
// emergency Error+12.
func Log(ctx context.Context) *slog.Logger {
	if client := clientOf(ctx); client != nil {
		return slog.New(client.Log())
	}
	return slog.New(slog.DiscardHandler)
}

// errNoClient is the error of a call that no client of a host made.
var errNoClient = Errorf("%w: no client made this call", ErrCannotAsk)

type clientKey struct{}

// WithClient returns ctx with the client that is asked by [Elicit] and [Sample], and written to by [Log].
func WithClient(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

func clientOf(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}

// Session names the client's session, or its connection, that the call belongs to: calls of one session are of one
// program. life ends with it, so that [context.AfterFunc] can drop what a tool holds for the session. A call without a
// session has the name "", and its own context for life.
func (c *Context) Session() (name string, life context.Context) {
	if c.life == nil {
		return "", context.Background()
	}
	return c.session, c.life
}

// joinTexts is texts with a blank line between two that are not empty.
func joinTexts(blocks []Block) string {
	var texts []string
	for _, b := range blocks {
		if b.Text != nil && *b.Text != "" {
			texts = append(texts, *b.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
