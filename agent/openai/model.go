package openai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/internal/llm"
	"github.com/indusagi/indus/schema"
)

// DefaultBaseURL is OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options say where a model is. The zero value is OpenAI's own server without a key.
type Options struct {
	// Key is sent as a bearer token. If it is empty, no token is sent.
	Key string
	// BaseURL is the server's URL. If it has no path, "/v1" is added. If it is empty, it is [DefaultBaseURL].
	BaseURL string
	// Provider is the first half of the model's name. If it is empty, it is "openai" or "ollama" where the base URL is
	// one of theirs, and else the server's host.
	Provider string
	// HTTPClient sends the requests. It follows no redirection: CheckRedirect is ignored. If it is nil, the requests go over
	// http.DefaultTransport.
	HTTPClient *http.Client
}

// Model is one model of a server that has chat completions.
type Model struct {
	provider, model string
	server          *llm.Server
	blind           atomic.Bool // the model has refused images
}

var _ agent.Provider = (*Model)(nil)

// New makes a model from the name that its provider has for it: "gpt-5", "qwen3:8b". It does no I/O. A BaseURL that is no URL
// of a web server is an error of Generate. options may be nil.
func New(model string, options *Options) *Model {
	o := cmp.Or(options, &Options{})
	m := &Model{provider: o.Provider, model: model}
	address := cmp.Or(o.BaseURL, DefaultBaseURL)
	if base, err := url.Parse(address); err == nil {
		m.provider = cmp.Or(m.provider, providerOf(base))
		address = endpoint(base)
	}
	m.provider = cmp.Or(m.provider, "openai")
	key := strings.TrimSpace(o.Key)
	m.server = llm.NewServer(m.Name(), address, key, o.HTTPClient)
	if key != "" {
		m.server.Header.Set("Authorization", "Bearer "+key)
	}
	return m
}

// endpoint is the address of chat completions below a base URL.
func endpoint(base *url.URL) string {
	if strings.Trim(base.Path, "/") == "" {
		base = base.JoinPath("v1")
	}
	return base.JoinPath("chat", "completions").String()
}

func providerOf(base *url.URL) string {
	switch {
	case base.Hostname() == "api.openai.com":
		return "openai"
	case base.Port() == "11434":
		return "ollama"
	}
	return base.Host
}

// Name implements agent.Provider.
func (m *Model) Name() string { return m.provider + "/" + m.model }

// Profile is how tools are to be shown to the model.
func (m *Model) Profile() *schema.Profile {
	switch m.provider {
	case "openai":
		return schema.OpenAI
	case "ollama":
		return schema.Ollama
	}
	return schema.Universal
}

// Generate implements agent.Provider. A model that refuses images is asked once more without them, and is shown none from
// then on.
func (m *Model) Generate(ctx context.Context, r agent.Request, hear func(agent.Piece)) (agent.Reply, error) {
	blind := m.blind.Load()
	reply, err := m.ask(ctx, r, hear, blind)
	if err != nil && !blind && refusesImages(err) && hasImages(r) {
		m.blind.Store(true)
		return m.ask(ctx, r, hear, true)
	}
	return reply, err
}

func (m *Model) ask(ctx context.Context, r agent.Request, hear func(agent.Piece), blind bool) (agent.Reply, error) {
	a := &answer{intake: llm.NewIntake(r, hear), provider: m.Name(), at: map[float64]*call{}}
	if err := m.server.Ask(ctx, m.request(r, blind), a.event); err != nil {
		return agent.Reply{}, err
	}
	return a.reply(), nil
}

func refusesImages(err error) bool {
	var e *agent.ProviderError
	return errors.As(err, &e) && e.Status >= 400 && e.Status != http.StatusTooManyRequests && !e.TooLong &&
		regexp.MustCompile(`(?i)image|vision|multimodal`).MatchString(e.Message)
}
