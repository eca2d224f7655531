package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/internal/proxied"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
)

const maxNoiseKept = 3 // lines on stdout that are not messages

// probe observes how one server connects and lists its tools.
type probe struct {
	row     mcpconfig.Row
	settled chan struct{}
	once    sync.Once
	tokens  *signin.Tokens

	mu           sync.Mutex
	observations observations
}

// observations holds the observations of a probe.
type observations struct {
	started       int // number of processes
	pid           int
	stderr        func() string
	noiseLines    []string // the first lines on stdout that are not messages
	noiseCount    int      // number of all such lines
	answers       []opening
	pages, bytes  int // of the list of tools
	listing       time.Duration
	proxy         string // the proxy in front of the server, or ""
	dns, tcp, tls connectStep
}

// opening is the outcome of one opening request. Of a server at a URL, later requests are openings too.
type opening struct {
	method string
	took   time.Duration
	err    error
}

// connectStep is one step of a connection to a URL.
type connectStep struct {
	began  time.Time
	ended  bool
	detail string
	took   time.Duration
	err    error
}

func (p *probe) settle() { p.once.Do(func() { close(p.settled) }) }

func (p *probe) options() *interop.EndpointOptions {
	o := p.tokens.Endpoint(p.row.Server)
	o.Around = []func(interop.Peer) interop.Peer{p.around}
	o.Trace = &interop.Trace{
		Started: func(pid int, stderr func() string) {
			p.update(func(s *observations) { s.started, s.pid, s.stderr = s.started+1, pid, stderr })
		},
		Noise: func(line string) {
			p.update(func(s *observations) {
				s.noiseCount++
				if s.noiseCount <= maxNoiseKept {
					s.noiseLines = append(s.noiseLines, line)
				}
			})
		},
		Answered: func(method string, took time.Duration, err error) {
			p.update(func(s *observations) { s.answers = append(s.answers, opening{method, took, err}) })
		},
	}
	proxy := proxied.FromEnvironment()
	o.RoundTripper = func(s config.Server, who toolbox.Principal, base http.RoundTripper) http.RoundTripper {
		return p.tokens.RoundTripper(s, who, recorder{p, base, proxy})
	}
	return o
}

func (p *probe) update(change func(*observations)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.observations)
}

// snapshot returns a copy of the observations so far.
func (p *probe) snapshot() observations {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.observations
	s.noiseLines, s.answers = slices.Clone(s.noiseLines), slices.Clone(s.answers)
	return s
}

// around measures the requests for the last list of tools.
func (p *probe) around(next interop.Peer) interop.Peer {
	return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		if m.Method != "tools/list" {
			return next(ctx, m)
		}
		at := time.Now()
		result, err := next(ctx, m)
		_, goesOn := wire.Lookup(m.Params, "cursor")
		p.update(func(s *observations) {
			if !goesOn { // the first page, also of a list that the server has changed meanwhile
				s.pages, s.bytes, s.listing = 0, 0, 0
			}
			s.listing += time.Since(at)
			if err == nil {
				s.pages, s.bytes = s.pages+1, s.bytes+len(result)
			}
		})
		return result, err
	}
}

// recorder is a round tripper that records its requests in a probe.
type recorder struct {
	*probe
	base  http.RoundTripper
	proxy func(*http.Request) (*url.URL, error) // of the environment
}

// RoundTrip sends a request and records its outcome.
func (p recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	if proxy, err := p.proxy(r); err == nil && proxy != nil {
		p.update(func(s *observations) { s.proxy = proxy.Host })
	}
	at := time.Now()
	answer, err := p.base.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), p.trace())))
	method := r.Header.Get("Mcp-Method") // legacy requests have none
	p.update(func(s *observations) { s.answers = append(s.answers, opening{method, time.Since(at), err}) })
	return answer, err
}

// trace keeps the first success of each step, or else the last failure. One working address of a host is enough.
func (p *probe) trace() *httptrace.ClientTrace {
	begin := func(l *connectStep) { p.update(func(*observations) { l.began = time.Now() }) }
	end := func(l *connectStep, detail string, err error) {
		p.update(func(*observations) {
			if !l.ended || l.err != nil {
				*l = connectStep{l.began, true, detail, time.Since(l.began), err}
			}
		})
	}
	s := &p.observations
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { begin(&s.dns) },
		DNSDone: func(i httptrace.DNSDoneInfo) {
			addresses := show.Names(i.Addrs, func(a net.IPAddr) string { return a.String() })
			end(&s.dns, show.List(addresses, 4, "addresses"), i.Err)
		},
		ConnectStart:      func(string, string) { begin(&s.tcp) },
		ConnectDone:       func(_, address string, err error) { end(&s.tcp, address, err) },
		TLSHandshakeStart: func() { begin(&s.tls) },
		TLSHandshakeDone: func(c tls.ConnectionState, err error) {
			detail := tls.VersionName(c.Version)
			if len(c.PeerCertificates) > 0 {
				detail += ", a certificate until " + c.PeerCertificates[0].NotAfter.Format(time.DateOnly)
			}
			end(&s.tls, detail, err)
		},
	}
}
