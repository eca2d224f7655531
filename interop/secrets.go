package interop

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
)

// Mask is text with "<secret>" in place of what the server was given and is to be seen
// by nobody: Secrets, the values of Env and Headers, and of the command line and the URL
// what looks like a credential. It finds them as they are, cut off, and as URLs, JSON, HTML,
// base64 and hexadecimal write them. Values of fewer than 6 bytes are not masked, nor are
// paths.
//
// All that an [Endpoint] reports of what its server says is masked already: faults with their
// whole chain, stderr, logs, notifications, instructions, and there also the tokens of a sign-in
// ([EndpointOptions].RoundTripper). Lists of tools and their results are what the server was asked for: those
// tokens alone are masked in them, where they stand as they are.
func (s Server) Mask(text string) string { return s.secrets().Mask(text) }

// Masker is [Server.Mask] for any number of JSON documents: what it gives is valid JSON.
func (s Server) Masker() func(json.RawMessage) json.RawMessage { return s.secrets().JSON }

func (s *Server) secrets() *secret.Set {
	var values []string
	pairs := func(list []Pair) {
		for _, p := range list {
			if _, env := s.Transport.(Stdio); env || !secret.Ordinary(p.Name) {
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
		values = append(values, secret.In(t.Command)...)
		values = append(values, secret.InArgs(t.Args)...)
		for _, pair := range os.Environ() {
			if name, value, _ := strings.Cut(pair, "="); t.InheritEnv && (secret.Named(name) || secret.Like(value)) {
				values = append(values, value)
			}
		}
	case HTTP:
		pairs(t.Headers)
		values = append(values, secret.InURL(t.URL)...)
	case SSE:
		pairs(t.Headers)
		values = append(values, secret.InURL(t.URL)...)
	}
	return secret.New(values...)
}

// newFault is a fault of the endpoint's, whose cause may have the server's words in it.
func (e *Endpoint) newFault(kind Kind, doing string, cause error) *Fault {
	f := NewFault(kind, e.server.ID, doing, nil)
	if f.Cause = cause; cause != nil {
		f.Message += ": " + e.secrets.Mask(cause.Error())
	}
	return f
}

// discreet masks what the server says by itself. It reports false where that cannot be
// passed on: it is not UTF-8, or cannot be said without a secret, one that is a number.
func (e *Endpoint) discreet(m *Message) bool {
	before := m.Params
	if bad := wire.CheckUTF8(before); bad != nil {
		e.opts.Logger.Warn("what a server said is dropped", "server", e.server.ID, "caller", m.Caller, "method", protocol.Printable(m.Method, 80), "err", bad)
		return false
	}
	m.Params = e.secrets.JSON(before)
	return len(m.Params) == 0 || m.Params[0] == before[0]
}
