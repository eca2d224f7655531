package config

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/indusagi/indus/internal/secret"
)

// Mask returns text with "<secret>" in place of the server's secrets. These are Secrets, the values of Env
// and Headers, and the parts of the command line and the URL that look like credentials. It finds them in
// plain form, cut off, and encoded as in URLs, JSON, HTML, base64 and hexadecimal. Values of fewer than 6
// bytes are not masked, and neither are paths.
//
// Everything that an interop.Endpoint reports from its server is masked already: faults with their whole chain,
// stderr, logs, notifications and instructions. There, the tokens of a sign-in
// (interop.EndpointOptions.RoundTripper) are masked too. Lists of tools and their results are the requested data.
// In them only these tokens are masked, and only in plain form.
func (s Server) Mask(text string) string { return secret.New(s.Hidden()...).Mask(text) }

// Masker returns [Server.Mask] for any number of JSON documents. Its results are valid JSON.
func (s Server) Masker() func(json.RawMessage) json.RawMessage { return secret.New(s.Hidden()...).JSON }

// Hidden returns the values that [Server.Mask] hides, in plain form.
func (s Server) Hidden() []string {
	var values []string
	pairs := func(list []Pair) {
		for _, p := range list {
			if _, env := s.Transport.(Stdio); env || !secret.IsOrdinaryHeader(p.Name) {
				values = append(values, p.Value.Reveal())
			}
		}
	}
	for _, one := range s.Secrets {
		values = append(values, one.Reveal())
	}
	for _, one := range s.OAuth.Secrets() {
		values = append(values, one.Reveal())
	}
	switch t := s.Transport.(type) {
	case Stdio:
		pairs(t.Env)
		values = append(values, secret.Find(t.Command)...)
		values = append(values, secret.FindInArgs(t.Args)...)
		for _, pair := range os.Environ() {
			name, value, _ := strings.Cut(pair, "=")
			if t.InheritEnv && (secret.IsSecretName(name) || secret.HasSecretFormat(value)) {
				values = append(values, value)
			}
		}
	case HTTP:
		pairs(t.Headers)
		values = append(values, secret.FindInURL(t.URL)...)
	case SSE:
		pairs(t.Headers)
		values = append(values, secret.FindInURL(t.URL)...)
	}
	return values
}
