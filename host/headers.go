package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop"
)

// CheckOrigin refuses requests that a web page could send through a browser: with a foreign Host header (DNS rebinding)
// or a foreign Origin.
func (h *Host) CheckOrigin(r *http.Request) error {
	if err := h.checkHost(r); err != nil {
		return err
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	for _, origin := range origins {
		if !h.allowedOrigin(origin, r.Host) {
			return fmt.Errorf("origin %q is not allowed: allow it with --allow-origin", origin)
		}
	}
	return nil
}

// allowOrigin lets the page of an allowed origin send requests and read the answers (the Fetch standard, "CORS
// protocol"). Credentials are not allowed, because there are no cookies. It returns true for a preflight, which it has
// answered.
func (h *Host) allowOrigin(w http.ResponseWriter, r *http.Request) (done bool) {
	head := w.Header()
	head.Add("Vary", "Origin")
	origin, ok := protocol.OneHeader(r.Header, "Origin")
	if !ok {
		return false
	}
	head.Set("Access-Control-Allow-Origin", origin)
	exposed := protocol.HeaderSession + ", " + protocol.HeaderVersion + ", WWW-Authenticate, Retry-After"
	head.Set("Access-Control-Expose-Headers", exposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	var allowed []string
	for name := range strings.SplitSeq(strings.Join(r.Header["Access-Control-Request-Headers"], ","), ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		switch name {
		case "accept", "authorization", "content-type", "last-event-id", "traceparent", "tracestate", "baggage":
			allowed = append(allowed, name)
		default: // Mcp-Session-Id, Mcp-Param-…, and forwarded headers
			if mcpHeader().MatchString(name) ||
				h.opts.Forward != nil && slices.Contains(h.opts.Forward(), http.CanonicalHeaderKey(name)) {
				allowed = append(allowed, name)
			}
		}
	}
	head.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	head.Set("Access-Control-Allow-Headers", strings.Join(allowed, ", "))
	head.Set("Access-Control-Max-Age", "600")
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		head.Set("Access-Control-Allow-Private-Network", "true")
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

var mcpHeader = text.Pattern(`^mcp-[a-z0-9_-]+$`)

func (h *Host) checkHost(r *http.Request) error {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	loopback := local != nil && local.IP.IsLoopback()
	switch {
	case loopback && loopbackName(hostName(r.Host)):
		return nil
	case !loopback && len(h.opts.AllowedHosts) == 0:
		return nil
	case slices.ContainsFunc(h.opts.AllowedHosts, func(a string) bool {
		return strings.EqualFold(a, r.Host) || strings.EqualFold(a, hostName(r.Host))
	}):
		return nil
	}
	return fmt.Errorf("host %q is not allowed: allow it with --allow-host", r.Host)
}

func (h *Host) allowedOrigin(origin, host string) bool {
	if slices.ContainsFunc(h.opts.AllowedOrigins, func(a string) bool { return strings.EqualFold(a, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return loopbackName(hostName(u.Host)) || strings.EqualFold(u.Host, host) && h.isTrustedHost(host)
}

// isTrustedHost reports whether a Host can be trusted, because it is an address or a configured name. An attacker can
// point any other name at this host (DNS rebinding).
func (h *Host) isTrustedHost(host string) bool {
	_, err := netip.ParseAddr(hostName(host))
	return err == nil || len(h.opts.AllowedHosts) > 0 // a configured name is one of AllowedHosts, see checkHost
}

// hostName returns a Host header without its port and brackets.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func loopbackName(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// refuser is an error that has its own HTTP answer.
type refuser interface {
	error
	Refuse() (status int, header http.Header, body string)
}

// refuseCaller answers a request that Authenticate refuses. Only a refuser and an [*interop.HTTPError] have a text for
// the client.
func (h *Host) refuseCaller(w http.ResponseWriter, err error) *refusal {
	h.opts.Logger.Debug("a caller is refused", "err", err)
	status, header, body := 0, http.Header(nil), ""
	if custom, ok := errors.AsType[refuser](err); ok {
		status, header, body = custom.Refuse()
	} else if he, ok := errors.AsType[*interop.HTTPError](err); ok {
		status, header, body = he.Status, he.Header, he.Body
	}
	maps.Copy(w.Header(), header)
	if status < 400 || status > 599 {
		status = http.StatusUnauthorized
	}
	if body == "" {
		body = strings.ToLower(http.StatusText(status))
	}
	return refuse(status, body)
}

// checkStandardHeaders returns an error if the Mcp-Method and Mcp-Name headers of a modern request do not match its
// body (SEP-2243).
func checkStandardHeaders(h http.Header, method string, params json.RawMessage) error {
	switch got, ok := protocol.OneHeader(h, protocol.HeaderMethod); {
	case !ok:
		return fmt.Errorf("the %s header is missing", protocol.HeaderMethod)
	case got != method:
		return fmt.Errorf("the %s header has %q, the body %q", protocol.HeaderMethod, got, method)
	}
	key := protocol.NamingParam(method)
	if key == "" {
		return nil
	}
	raw, ok := protocol.OneHeader(h, protocol.HeaderName)
	if !ok {
		return fmt.Errorf("the %s header is missing", protocol.HeaderName)
	}
	got, ok := protocol.DecodeHeader(raw)
	if !ok {
		return fmt.Errorf("the %s header has an invalid value", protocol.HeaderName)
	}
	if want, ok := protocol.LookupString(params, key); ok && got != want {
		return fmt.Errorf("the %s header has %q, the body %q", protocol.HeaderName, got, want)
	}
	return nil
}
