package host

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
)

// guard refuses what a web page could send through a browser: a foreign Host
// header (DNS rebinding) or a foreign Origin.
func (h *Host) guard(r *http.Request) error {
	if err := h.guardHost(r); err != nil {
		return err
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	for _, origin := range origins {
		if !h.allowedOrigin(origin, r.Host) {
			return fmt.Errorf("origin %q is not allowed", origin)
		}
	}
	return nil
}

// share lets the page of an allowed origin send requests and read the answers (the
// Fetch standard, "CORS protocol"). Nothing is allowed with credentials, as there are
// no cookies. It reports a preflight, which it has answered.
func share(w http.ResponseWriter, r *http.Request) (done bool) {
	head := w.Header()
	head.Add("Vary", "Origin")
	origin, ok := headerValue(r.Header, "Origin")
	if !ok {
		return false
	}
	head.Set("Access-Control-Allow-Origin", origin)
	head.Set("Access-Control-Expose-Headers", protocol.HeaderSession+", "+protocol.HeaderVersion+", WWW-Authenticate, Retry-After")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	var allowed []string
	for name := range strings.SplitSeq(strings.Join(r.Header["Access-Control-Request-Headers"], ","), ",") {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "accept", "authorization", "content-type", "last-event-id", "traceparent", "tracestate", "baggage":
			allowed = append(allowed, name)
		default: // Mcp-Session-Id, Mcp-Param-…
			if mcpHeader.MatchString(name) {
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

var mcpHeader = regexp.MustCompile(`^mcp-[a-z0-9_-]+$`)

func (h *Host) guardHost(r *http.Request) error {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	loopback := local != nil && loopbackAddr(local)
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
	return fmt.Errorf("host %q is not allowed", r.Host)
}

func (h *Host) allowedOrigin(origin, host string) bool {
	if slices.ContainsFunc(h.opts.AllowedOrigins, func(a string) bool { return strings.EqualFold(a, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return loopbackName(hostName(u.Host)) || strings.EqualFold(u.Host, host) && h.ownName(host)
}

// ownName reports a Host that a web page cannot have made up: its name may have
// been pointed at us (DNS rebinding), but for an address or a name that is configured.
func (h *Host) ownName(host string) bool {
	_, err := netip.ParseAddr(hostName(host))
	return err == nil || len(h.opts.AllowedHosts) > 0 // then it is one of those, see guardHost
}

// hostName is a Host header without its port and brackets.
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

func loopbackAddr(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// refuseCaller answers whom Principal refuses. Only an [*interop.HTTPError] has words
// for strangers.
func (h *Host) refuseCaller(w http.ResponseWriter, err error) {
	h.opts.Logger.Debug("a caller is refused", "err", err)
	status, body := http.StatusUnauthorized, ""
	var he *interop.HTTPError
	if errors.As(err, &he) {
		for k, v := range he.Header {
			w.Header()[k] = v
		}
		if he.Status >= 400 && he.Status <= 599 {
			status = he.Status
		}
		body = he.Body
	}
	if body == "" {
		body = strings.ToLower(http.StatusText(status))
	}
	refuse(w, status, interop.CodeInvalidRequest, body)
}
