package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// Provider reaches one model. Users may call its methods from any goroutine.
type Provider interface {
	// Name is the provider's and the model's: "anthropic/claude-sonnet-4-5".
	Name() string
	// Generate asks the model for its next message. hear is given the pieces as they arrive, from one goroutine, and
	// not after Generate has returned; the reply holds them all. It does not try again by itself. Its errors are
	// *[ProviderError], or the context's own.
	Generate(ctx context.Context, r Request, hear func(Piece)) (Reply, error)
}

// Request is what a model is sent. It is read-only.
type Request struct {
	System   string
	Messages []Message
	// Tools are what the model may call, with Name, Description and Parameters as its provider takes them.
	Tools []toolbox.Descriptor
	// MaxTokens bounds the message. 0: the provider's own bound.
	MaxTokens int
}

// Piece is what has just arrived of a message. Exactly one of its fields is set.
type Piece struct {
	Text      string
	Reasoning string
	Call      string // the name of the tool of a call that begins
}

// Reply is a message of a model.
type Reply struct {
	Message Message
	Stop    Stop
	Usage   Usage
}

// Stop says why a message ends.
type Stop string

const (
	// StopEnd: the model has said what it had to say.
	StopEnd Stop = "end"
	// StopCalls: it waits for the results of its calls.
	StopCalls Stop = "calls"
	// StopLength: the message was cut at the longest that was allowed.
	StopLength Stop = "length"
	// StopRefusal: the model or its provider declines to answer.
	StopRefusal Stop = "refusal"
)

// Usage counts tokens. Input counts all that was sent; CacheRead and CacheWrite are parts of it.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
}

// Add adds what another message took.
func (u *Usage) Add(o Usage) {
	u.Input += o.Input
	u.Output += o.Output
	u.CacheRead += o.CacheRead
	u.CacheWrite += o.CacheWrite
}

// ProviderError is a provider's answer that is no message, or the lack of any.
type ProviderError struct {
	Provider string // its name
	// Status is the HTTP status; 0: there was no answer, or it broke off.
	Status int
	// Code is the provider's own word for what is wrong; "" where it has none.
	Code string
	// Message is the provider's own, without secrets; never empty.
	Message string
	// RetryAfter is how long the provider asks to wait; 0: it does not say.
	RetryAfter time.Duration
	// Final: the same request would fail again, whatever the status says.
	Final bool
	// TooLong: the conversation is longer than the model takes.
	TooLong bool
	// Err is the cause; nil where the provider answered.
	Err error
}

// Error implements error.
func (e *ProviderError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s: %s (HTTP %d)", e.Provider, e.Message, e.Status)
	}
	return e.Provider + ": " + e.Message
}

// Unwrap is the cause.
func (e *ProviderError) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed a little later. Where nobody listens, or no such host is known,
// somebody has to do something first.
func (e *ProviderError) Temporary() bool {
	host, ok := errors.AsType[*net.DNSError](e.Err)
	if e.Final || e.Code == "insufficient_quota" || // OpenAI's word, with 429: nothing is left to pay with
		errors.Is(e.Err, syscall.ECONNREFUSED) || ok && host.IsNotFound {
		return false
	}
	return e.Status == 0 || e.Status == 408 || e.Status == 409 || e.Status == 429 || e.Status >= 500
}
