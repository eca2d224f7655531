package oauth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/indusagi/indus/internal/httpconn"
	"github.com/indusagi/indus/internal/proxied"
)

const (
	requestTime  = 15 * time.Second // of one request to an authorization server
	maxBody      = 1 << 20          // of each answer, in bytes
	maxAddress   = 8 << 10          // of each address in an answer, in bytes
	maxRedirects = 3
	// idleTime is below the 5 s after which Node closes a connection. A code or a refresh token must not meet that close.
	idleTime = 4 * time.Second
)

// reach limits the addresses that the documents of one server may name. A server on the Internet may
// only name addresses on the Internet. Otherwise its metadata could cause requests to machines of our
// own network (SSRF; MCP security best practices, "Server-Side Request Forgery").
type reach int

const (
	reachPublic reach = iota
	reachPrivate
	reachLocal // this machine, also by http
)

// reachOf returns the reach for the place of the server itself.
func reachOf(ctx context.Context, resource string) reach {
	u, err := url.Parse(resource)
	if err != nil {
		return reachPublic
	}
	if isLoopback(u.Hostname()) {
		return reachLocal
	}
	ips := []netip.Addr{}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		ips = append(ips, ip)
	} else if ips, err = net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()); err != nil {
		return reachPublic
	}
	for _, ip := range ips {
		if !isPrivate(ip) {
			return reachPublic
		}
	}
	return reachPrivate
}

// isLoopback reports whether a host is a name of this machine (RFC 8252 section 8.3).
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// isPrivate reports whether an address belongs to a private network.
func isPrivate(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsPrivate() || sharedNetwork.Contains(ip)
}

// sharedNetwork is the network of providers and of some tunnels (RFC 6598).
var sharedNetwork = netip.MustParsePrefix("100.64.0.0/10")

// allows reports whether a connection to an address is allowed. Addresses that do not belong to a single
// machine are never allowed. Nor are addresses of a link, where clouds have their metadata.
func (r reach) allows(ip netip.Addr) bool {
	ip = ip.Unmap()
	switch {
	case ip.IsLoopback():
		return r == reachLocal
	case isPrivate(ip):
		return r >= reachPrivate
	}
	// IsGlobalUnicast excludes links, groups and "all".
	return ip.IsGlobalUnicast() && !nat64Prefix.Contains(ip) && !localNAT64Prefix.Contains(ip)
}

// nat64Prefix is the range in which a network maps IPv4 into IPv6 (RFC 6052), private addresses too.
// localNAT64Prefix is such a range within one network (RFC 8215).
var (
	nat64Prefix      = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64Prefix = netip.MustParsePrefix("64:ff9b:1::/48")
)

// check parses an address that a document names. It must begin with https://. If the server is on this
// machine, it may also be an http:// address of this machine.
func (r reach) check(raw string) (*url.URL, error) {
	if len(raw) > maxAddress {
		return nil, fmt.Errorf("the address is longer than %d bytes", maxAddress)
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("the address cannot be read")
	case strings.ContainsAny(u.Host, "!$&'()*+,;=\"<>%"): // "%" begins a zone of this machine
		return nil, errors.New("the address names no host")
	case u.Host == "" || u.User != nil || u.Opaque != "":
		return nil, errors.New("the address must name a host, and no user")
	case u.Scheme != "https" && (u.Scheme != "http" || r != reachLocal || !isLoopback(u.Hostname())):
		return nil, errors.New("the address must begin with https://")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !r.allows(ip) {
		return nil, errPrivate
	}
	return u, nil
}

var errPrivate = errors.New("the address is of a private network, and the server's is not")

// newHTTPClient returns a client that connects only to addresses that r allows.
func newHTTPClient(r reach, config *tls.Config) *http.Client {
	dialer := &net.Dialer{Timeout: requestTime, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err == nil && !r.allows(at.Addr()) {
			err = errPrivate
		}
		return err
	}}
	idle := new(httpconn.Idle)
	direct := newTransport(config)
	direct.DialContext = idle.Dial(dialer.DialContext)
	byProxy := newTransport(config) // the proxy looks names up, and may itself be in a private network
	byProxy.DialContext = idle.Dial((&net.Dialer{Timeout: requestTime}).DialContext)
	byProxy.Proxy, byProxy.OnProxyConnectResponse = proxied.FromEnvironment(), proxied.Check
	either := &eitherTransport{direct, byProxy, idle}
	return &http.Client{Transport: either, CheckRedirect: checkRedirect, Timeout: requestTime}
}

func newTransport(config *tls.Config) *http.Transport {
	return &http.Transport{
		TLSClientConfig: config.Clone(), ForceAttemptHTTP2: true, TLSHandshakeTimeout: requestTime,
		MaxIdleConns: 10, IdleConnTimeout: idleTime, MaxResponseHeaderBytes: 64 << 10,
	}
}

// eitherTransport uses the proxy of the environment if there is one.
type eitherTransport struct {
	direct, proxied *http.Transport
	idle            *httpconn.Idle
}

func (t *eitherTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	way := t.direct
	if p, err := t.proxied.Proxy(r); p != nil || err != nil {
		way = t.proxied
	}
	answer, err := way.RoundTrip(r)
	if err == nil {
		t.idle.Learn(answer.Header)
	}
	return answer, err
}

func (t *eitherTransport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}

// checkRedirect allows redirects of documents within their origin. Another origin must not speak for an
// issuer. Requests with secrets are not redirected at all.
func checkRedirect(next *http.Request, via []*http.Request) error {
	if first := via[0]; first.Method != http.MethodGet || !sameOrigin(next.URL, first.URL) || len(via) > maxRedirects {
		return &redirectError{bareURL(next.URL.String()), first.Method != http.MethodGet}
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
}
