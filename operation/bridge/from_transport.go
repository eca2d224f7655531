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
	dialTime      = 30 * time.Second // for TCP; the deadline of the step may be shorter
	tlsTime       = 15 * time.Second
	idleTime      = 90 * time.Second
	idlePerHost   = 32
	maxHeader     = 1 << 20 // of an answer, in bytes
	refusalLength = 1 << 20 // of an error answer, in bytes; JSON-RPC errors may be long
)

// newPool returns the transport of the connections. It uses no proxy, even if HTTP_PROXY is set, so that tokens go only
// to the server.
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
		// Without pings, a dead HTTP/2 peer would block every stream.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// tokenTransport sends all requests of one connection. It adds the token, and rejects requests that are not streamable
// HTTP.
type tokenTransport struct {
	pool  http.RoundTripper
	token operation.Secret // of the connection
}

var (
	errSSE     = errors.New("HTTP+SSE is not spoken here, only streamable HTTP")
	errSession = errors.New("a session that belongs to another token")
)

type tokenKey struct{}

// withToken returns a context whose requests carry a different token than the connection's.
func withToken(ctx context.Context, token operation.Secret) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// RoundTrip implements http.RoundTripper.
func (d *tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	token := d.token
	callToken, borrowed := r.Context().Value(tokenKey{}).(operation.Secret)
	switch {
	case r.Method == http.MethodGet && r.Header.Get("Mcp-Protocol-Version") == "":
		return nil, errSSE // streamable HTTP opens a stream only after the handshake
	case borrowed && (r.Header.Get("Mcp-Method") == "" || r.Header.Get("Mcp-Session-Id") != ""):
		return nil, errSession // the server has changed from the modern era to sessions
	case borrowed:
		token = callToken
	}
	out := *r
	out.Header = r.Header.Clone()
	if text := token.Reveal(); text != "" {
		out.Header.Set("Authorization", "Bearer "+text)
	}
	resp, err := d.pool.RoundTrip(&out)
	if err != nil || !borrowed || resp.StatusCode != http.StatusNotFound &&
		resp.StatusCode != http.StatusMethodNotAllowed {
		return resp, err
	}
	return checkRefusal(resp, token)
}

// statusError is an HTTP answer with an error status and no protocol message.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("HTTP %d %s: %s", e.status, http.StatusText(e.status), e.body)
}

// checkRefusal handles a 404 or 405 on a shared connection. If the body has no JSON-RPC error, checkRefusal returns an
// error instead of the answer. The answer would mean that the server is gone, and would end the connection during calls
// of other principals. The connection's own requests determine whether it is gone.
func checkRefusal(resp *http.Response, token operation.Secret) (*http.Response, error) {
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
