package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/internal/llm"
	"github.com/indusagi/indus/schema"
)

const (
	// DefaultBaseURL is the URL of Anthropic's own server.
	DefaultBaseURL = "https://api.anthropic.com"
	// maxTokens is the default limit of a message, in tokens. All current models allow it.
	maxTokens = 32_000
	// apiVersion is the version of the Messages API that requests name.
	apiVersion = "2023-06-01"
)

// Options describe the server of a model. The zero value means Anthropic's own server without a key.
type Options struct {
	// Key is sent as "x-api-key". If it is empty, no key is sent.
	Key string
	// BaseURL is the server's URL, with or without "/v1". If it is empty, [DefaultBaseURL] is used.
	BaseURL string
	// HTTPClient sends the requests. It follows no redirects: CheckRedirect is ignored. If it is nil, requests use
	// http.DefaultTransport.
	HTTPClient *http.Client
}

// Model is one model on a server with the Messages API.
type Model struct {
	model  string
	server *llm.Server
}

var _ agent.Provider = (*Model)(nil)

// New returns the model with the given name, as its provider writes it: "claude-sonnet-4-5". It does no I/O. If BaseURL
// is not the URL of a web server, Generate returns an error. options may be nil.
func New(model string, options *Options) *Model {
	o := cmp.Or(options, &Options{})
	m := &Model{model: model}
	address, key := cmp.Or(o.BaseURL, DefaultBaseURL), strings.TrimSpace(o.Key)
	if base, err := url.Parse(address); err == nil {
		base.Path = strings.TrimSuffix(strings.TrimRight(base.Path, "/"), "/v1")
		address = base.JoinPath("v1", "messages").String()
	}
	m.server = llm.NewServer(m.Name(), address, key, o.HTTPClient)
	m.server.Header.Set("Anthropic-Version", apiVersion)
	if key != "" {
		m.server.Header.Set("X-Api-Key", key)
	}
	return m
}

// Name implements agent.Provider.
func (m *Model) Name() string { return "anthropic/" + m.model }

// Profile returns the schema profile for the model's tools.
func (m *Model) Profile() *schema.Profile { return schema.Anthropic }

// Generate implements agent.Provider.
func (m *Model) Generate(ctx context.Context, r agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
	a := answer{intake: llm.NewIntake(r, onPiece), provider: m.Name(), byIndex: map[float64]*block{}}
	if err := m.server.Ask(ctx, m.request(r), a.event); err != nil {
		return agent.Reply{}, err
	}
	return a.reply(), nil
}
