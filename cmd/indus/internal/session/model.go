package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/anthropic"
	"github.com/indusagi/indus/agent/openai"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/schema"
)

// service is a model provider that --model knows by name.
type service struct {
	name    string
	keyEnv  string // the variable with its key; "" if it needs none
	urlEnv  string // the variable with the address for keyEnv; "" if there is none
	baseURL string // the address for keyEnv if urlEnv is not set; "" for the default of its package
	model   string // the default model; "" if there is none
	api     apiKind
}

// apiKind is the API of a provider.
type apiKind int

const (
	openaiAPI apiKind = iota
	anthropicAPI
)

// providers are the providers that --model knows.
var providers = []service{
	{"anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", "claude-sonnet-4-5", anthropicAPI},
	{"openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "", "gpt-5", openaiAPI},
	{"openrouter", "OPENROUTER_API_KEY", "", "https://openrouter.ai/api/v1", "openrouter/auto", openaiAPI},
	{"ollama", "", "", "http://127.0.0.1:11434/v1", "", openaiAPI},
}

// unknownService is the service at a --base-url that belongs to no known provider.
var unknownService service

// keyAddress returns the address to which the key of the environment is sent: from the environment, or else the
// default.
func (p service) keyAddress() string {
	if p.urlEnv == "" {
		return p.baseURL
	}
	return cmp.Or(strings.TrimSpace(os.Getenv(p.urlEnv)), p.baseURL)
}

// target is a model with its address and key.
type target struct {
	service
	id      string // the provider's name of the model
	address string // "" for the default of the provider's package
	key     secret.Value
}

// splitModel splits a model name into the provider and the rest.
func splitModel(name string) (service, string) {
	before, rest, ok := strings.Cut(name, "/")
	i := slices.IndexFunc(providers, func(p service) bool { return p.name == before })
	if !ok || i < 0 {
		return unknownService, name
	}
	return providers[i], rest
}

// target returns the model with this name, or the model of --model if the name is "". --base-url and --key-file apply
// to the provider of the session's first model. The settings apply to the provider that they name.
func (f *flags) target(name string) (target, error) {
	settings, err := readSettings()
	if err != nil {
		return target{}, err
	}
	first, err := f.firstModel(settings)
	if err != nil && name == "" {
		return target{}, err
	}
	t := target{}
	t.service, t.id = splitModel(cmp.Or(name, first))
	firstService, _ := splitModel(first)
	settingsService, _ := splitModel(settings.Model)
	isFirst := firstService.name == t.name
	isSettings := settingsService.name == t.name && (settings.Model != "" || settings.BaseURL != "")
	source := "$" + t.urlEnv
	switch {
	case isFirst && f.baseURL != "":
		t.address, source = f.baseURL, "--base-url"
	case isSettings && settings.BaseURL != "":
		t.address, source = settings.BaseURL, settings.path+": baseURL"
	case t.name == "":
		return t, command.Usagef("model %q: begin it with its provider, as in %s/…, or give its URL with --base-url%s",
			t.id, "anthropic",
			command.DidYouMean(strings.Split(t.id, "/")[0], show.Names(providers, func(p service) string { return p.name })))
	case t.name == "ollama":
		t.address = ollamaURL()
	default:
		t.address = t.keyAddress()
	}
	if t.id == "" {
		return t, command.Usagef("model %q has no name behind its provider", cmp.Or(name, first))
	}
	if err := checkAddress(source, t.address); err != nil {
		return t, err
	}
	key, err := f.key(t, isFirst, isSettings, settings)
	t.key = secret.NewValue(key)
	return t, err
}

// firstModel returns the name of the session's first model.
func (f *flags) firstModel(set userSettings) (string, error) {
	if name := cmp.Or(f.model, os.Getenv("INDUS_MODEL"), set.Model); name != "" {
		return name, nil
	}
	setURL := func(p service) bool { return p.keyAddress() != p.baseURL }
	setKey := func(p service) bool { return p.keyEnv != "" && os.Getenv(p.keyEnv) != "" }
	withKey := slices.DeleteFunc(slices.Clone(providers), func(p service) bool { return !setKey(p) })
	if f.baseURL != "" || f.keyFile != "" || set.BaseURL != "" ||
		len(withKey) == 0 && slices.ContainsFunc(providers, setURL) {
		return "", command.Usagef("no model is named: give it with --model")
	}
	switch len(withKey) {
	case 0:
		return "", noKey(service{keyEnv: "ANTHROPIC_API_KEY, $OPENAI_API_KEY or $OPENROUTER_API_KEY"}, set)
	case 1:
		return withKey[0].name + "/" + withKey[0].model, nil
	}
	names := show.Names(withKey, func(p service) string { return p.name + "/" + p.model })
	return "", command.Usagef("there are keys of several providers: name a model with --model, such as %s",
		strings.Join(names, " or "))
}

// key returns the key that may be sent to the target's address: a key that the user set for it, or the key of its
// environment variable. If settled is true, the settings name the target's provider.
func (f *flags) key(t target, isFirst, settled bool, set userSettings) (string, error) {
	sameAddress := settled && t.address == cmp.Or(set.BaseURL, t.baseURL)
	switch {
	case isFirst && f.keyFile != "":
		return readKey(f.keyFile)
	case sameAddress && set.KeyFile != "":
		return readKey(set.KeyFile)
	case sameAddress && set.KeyEnv != "":
		if key := os.Getenv(set.KeyEnv); key != "" {
			return key, nil
		}
		return "", command.Usagef("%s: the variable %s, which keyEnv names, is not set", set.path, set.KeyEnv)
	case t.keyEnv == "" || t.address != t.keyAddress():
		return "", nil // no key belongs to this address
	}
	key := strings.TrimSpace(os.Getenv(t.keyEnv))
	switch {
	case key != "":
		return key, nil
	case t.address == t.baseURL:
		return "", noKey(t.service, set)
	case settled && (set.KeyFile != "" || set.KeyEnv != ""):
		return "", command.Usagef("%s: the key that it names is not sent to $%s: set baseURL there too, or set $%s", set.path,
			t.urlEnv, t.keyEnv)
	}
	return "", nil // a server of the user's own may need no key
}

// missingKey is the error for a missing key.
type missingKey struct{ error }

// Unwrap returns the usage error.
func (m missingKey) Unwrap() error { return m.error }

// noKey returns the error for a missing key.
func noKey(p service, set userSettings) error {
	return missingKey{command.Usagef(
		"there is no key for %s. Set $%s, or give a file with --key-file, or name both model and key in %s: {\"model\": "+
			"\"%s\", \"keyFile\": \"FILE\"}. A model on this machine needs none: --model ollama/NAME",
		cmp.Or(p.name, "a model"), p.keyEnv, cmp.Or(set.path, "settings.json of the configuration"),
		cmp.Or(p.name, "anthropic")+"/NAME")}
}

// checkAddress refuses addresses that are not URLs of web services. source names the flag or variable with the address.
func checkAddress(source, address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return command.Usagef("%s %s: it is a URL such as http://127.0.0.1:8000/v1", source, secret.URL(address))
	}
	return nil
}

// ollamaURL returns the address of Ollama from its environment variable, or the default.
func ollamaURL() string {
	host := cmp.Or(strings.TrimSuffix(os.Getenv("OLLAMA_HOST"), "/"), "127.0.0.1:11434")
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	if _, _, err := net.SplitHostPort(rest); err != nil && scheme == "http" {
		rest = net.JoinHostPort(strings.Trim(rest, "[]"), "11434")
	}
	return scheme + "://" + strings.Replace(rest, "0.0.0.0", "127.0.0.1", 1) + "/v1"
}

// contextSizes holds the context sizes of models in tokens, by the start of their names. The first match applies. The
// values are estimates for families of models. The flag --context or the setting overrides them.
var contextSizes = []struct {
	begins string
	tokens int
}{
	{"claude-", 200_000},
	{"gpt-5", 272_000}, {"gpt-4.1", 1_000_000}, {"gpt-4o", 128_000}, {"gpt-4-turbo", 128_000}, {"gpt-4", 8_192},
	{"gpt-3.5", 16_000},
	{"o1", 200_000}, {"o3", 200_000}, {"o4", 200_000},
}

// ollamaContext is the context size for Ollama, which cuts longer requests silently. Ollama's own default is smaller on
// small machines.
const ollamaContext = 32_000

// contextOf returns the size of a conversation with the model in tokens, or 0 if it is unknown.
func (f *flags) contextOf(t target) int {
	set, _ := readSettings() // an error was reported before
	own, _ := strconv.Atoi(os.Getenv("OLLAMA_CONTEXT_LENGTH"))
	switch {
	case f.context > 0:
		return f.context
	case set.Context > 0:
		return set.Context
	case t.name == "ollama":
		return cmp.Or(own, ollamaContext)
	}
	name := t.id[strings.LastIndexByte(t.id, '/')+1:] // names of OpenRouter begin with the provider
	for _, c := range contextSizes {
		if strings.HasPrefix(name, c.begins) {
			return c.tokens
		}
	}
	return 0
}

// model is a provider with a schema profile for its tools.
type model interface {
	agent.Provider
	Profile() *schema.Profile
}

// provider returns a client for the model.
func (t target) provider() model {
	if t.api == anthropicAPI {
		return anthropic.New(t.id, &anthropic.Options{Key: t.key.Reveal(), BaseURL: t.address})
	}
	return openai.New(t.id, &openai.Options{Key: t.key.Reveal(), BaseURL: t.address, Provider: t.name})
}

// explain adds an exit code and a hint to the error of a turn.
func (x *session) explain(err error) error {
	for limit, try := range map[error]string{
		agent.ErrSteps: "--steps allows more, and the next prompt goes on from here (with --resume, of another run)",
		agent.ErrFull: "in a conversation /clear begins another one; " +
			"/compact needs a model that takes all of it (see /model)",
	} {
		if errors.Is(err, limit) {
			return &command.ExitError{Code: command.ExitFault, Err: err, Try: try}
		}
	}
	p, ok := errors.AsType[*agent.ProviderError](err)
	if !ok {
		return err
	}
	e := &command.ExitError{Err: err}
	switch {
	case p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden:
		e.Code, e.Try = command.ExitForbidden, "it does not take this key: give another with --key-file"
		if x.target.keyEnv != "" {
			e.Try += fmt.Sprintf(" or $%s", x.target.keyEnv)
		}
	case p.Status == 0:
		e.Code, e.Try = command.ExitUnreachable,
			"is it up, and is this its address: "+cmp.Or(secret.URL(x.target.address), "that of "+x.target.name)+"?"
	case p.Status == http.StatusNotFound:
		e.Try = "is the model's name right? see --model"
	}
	return e
}

// userSettings belong to the user. A project has none, because a cloned repository must not choose where prompts and
// keys go.
type userSettings struct {
	Model   string `json:"model"`
	BaseURL string `json:"baseURL"`
	KeyFile string `json:"keyFile"` // relative to the file of settings
	KeyEnv  string `json:"keyEnv"`
	Context int    `json:"context"` // in tokens; 0 for the known size of the model

	path string
}

// maxSettings limits the size of a file of settings and of a key file, in bytes.
const maxSettings = 64 << 10

// readSettings reads settings.json of the user's configuration directory. If the file does not exist, the settings are
// empty.
func readSettings() (userSettings, error) {
	path, err := mcpconfig.PathOf(mcpconfig.User, nil)
	if err != nil {
		return userSettings{}, nil // there is no home directory
	}
	s := userSettings{path: filepath.Join(filepath.Dir(path), "settings.json")}
	b, err := atomicfile.ReadNamed(context.Background(), s.path, nil, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		err = d.Decode(&s)
		if err == nil && d.More() {
			err = errors.New("something follows the object")
		}
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			err = fmt.Errorf("%s cannot be a JSON %s", cmp.Or(wrong.Field, "all of it"), wrong.Value)
		}
	}
	if err == nil && s.Context < 0 {
		err = fmt.Errorf("context %d is no number of tokens", s.Context)
	}
	if err == nil && s.KeyFile != "" && s.KeyEnv != "" {
		err = errors.New("keyFile and keyEnv exclude each other")
	}
	if err != nil {
		return s, command.Usagef(
			"%s: %w; it is a JSON object of the strings model, baseURL, keyFile and keyEnv, and the number context", s.path, err)
	}
	if rest, ok := strings.CutPrefix(s.KeyFile, "~/"); ok {
		home, _ := os.UserHomeDir()
		s.KeyFile = filepath.Join(home, rest)
	} else if s.KeyFile != "" && !filepath.IsAbs(s.KeyFile) {
		s.KeyFile = filepath.Join(filepath.Dir(s.path), s.KeyFile)
	}
	return s, nil
}

// readKey returns the first line of a key file.
func readKey(path string) (string, error) {
	b, err := atomicfile.ReadNamed(context.Background(), path, nil, maxSettings)
	if err != nil {
		return "", command.AsUsage(err)
	}
	key, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	key = strings.TrimSpace(key)
	if key == "" {
		return "", command.Usagef("%s: there is no key in it", path)
	}
	return key, nil
}
