package conn

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/httpconn"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/proxied"
	"github.com/indusagi/indus/internal/secret"
)

const (
	// httpIdlePerHost is the number of idle connections to a server that stay open. A gateway's clients come in bursts.
	httpIdlePerHost = 128
	// httpIdleTime is below the 5 s after which Node closes a connection. A call must not meet that close.
	httpIdleTime  = 4 * time.Second
	httpDialTime  = 30 * time.Second // of TCP; the context may be shorter
	httpTLSTime   = 15 * time.Second
	httpMaxHeader = 1 << 20 // of an answer, in bytes
	// httpMaxRedirects is more than any honest server needs.
	httpMaxRedirects = 5
	// httpLeaveWait bounds the messages that end a session, which are best effort.
	httpLeaveWait = 2 * time.Second
)

// httpServer is one server at a URL, for the three transports over HTTP. It is immutable; the connections hold the
// state.
type httpServer struct {
	url          *url.URL
	host         string      // the configured Host header; "": the host of the URL
	header       http.Header // the configured headers, shared: never changed
	client       *http.Client
	ownTransport *http.Transport // nil: the client was injected
	opts         Options

	idle     *httpconn.Idle
	forwards bool // posted messages may have headers of their own
}

// newHTTPServer checks the configuration. It does no I/O.
func newHTTPServer(to URL, o Options) (*httpServer, error) {
	u, err := url.Parse(to.URL)
	if err != nil {
		return nil, errors.New("the URL is not valid") // the error of package url repeats the URL with its secrets
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the URL must begin with http:// or https:// and name a host")
	}
	u.Fragment, u.RawFragment = "", ""
	if o.Secrets == nil {
		o.Secrets = secret.New()
	}
	s := &httpServer{url: u, host: to.Header.Get("Host"), header: to.Header.Clone(), opts: o, idle: new(httpconn.Idle)}
	s.forwards = to.Forwards
	if s.header == nil {
		s.header = http.Header{}
	}
	for key := range s.header {
		readable := key == "Accept-Encoding" && httpconn.Readable(s.header.Get(key))
		if protocol.ReservedHeader(key) && !readable { // identity is the cure for a server that compresses wrongly
			delete(s.header, key)
		}
	}
	if s.header["User-Agent"] == nil && o.Info.Name != "" { // some filters refuse the default of net/http
		s.header["User-Agent"] = []string{o.Info.Name + "/" + o.Info.Version}
	}
	client := http.Client{}
	if to.Client != nil {
		client = *to.Client
		client.Timeout = 0 // it would end streams; contexts end requests
	} else {
		s.ownTransport = newHTTPTransport()
		s.ownTransport.DialContext = s.idle.Dial(s.ownTransport.DialContext)
		s.ownTransport.TLSClientConfig = to.TLS
		client.Transport = s.ownTransport
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = probeTransport{client.Transport}
	if to.Wrap != nil || to.Forwards {
		client.Transport = credentialLearner{client.Transport, o.Secrets}
	}
	if to.Wrap != nil {
		client.Transport = to.Wrap(client.Transport)
	}
	client.CheckRedirect = checkRedirect(client.CheckRedirect)
	s.client = &client
	return s, nil
}

// newHTTPTransport returns a transport with a proxy from the environment. It has no deadline for answers, because
// contexts bound each of them.
func newHTTPTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: httpDialTime, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  proxied.FromEnvironment(),
		OnProxyConnectResponse: proxied.Check,
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

// checkRedirect follows a redirect only to the same origin, and only if the method and the body stay (307 and 308; any
// redirect of a GET). No configuration, message or question may reach another origin, and a call must not become a GET.
// A redirect that is not followed is an [*HTTPError].
func checkRedirect(check func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		if !sameOrigin(next.URL, via[0].URL) || next.Method != via[0].Method || len(via) > httpMaxRedirects {
			return http.ErrUseLastResponse
		}
		if check != nil {
			return check(next, via)
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

// close closes the idle connections of the connection's own transport.
func (s *httpServer) close() {
	if s.ownTransport != nil {
		s.ownTransport.CloseIdleConnections()
	}
}

// contextErrorOr returns the caller's own error if its context has ended. If the connection died first, it returns a
// LostError. Otherwise it returns err.
func contextErrorOr(ctx context.Context, l *lifetime, err error) error {
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	if l.ctx.Err() != nil {
		return &LostError{l.Err()}
	}
	return err
}
