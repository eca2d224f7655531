package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

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
	secrets []string // values that nobody is to see
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
	p := &probe{row: r, settled: make(chan struct{}), secrets: tellable(secretsOf(r))}
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
			locked(func() { keep(&n.dns, leg{some(addresses, 4, "addresses"), time.Since(n.dnsStart), i.Err}) })
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

// leastSecret is how long a value must be to be taken out of what a server says:
// "1" and "true" stand everywhere.
const leastSecret = 6

// secretsOf are the values of a row that a server may repeat: of its variables and
// headers, what the URL has for itself, and the arguments that the file does not have
// as they are.
func secretsOf(r mcpconfig.Row) []string {
	var values []string
	pairs := func(list []interop.Pair) {
		for _, p := range list {
			values = append(values, p.Value.Reveal())
			if _, token, ok := strings.Cut(p.Value.Reveal(), " "); ok { // "Bearer …"
				values = append(values, token)
			}
		}
	}
	address := ""
	switch t := r.Server.Transport.(type) {
	case interop.Stdio:
		pairs(t.Env)
		for _, a := range t.Args {
			if !strings.Contains(r.Target, a) {
				values = append(values, a)
			}
		}
	case interop.HTTP:
		pairs(t.Headers)
		address = t.URL
	case interop.SSE:
		pairs(t.Headers)
		address = t.URL
	}
	if u, err := url.Parse(address); err == nil && address != "" {
		for _, list := range u.Query() {
			values = append(values, list...)
		}
		if password, ok := u.User.Password(); ok {
			values = append(values, password)
		}
		for part := range strings.SplitSeq(u.Path, "/") {
			if !strings.Contains(r.Target, part) {
				values = append(values, part)
			}
		}
	}
	return values
}

// tellable are the ways in which those values that are worth hiding may be told: as
// they are, each line by itself, or as a URL writes them.
func tellable(values []string) []string {
	var out []string
	for _, v := range values {
		for line := range strings.Lines(v) {
			line = strings.TrimSpace(line)
			for _, form := range []string{line, url.QueryEscape(line), url.PathEscape(line)} {
				if len(form) >= leastSecret && !isPlace(line) && !slices.Contains(out, form) {
					out = append(out, form)
				}
			}
		}
	}
	return out
}

// isPlace reports a path into this machine's file system, whether or not it leads
// anywhere: a server that complains of it is to be understood.
func isPlace(value string) bool {
	if !filepath.IsAbs(value) {
		return false
	}
	top, _, _ := strings.Cut(filepath.ToSlash(value)[1:], "/")
	_, err := os.Lstat("/" + top)
	return err == nil && top != ""
}

// hide is text without the row's secrets, whole or cut off.
func (p *probe) hide(text string) string {
	for _, v := range p.secrets {
		text = hideCut(strings.ReplaceAll(text, v, "<secret>"), v)
	}
	return text
}

// hideCut is text without the beginning of a secret that "…" has cut off.
func hideCut(text, secret string) string {
	var b strings.Builder
	parts := strings.Split(text, "…")
	for i, part := range parts {
		if i == len(parts)-1 {
			b.WriteString(part)
			break
		}
		n := min(len(secret)-1, len(part))
		for n >= leastSecret && !strings.HasSuffix(part, secret[:n]) {
			n--
		}
		if n >= leastSecret {
			part = part[:len(part)-n] + "<secret>"
		}
		b.WriteString(part + "…")
	}
	return b.String()
}
