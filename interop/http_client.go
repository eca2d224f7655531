package interop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
)

// httpOptions is what a connection over HTTP is dialled with.
type httpOptions struct {
	url     string
	headers []Pair
	client  *http.Client // nil: one of the connection's own
	info    Info
	era     Era           // what the server spoke last: tried first; "": not known
	pin     Era           // speak this era only; "": find out
	noSSE   bool          // never fall back to HTTP+SSE
	max     int           // bytes of one message; 0: MaxMessage
	memory  *Memory       // of all messages; nil: no bound
	gap     func()        // something may have been missed on the standing stream; nil: nobody cares
	receive Peer          // what the server asks, and tells outside of calls; nil: refused and dropped
	probe   time.Duration // how long server/discover may go unanswered before initialize is tried; 0: httpProbeWait
	logger  *slog.Logger  // nil: silent
	secrets *secret.Set   // that nothing which the server says may show
}

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
)

// httpServer is one server at a URL, as the three transports over HTTP reach
// it. It is immutable; what lives is in the connections.
type httpServer struct {
	url    *url.URL
	host   string      // the configured Host header; "": the URL's
	header http.Header // the configured headers, shared: never changed
	client *http.Client
	own    *http.Transport // nil: the client was injected
	max    int
	log    *slog.Logger

	secrets *secret.Set
	scratch *scratch
}

// newHTTPServer checks what is configured; it does no I/O.
func newHTTPServer(o httpOptions) (*httpServer, error) {
	u, err := url.Parse(o.url)
	if err != nil {
		return nil, errors.New("the URL is not valid") // url's own error repeats it, secrets and all
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the URL must begin with http:// or https:// and name a host")
	}
	u.Fragment, u.RawFragment = "", ""
	s := &httpServer{url: u, header: http.Header{}, max: o.max, log: o.logger, secrets: o.secrets, scratch: &scratch{memory: o.memory}}
	if s.max == 0 {
		s.max = MaxMessage
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, h := range o.headers {
		s.configure(h)
	}
	client := http.Client{}
	if o.client != nil {
		client = *o.client
		client.Timeout = 0 // it would end streams; contexts end requests
	} else {
		s.own = newHTTPTransport()
		client.Transport = s.own
	}
	client.CheckRedirect = checkRedirect(client.CheckRedirect)
	s.client = &client
	return s, nil
}

// configure takes one configured header; of two with one name the later wins.
// Those that belong to the connection, to the body or to the protocol are not the
// user's to set.
func (s *httpServer) configure(h Pair) {
	switch key := http.CanonicalHeaderKey(h.Name); key {
	case "Host":
		s.host = h.Value.Reveal()
	case "Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade",
		httpKeyVersion, protocol.HeaderMethod, protocol.HeaderName, protocol.HeaderSession, httpKeyLastEvent:
	default:
		s.header[key] = []string{h.Value.Reveal()}
	}
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

// close lets idle connections go where they are ours.
func (s *httpServer) close() {
	if s.own != nil {
		s.own.CloseIdleConnections()
	}
}

// netError is a request that got no answer. Of the URL its text shows the
// origin only: all else may be secret.
type netError struct {
	method string
	url    *url.URL
	err    error
}

func (e *netError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.method, originText(e.url), e.err)
}

func (e *netError) Unwrap() error { return e.err }

func originText(u *url.URL) string { return protocol.Printable(u.Scheme+"://"+u.Host, 200) }

// newNetError unwraps what net/http says, which shows the whole URL.
func newNetError(method string, u *url.URL, err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	return &netError{method, u, err}
}

// orContext is the caller's own error where its context has ended, the death
// of the connection where that came first, else err.
func orContext(ctx context.Context, l *httpLife, err error) error {
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	if l.ctx.Err() != nil {
		return &lostError{l.err()}
	}
	return err
}
