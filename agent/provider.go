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

// Provider connects to one model. Its methods must be safe for concurrent use.
type Provider interface {
	// Name returns the provider's and the model's name: "anthropic/claude-sonnet-4-5".
	Name() string
	// Generate requests the model's next message. It calls onPiece with each piece as it arrives, from one goroutine, and
	// never after it has returned. The reply contains all pieces. Generate does not retry. Its errors are
	// *[ProviderError] or the context's own.
	Generate(ctx context.Context, r Request, onPiece func(Piece)) (Reply, error)
}

// Request is a request to a model. It is read-only.
type Request struct {
	System   string
	Messages []Message
	// Tools are the tools that the model may call. Name, Description and Parameters are in the provider's form.
	Tools []toolbox.Descriptor
	// MaxTokens limits the message. If it is 0, the provider's own limit applies.
	MaxTokens int
}

// Piece is the newest part of a message. Exactly one of its fields is set.
type Piece struct {
	Text      string
	Reasoning string
	Call      string // the tool's name, when a call begins
}

// Reply is a message of a model.
type Reply struct {
	Message Message
	Stop    Stop
	Usage   Usage
}

// Stop is the reason for which a message ends.
type Stop string

const (
	// StopEnd means that the model has finished its answer.
	StopEnd Stop = "end"
	// StopCalls means that the model waits for the results of its calls.
	StopCalls Stop = "calls"
	// StopLength means that the message was cut at the maximum length.
	StopLength Stop = "length"
	// StopRefusal means that the model or its provider declines to answer.
	StopRefusal Stop = "refusal"
)

// Usage counts tokens. Input counts all tokens that were sent. CacheRead and CacheWrite are included in it.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
}

// Add adds the usage of another message.
func (u *Usage) Add(o Usage) {
	u.Input += o.Input
	u.Output += o.Output
	u.CacheRead += o.CacheRead
	u.CacheWrite += o.CacheWrite
}

// ProviderError reports that a provider returned no message.
type ProviderError struct {
	Provider string // the provider's name
	// Status is the HTTP status. It is 0 if there was no answer, or if the answer broke off.
	Status int
	// Code is the provider's error code, or "" if it sent none.
	Code string
	// Message is the provider's message, without secrets. It is never empty.
	Message string
	// RetryAfter is the delay that the provider asks for, or 0 if it asks for none.
	RetryAfter time.Duration
	// Final means that the same request would fail again, even if the status suggests a retry.
	Final bool
	// TooLong means that the conversation exceeds the model's context.
	TooLong bool
	// Err is the cause. It is nil if the provider answered.
	Err error
}

// Error implements error.
func (e *ProviderError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s: %s (HTTP %d)", e.Provider, e.Message, e.Status)
	}
	return e.Provider + ": " + e.Message
}

// Unwrap returns the cause.
func (e *ProviderError) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed a little later. If the connection is refused or the host is
// unknown, it returns false, because a person must first fix the cause.
func (e *ProviderError) Temporary() bool {
	host, ok := errors.AsType[*net.DNSError](e.Err)
	if e.Final || e.Code == "insufficient_quota" || // OpenAI's code with status 429: the account has no credit left
		errors.Is(e.Err, syscall.ECONNREFUSED) || ok && host.IsNotFound {
		return false
	}
	return e.Status == 0 || e.Status == 408 || e.Status == 409 || e.Status == 429 || e.Status >= 500
}
