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

// DefaultBaseURL is the URL of OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options describe the server of a model. The zero value means OpenAI's own server without a key.
type Options struct {
	// Key is sent as a bearer token. If it is empty, no token is sent.
	Key string
	// BaseURL is the server's URL. If it has no path, "/v1" is added. If it is empty, [DefaultBaseURL] is used.
	BaseURL string
	// Provider is the first half of the model's name. If it is empty, the base URL determines it: "openai" or "ollama"
	// for their servers, or else the host.
	Provider string
	// HTTPClient sends the requests. It follows no redirects: CheckRedirect is ignored. If it is nil, requests use
	// http.DefaultTransport.
	HTTPClient *http.Client
}

// Model is one model on a server with chat completions.
type Model struct {
	provider, model string
	server          *llm.Server
	withoutImages   atomic.Bool // set once the model has refused images
}

var _ agent.Provider = (*Model)(nil)

// New returns the model with the given name, as its provider writes it: "gpt-5", "qwen3:8b". It does no I/O. If BaseURL
// is not the URL of a web server, Generate returns an error. options may be nil.
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

// endpoint returns the address of chat completions below a base URL.
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

// Profile returns the schema profile for the model's tools.
func (m *Model) Profile() *schema.Profile {
	switch m.provider {
	case "openai":
		return schema.OpenAI
	case "ollama":
		return schema.Ollama
	}
	return schema.Universal
}

// Generate implements agent.Provider. If the model refuses images, Generate sends the request again without them. Later
// requests contain no images.
func (m *Model) Generate(ctx context.Context, r agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
	withoutImages := m.withoutImages.Load()
	reply, err := m.generate(ctx, r, onPiece, withoutImages)
	if err != nil && !withoutImages && refusesImages(err) && hasImages(r) {
		m.withoutImages.Store(true)
		return m.generate(ctx, r, onPiece, true)
	}
	return reply, err
}

func (m *Model) generate(ctx context.Context, r agent.Request, onPiece func(agent.Piece),
	withoutImages bool,
) (agent.Reply, error) {
	a := &answer{intake: llm.NewIntake(r, onPiece), provider: m.Name(), byIndex: map[float64]*call{}}
	if err := m.server.Ask(ctx, m.request(r, withoutImages), a.event); err != nil {
		return agent.Reply{}, err
	}
	return a.reply(), nil
}

func refusesImages(err error) bool {
	var e *agent.ProviderError
	return errors.As(err, &e) && e.Status >= 400 && e.Status != http.StatusTooManyRequests && !e.TooLong &&
		regexp.MustCompile(`(?i)image|vision|multimodal`).MatchString(e.Message)
}
