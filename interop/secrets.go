package interop

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
)

// Mask returns text with "<secret>" in place of the server's secrets. These are Secrets, the values of Env
// and Headers, and the parts of the command line and the URL that look like credentials. It finds them in
// plain form, cut off, and encoded as in URLs, JSON, HTML, base64 and hexadecimal. Values of fewer than 6
// bytes are not masked, and neither are paths.
//
// Everything that an [Endpoint] reports from its server is masked already: faults with their whole chain,
// stderr, logs, notifications and instructions. There, the tokens of a sign-in
// ([EndpointOptions].RoundTripper) are masked too. Lists of tools and their results are the requested data.
// In them only these tokens are masked, and only in plain form.
func (s Server) Mask(text string) string { return s.secrets().Mask(text) }

// Masker returns [Server.Mask] for any number of JSON documents. Its results are valid JSON.
func (s Server) Masker() func(json.RawMessage) json.RawMessage { return s.secrets().JSON }

func (s *Server) secrets() *secret.Set {
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
	return secret.New(values...)
}

// newFault returns a fault of the endpoint. Its cause may contain text of the server, so the message is
// masked.
func (e *Endpoint) newFault(kind Kind, doing string, cause error) *Fault {
	f := NewFault(kind, e.server.ID, doing, nil)
	f.Cause = cause
	if cause != nil {
		f.Message += ": " + e.secrets.Mask(cause.Error())
	}
	return f
}

// maskParams masks the params of a server's own message. It returns false if the message cannot be passed on:
// it is not UTF-8, or masking is impossible, as for a secret number.
func (e *Endpoint) maskParams(m *Message) bool {
	params := m.Params
	if err := wire.CheckUTF8(params); err != nil {
		e.opts.Logger.Warn("a message of a server is dropped",
			"server", e.server.ID, "caller", m.Caller, "method", protocol.Printable(m.Method, 80), "err", err)
		return false
	}
	m.Params = e.secrets.JSON(params)
	return len(m.Params) == 0 || m.Params[0] == params[0]
}
