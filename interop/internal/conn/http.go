package conn

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
)

const (
	// httpIdlePerHost keeps that many connections to a server open between calls:
	// a gateway's clients come in bursts.
	httpIdlePerHost = 128
	httpIdleTime    = 90 * time.Second
	httpDialTime    = 30 * time.Second // of TCP; the context may be shorter
	httpTLSTime     = 15 * time.Second
	httpMaxHeader   = 1 << 20 // of an answer, in bytes
	// httpMaxRedirects is more than any honest server needs.
	httpMaxRedirects = 5
	// httpLeaveWait bounds the messages that end a session, which are best effort.
	httpLeaveWait = 2 * time.Second
)

// httpServer is one server at a URL, as the three transports over HTTP reach
// it. It is immutable; what lives is in the connections.
type httpServer struct {
	url    *url.URL
	host   string      // the configured Host header; "": the URL's
	header http.Header // the configured headers, shared: never changed
	client *http.Client
	own    *http.Transport // nil: the client was injected
	opts   Options

	forwards bool // what is posted may have headers of its own
}

// newHTTPServer checks what is configured; it does no I/O.
func newHTTPServer(to URL, o Options) (*httpServer, error) {
	u, err := url.Parse(to.URL)
	if err != nil {
		return nil, errors.New("the URL is not valid") // url's own error repeats it, secrets and all
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the URL must begin with http:// or https:// and name a host")
	}
	u.Fragment, u.RawFragment = "", ""
	if o.Secrets == nil {
		o.Secrets = secret.New()
	}
	s := &httpServer{url: u, host: to.Header.Get("Host"), header: to.Header.Clone(), opts: o, forwards: to.Forwards}
	for _, key := range httpReserved {
		delete(s.header, key)
	}
	client := http.Client{}
	if to.Client != nil {
		client = *to.Client
		client.Timeout = 0 // it would end streams; contexts end requests
	} else {
		s.own = newHTTPTransport()
		s.own.TLSClientConfig = to.TLS
		client.Transport = s.own
	}
	if to.Wrap != nil || to.Forwards {
		if client.Transport == nil {
			client.Transport = http.DefaultTransport
		}
		client.Transport = learning{client.Transport, o.Secrets}
	}
	if to.Wrap != nil {
		client.Transport = to.Wrap(client.Transport)
	}
	client.CheckRedirect = checkRedirect(client.CheckRedirect)
	s.client = &client
	return s, nil
}

// httpReserved are the headers that belong to the connection, to the body or to the
// protocol: they are not the user's to set.
var httpReserved = []string{
	"Host", "Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
	httpKeyVersion, protocol.HeaderMethod, protocol.HeaderName, protocol.HeaderSession, httpKeyLastEvent,
}

// newHTTPTransport is a transport of our own: a proxy from the environment, no
// deadline on answers, because a context says how long each may take.
func newHTTPTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: httpDialTime, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    httpTLSTime,
		MaxIdleConnsPerHost:    httpIdlePerHost,
		IdleConnTimeout:        httpIdleTime,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: httpMaxHeader,
		// A dead HTTP/2 peer would otherwise keep every stream waiting.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// checkRedirect follows a redirect only to the same origin, and only where the
// method and the body stay (307 and 308; a GET in any way): nothing that is
// configured, said or asked may reach another origin, and a call that has
// become a GET is no call. What is not followed is an [*HTTPError].
func checkRedirect(then func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		if !sameOrigin(next.URL, via[0].URL) || next.Method != via[0].Method || len(via) > httpMaxRedirects {
			return http.ErrUseLastResponse
		}
		if then != nil {
			return then(next, via)
		}
		return nil
	}
}

// sameOrigin compares scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && urlPort(a) == urlPort(b)
}

func urlPort(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// close closes idle connections where they are ours.
func (s *httpServer) close() {
	if s.own != nil {
		s.own.CloseIdleConnections()
	}
}

// orContext is the caller's own error where its context has ended, the death
// of the connection where that came first, else err.
func orContext(ctx context.Context, l *lifetime, err error) error {
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	if l.ctx.Err() != nil {
		return &LostError{l.Err()}
	}
	return err
}
