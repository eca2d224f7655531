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
	// DefaultBaseURL is Anthropic's own server.
	DefaultBaseURL = "https://api.anthropic.com"
	// maxTokens is how long a message may become: the most that all current models allow.
	maxTokens = 32_000
	// apiVersion is the version of the Messages API that requests ask for.
	apiVersion = "2023-06-01"
)

// Options say where a model is. The zero value is Anthropic's own server without a key.
type Options struct {
	// Key is sent as "x-api-key". If it is empty, no key is sent.
	Key string
	// BaseURL is the server's URL, with or without "/v1". If it is empty, it is [DefaultBaseURL].
	BaseURL string
	// HTTPClient sends the requests. It follows no redirection: CheckRedirect is ignored. If it is nil, the requests go over
	// http.DefaultTransport.
	HTTPClient *http.Client
}

// Model is one model of a server that has the Messages API.
type Model struct {
	model  string
	server *llm.Server
}

var _ agent.Provider = (*Model)(nil)

// New makes a model from the name that its provider has for it: "claude-sonnet-4-5". It does no I/O. A BaseURL that is no URL
// of a web server is an error of Generate. options may be nil.
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

// Profile is how tools are to be shown to the model.
func (m *Model) Profile() *schema.Profile { return schema.Anthropic }

// Generate implements agent.Provider.
func (m *Model) Generate(ctx context.Context, r agent.Request, hear func(agent.Piece)) (agent.Reply, error) {
	a := answer{intake: llm.NewIntake(r, hear), provider: m.Name(), at: map[float64]*block{}}
	if err := m.server.Ask(ctx, m.request(r), a.event); err != nil {
		return agent.Reply{}, err
	}
	return a.reply(), nil
}
