// Package openai reaches a model through chat completions, the API of OpenAI that Ollama, vLLM, llama.cpp, OpenRouter and
// many others speak too: [New] makes an agent.Provider.
//
// The SDK writes requests and reads events. What it would take from the environment (keys, addresses, organisations,
// headers) is not read: everything comes from [Options], and a local server is never sent the key of another.
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

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/llm"
	"github.com/indusagi/indus/schema"
)

// DefaultBaseURL is OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options make a [Model].
type Options struct {
	// Model is the provider's name for it: "gpt-5", "qwen3:8b".
	Model string
	// Key is sent as a bearer token. "": none is.
	Key string
	// BaseURL is the server's; one without a path gets "/v1". "": [DefaultBaseURL].
	BaseURL string
	// Provider is the first half of the model's name. "": "openai" or "ollama" where the base URL is one of theirs, and
	// else the server's host.
	Provider string
	// HTTPClient sends the requests; its redirections are not used. nil: one on http.DefaultTransport.
	HTTPClient *http.Client
}

// Model is one model of a server that speaks chat completions. All methods are safe for concurrent use.
type Model struct {
	options Options
	server  *llm.Server
	service openai.ChatCompletionService
	blind   atomic.Bool // the model has refused images
}

var _ agent.Provider = (*Model)(nil)

// New makes a model. It does no I/O.
func New(o Options) *Model {
	o.Key = strings.TrimSpace(o.Key)
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	if base, err := url.Parse(o.BaseURL); err == nil {
		if strings.Trim(base.Path, "/") == "" {
			o.BaseURL = base.JoinPath("v1").String()
		}
		o.Provider = cmp.Or(o.Provider, providerOf(base))
	}
	o.Provider = cmp.Or(o.Provider, "openai")
	m := &Model{options: o}
	m.server = llm.NewServer(m.Name(), o.BaseURL, o.Key, o.HTTPClient)
	with := []option.RequestOption{
		option.WithBaseURL(o.BaseURL), option.WithHTTPClient(m.server.Client()), option.WithMaxRetries(0), // the session tries again
	}
	if o.Key != "" {
		with = append(with, option.WithAPIKey(o.Key))
	}
	m.service = openai.ChatCompletionService{Options: with} // NewClient would read the environment, and link every API there is
	return m
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
func (m *Model) Name() string { return m.options.Provider + "/" + m.options.Model }

// Profile is how tools are to be shown to the model.
func (m *Model) Profile() *schema.Profile {
	switch m.options.Provider {
	case "openai":
		return schema.OpenAI
	case "ollama":
		return schema.Ollama
	}
	return schema.Universal
}

// Generate implements agent.Provider. A model that refuses images is asked once more without them, and shown none from
// then on.
func (m *Model) Generate(ctx context.Context, r agent.Request, hear func(agent.Piece)) (agent.Reply, error) {
	blind := m.blind.Load()
	a, err := m.ask(ctx, r, hear, blind)
	if err != nil && !blind && refusesImages(err) && hasImages(r) {
		m.blind.Store(true)
		a, err = m.ask(ctx, r, hear, true)
	}
	if err != nil {
		return agent.Reply{}, m.server.Fault(ctx, err)
	}
	return a.reply(), nil
}

func (m *Model) ask(ctx context.Context, r agent.Request, hear func(agent.Piece), blind bool) (*answer, error) {
	var resp *http.Response
	if err := m.service.NewStreaming(ctx, m.params(r, blind), option.WithResponseBodyInto(&resp)).Err(); err != nil {
		return nil, err
	}
	a := &answer{intake: llm.NewIntake(r, hear), provider: m.Name(), at: map[int64]*call{}}
	return a, m.server.Stream(resp, a.event)
}

func refusesImages(err error) bool {
	var e *agent.ProviderError
	return errors.As(err, &e) && e.Status >= 400 && e.Status != http.StatusTooManyRequests && !e.TooLong &&
		regexp.MustCompile(`(?i)image|vision|multimodal`).MatchString(e.Message)
}
