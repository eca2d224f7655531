package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
)

const (
	maxNoiseKept = 3 // lines that are shown of a server's noise
	maxPeek      = 64 << 10
)

// probe watches one server connect and list its tools.
type probe struct {
	row     mcpconfig.Row
	settled chan struct{}
	once    sync.Once
	web     *http.Transport // nil: a server that is a process

	mu      sync.Mutex
	started int // how many processes there were
	pid     int
	stderr  func() string
	noise   []string
	noises  int
	answers []opening
	pages   int
	bytes   int
	listing time.Duration
	net     netProbe
}

// opening is what came of one opening question.
type opening struct {
	method string
	took   time.Duration
	status int // of HTTP
	err    error
}

// netProbe is how a connection to a server at a URL came about.
type netProbe struct {
	proxy                        string // through which it goes; "": none
	dnsStart, tcpStart, tlsStart time.Time
	dns, tcp, tls                *leg
}

// leg is one step of that.
type leg struct {
	detail string
	took   time.Duration
	err    error
}

func newProbe(r mcpconfig.Row) *probe {
	p := &probe{row: r, settled: make(chan struct{})}
	switch r.Server.Transport.(type) {
	case interop.HTTP, interop.SSE:
		p.web = http.DefaultTransport.(*http.Transport).Clone()
	}
	return p
}

func (p *probe) settle() { p.once.Do(func() { close(p.settled) }) }

func (p *probe) close() {
	if p.web != nil {
		p.web.CloseIdleConnections()
	}
}

func (p *probe) options() *interop.EndpointOptions {
	o := &interop.EndpointOptions{
		Around: []func(interop.Peer) interop.Peer{p.around},
		Trace: &interop.Trace{Started: p.sawProcess, Noise: p.sawNoise, Answered: func(method string, took time.Duration, err error) {
			p.sawAnswer(opening{method: method, took: took, err: err})
		}},
	}
	if p.web != nil {
		o.HTTPClient = &http.Client{Transport: p}
	}
	return o
}

func (p *probe) sawProcess(pid int, stderr func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
	p.pid, p.stderr = pid, stderr
}

func (p *probe) sawNoise(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.noises++; p.noises <= maxNoiseKept {
		p.noise = append(p.noise, line)
	}
}

func (p *probe) sawAnswer(a opening) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = append(p.answers, a)
}

// around counts the pages of the listing.
func (p *probe) around(next interop.Peer) interop.Peer {
	return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		if m.Method != "tools/list" {
			return next(ctx, m)
		}
		at := time.Now()
		result, err := next(ctx, m)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.listing += time.Since(at)
		if err == nil {
			p.pages++
			p.bytes += len(result)
		}
		return result, err
	}
}

// RoundTrip sends a request and watches how it fares.
func (p *probe) RoundTrip(r *http.Request) (*http.Response, error) {
	method := rpcMethod(r)
	if through, err := http.ProxyFromEnvironment(r); err == nil && through != nil {
		p.mu.Lock()
		p.net.proxy = through.Host
		p.mu.Unlock()
	}
	at := time.Now()
	answer, err := p.web.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), p.netTrace())))
	if method == "server/discover" || method == "initialize" {
		a := opening{method: method, took: time.Since(at), err: err}
		if err == nil {
			a.status = answer.StatusCode
		}
		p.sawAnswer(a)
	}
	return answer, err
}

// rpcMethod is the method of the message in a request's body; "" where it has none.
func rpcMethod(r *http.Request) string {
	if r.GetBody == nil {
		return ""
	}
	body, err := r.GetBody()
	if err != nil {
		return ""
	}
	raw, err := io.ReadAll(io.LimitReader(body, maxPeek))
	if err != nil {
		return ""
	}
	quoted, _ := wire.Lookup(raw, "method")
	method, _ := wire.Unquote(quoted)
	return method
}

// netTrace keeps the first good outcome of each step of connecting, or else the last
// bad one: of a host's several addresses one is enough.
func (p *probe) netTrace() *httptrace.ClientTrace {
	n := &p.net
	locked := func(set func()) {
		p.mu.Lock()
		defer p.mu.Unlock()
		set()
	}
	keep := func(to **leg, l leg) {
		if *to == nil || (*to).err != nil {
			*to = &l
		}
	}
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { locked(func() { n.dnsStart = time.Now() }) },
		DNSDone: func(i httptrace.DNSDoneInfo) {
			var addresses []string
			for _, a := range i.Addrs {
				addresses = append(addresses, a.String())
			}
			locked(func() { keep(&n.dns, leg{show.List(addresses, 4, "addresses"), time.Since(n.dnsStart), i.Err}) })
		},
		ConnectStart: func(string, string) { locked(func() { n.tcpStart = time.Now() }) },
		ConnectDone: func(_, address string, err error) {
			locked(func() { keep(&n.tcp, leg{address, time.Since(n.tcpStart), err}) })
		},
		TLSHandshakeStart: func() { locked(func() { n.tlsStart = time.Now() }) },
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			detail := tls.VersionName(s.Version)
			if len(s.PeerCertificates) > 0 {
				detail += ", a certificate until " + s.PeerCertificates[0].NotAfter.Format(time.DateOnly)
			}
			locked(func() { keep(&n.tls, leg{detail, time.Since(n.tlsStart), err}) })
		},
	}
}

// record is what a probe has seen, at one moment.
type record struct {
	started, noises, pages, bytes int
	pid                           int
	stderr                        string
	noise                         []string
	answers                       []opening
	listing                       time.Duration
	net                           netProbe
}

func (p *probe) record() record {
	p.mu.Lock()
	r := record{
		started: p.started, noises: p.noises, pages: p.pages, bytes: p.bytes, pid: p.pid,
		noise: append([]string(nil), p.noise...), answers: append([]opening(nil), p.answers...),
		listing: p.listing, net: p.net,
	}
	stderr := p.stderr
	p.mu.Unlock()
	if stderr != nil {
		r.stderr = stderr()
	}
	return r
}

// answer is what came of the last question of a method.
func (r *record) answer(method string) (opening, bool) {
	for i := len(r.answers) - 1; i >= 0; i-- {
		if r.answers[i].method == method {
			return r.answers[i], true
		}
	}
	return opening{}, false
}
