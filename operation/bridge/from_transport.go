package bridge

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/operation"
)

const (
	dialTime      = 30 * time.Second // of TCP; the step's deadline may be shorter
	tlsTime       = 15 * time.Second
	idleTime      = 90 * time.Second
	idlePerHost   = 32
	maxHeader     = 1 << 20 // of an answer, in bytes
	refusalLength = 1 << 20 // of an answer that says no, in bytes: an error of JSON-RPC may be long
)

// newPool makes the connections. It knows no proxy: whatever HTTP_PROXY says, the
// token goes to the server and nowhere else.
func newPool(config *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}
	if config != nil {
		config = config.Clone()
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        config,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    tlsTime,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTime,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeader,
		// A dead HTTP/2 peer would otherwise keep every stream waiting.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// tokenTransport carries every request of one connection: it adds the token, and lets nothing
// out that is not streamable HTTP.
type tokenTransport struct {
	pool  http.RoundTripper
	token operation.Secret // of the connection
}

var (
	errSSE     = errors.New("HTTP+SSE is not spoken here, only streamable HTTP")
	errSession = errors.New("a session that belongs to another token")
)

type tokenKey struct{}

// withToken has the requests of one call carry a token that is not the connection's.
func withToken(ctx context.Context, token operation.Secret) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// RoundTrip implements http.RoundTripper.
func (d *tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	token := d.token
	other, borrowed := r.Context().Value(tokenKey{}).(operation.Secret)
	switch {
	case r.Method == http.MethodGet && r.Header.Get("Mcp-Protocol-Version") == "":
		return nil, errSSE // streamable HTTP opens a stream after the handshake, if at all
	case borrowed && (r.Header.Get("Mcp-Method") == "" || r.Header.Get("Mcp-Session-Id") != ""):
		return nil, errSession // the server has turned from the modern era to sessions meanwhile
	case borrowed:
		token = other
	}
	out := *r
	out.Header = r.Header.Clone()
	if text := token.Reveal(); text != "" {
		out.Header.Set("Authorization", "Bearer "+text)
	}
	resp, err := d.pool.RoundTrip(&out)
	if err != nil || !borrowed || resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusMethodNotAllowed {
		return resp, err
	}
	return refused(resp, token)
}

// statusError is an answer with a status and nothing to say.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("HTTP %d %s: %s", e.status, http.StatusText(e.status), e.body)
}

// refused is a 404 or 405 on a connection that is shared. If it carries no JSON-RPC it is an error and no answer. As an answer it
// would say that no server is there, and end the connection under the calls of others; whether it is true the connection's own
// requests find out.
func refused(resp *http.Response, token operation.Secret) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, refusalLength))
	if err == nil {
		if env, bad := wire.Scan(body); bad != nil || env.Error == nil {
			err = &statusError{resp.StatusCode, excerpt(secret.New(token.Reveal()).Mask(string(body)))}
		}
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	resp.ContentLength = int64(len(body))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), resp.Body}
	return resp, nil
}
