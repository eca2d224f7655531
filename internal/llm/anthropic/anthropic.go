// Package anthropic reaches a model through Anthropic's Messages API: [New] makes an agent.Provider.
//
// The SDK writes requests and reads events. What it would take from the environment or from its own files (keys, profiles,
// addresses, headers, traces) is switched off: everything comes from [Options].
package anthropic

import (
	"context"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/llm"
	"github.com/indusagi/indus/schema"
)

const (
	// DefaultBaseURL is Anthropic's own server.
	DefaultBaseURL = "https://api.anthropic.com"
	// maxTokens is how long a message may become: what all current models allow.
	maxTokens = 32_000
)

// Options make a [Model].
type Options struct {
	// Model is the provider's name for it: "claude-sonnet-4-5".
	Model string
	// Key is sent as "x-api-key". "": none is.
	Key string
	// BaseURL is the server's, with or without "/v1". "": [DefaultBaseURL].
	BaseURL string
	// HTTPClient sends the requests; its redirections are not used. nil: one on http.DefaultTransport.
	HTTPClient *http.Client
}

// Model is one model of a server that speaks the Messages API. All methods are safe for concurrent use.
type Model struct {
	options Options
	server  *llm.Server
	service anthropic.MessageService
}

var _ agent.Provider = (*Model)(nil)

// New makes a model. It does no I/O.
func New(o Options) *Model {
	o.Key = strings.TrimSpace(o.Key)
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	m := &Model{options: o}
	m.server = llm.NewServer(m.Name(), o.BaseURL, o.Key, o.HTTPClient)
	with := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithOpenTelemetryTraces(false), option.WithOpenTelemetryPropagation(false),
		option.WithBaseURL(strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1") + "/"),
		option.WithHTTPClient(m.server.Client()), option.WithMaxRetries(0), // the session tries again
	}
	if o.Key != "" {
		with = append(with, option.WithAPIKey(o.Key))
	}
	m.service = anthropic.NewMessageService(with...) // a whole client links every API there is: 80 MB
	return m
}

// Name implements agent.Provider.
func (m *Model) Name() string { return "anthropic/" + m.options.Model }

// Profile is how tools are to be shown to the model.
func (m *Model) Profile() *schema.Profile { return schema.Anthropic }

// Generate implements agent.Provider.
func (m *Model) Generate(ctx context.Context, r agent.Request, hear func(agent.Piece)) (agent.Reply, error) {
	var resp *http.Response
	err := m.service.NewStreaming(ctx, m.params(r), option.WithResponseBodyInto(&resp)).Err()
	if err != nil {
		return agent.Reply{}, m.server.Fault(ctx, err)
	}
	a := answer{intake: llm.NewIntake(r, hear), provider: m.Name(), at: map[int64]*block{}}
	if err := m.server.Stream(resp, a.event); err != nil {
		return agent.Reply{}, m.server.Fault(ctx, err)
	}
	return a.reply(), nil
}
