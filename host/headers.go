package host

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
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
			return fmt.Errorf("origin %q is not allowed", origin)
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
	origin, ok := headerValue(r.Header, "Origin")
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

var mcpHeader = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^mcp-[a-z0-9_-]+$`) })

func (h *Host) checkHost(r *http.Request) error {
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

func loopbackAddr(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// refuser is an error that has its own HTTP answer.
type refuser interface {
	Refuse() (status int, header http.Header, body string)
}

// refuseCaller answers a request that Authenticate refuses. Only a refuser and an [*interop.HTTPError] have a text for
// the client.
func (h *Host) refuseCaller(w http.ResponseWriter, err error) *refusal {
	h.opts.Logger.Debug("a caller is refused", "err", err)
	status, header, body := 0, http.Header(nil), ""
	var custom refuser
	var he *interop.HTTPError
	switch {
	case errors.As(err, &custom):
		status, header, body = custom.Refuse()
	case errors.As(err, &he):
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
	switch got, ok := headerValue(h, protocol.HeaderMethod); {
	case !ok:
		return fmt.Errorf("the %s header is missing", protocol.HeaderMethod)
	case got != method:
		return fmt.Errorf("the %s header has %q, the body %q", protocol.HeaderMethod, got, method)
	}
	key := protocol.NamingParam(method)
	if key == "" {
		return nil
	}
	raw, ok := headerValue(h, protocol.HeaderName)
	if !ok {
		return fmt.Errorf("the %s header is missing", protocol.HeaderName)
	}
	got, ok := decodeHeader(raw)
	if !ok {
		return fmt.Errorf("the %s header has an invalid value", protocol.HeaderName)
	}
	if want, ok := protocol.LookupString(params, key); ok && got != want {
		return fmt.Errorf("the %s header has %q, the body %q", protocol.HeaderName, got, want)
	}
	return nil
}

// CheckHeader returns an error if the Mcp-Param-* headers of a tools/call do not match its arguments; see
// [HeaderChecker].
func (t *toolsBackend) CheckHeader(_ context.Context, m interop.Message, h http.Header) error {
	if m.Method != protocol.MethodToolsCall {
		return nil
	}
	l := t.list(m.Caller)
	if l.headers == nil {
		return nil
	}
	name, _ := protocol.LookupString(m.Params, "name")
	args, _ := wire.Lookup(m.Params, "arguments")
	for _, p := range l.headers[name] {
		if err := checkParam(p, h, args); err != nil {
			return err
		}
	}
	return nil
}

// checkParam compares one argument with its header.
func checkParam(p protocol.ParamHeader, h http.Header, args json.RawMessage) error {
	header := protocol.HeaderParam + p.Name
	value, found := args, true
	for _, key := range p.Path {
		if isRepeated(value, key) {
			return fmt.Errorf("the argument %q stands twice", strings.Join(p.Path, "."))
		}
		value, found = wire.Lookup(value, key)
		if !found {
			break
		}
	}
	raw, sent := headerValue(h, http.CanonicalHeaderKey(header))
	if !found || string(value) == "null" {
		if sent {
			return fmt.Errorf("the %s header is there, its argument %q is not", header, strings.Join(p.Path, "."))
		}
		return nil
	}
	if !sent {
		return fmt.Errorf("the %s header is missing", header)
	}
	got, ok := decodeHeader(raw)
	if !ok {
		return fmt.Errorf("the %s header has an invalid value", header)
	}
	want, ok := protocol.PrimitiveText(value)
	if !ok || got != want && !sameInteger(got, value) {
		return fmt.Errorf("the %s header does not match the argument %q", header, strings.Join(p.Path, "."))
	}
	return nil
}

// isRepeated reports whether a key occurs twice. Then it is not known which value the server reads.
func isRepeated(obj json.RawMessage, key string) bool {
	members, _ := wire.Members(obj)
	n := 0
	for i := range members {
		if members[i].Key == key {
			n++
		}
	}
	return n > 1
}

// sameInteger compares numerically, as the specification requires: 42.0 is 42.
func sameInteger(got string, value json.RawMessage) bool {
	if value[0] == '"' {
		return false
	}
	a, errA := strconv.ParseFloat(got, 64)
	b, errB := strconv.ParseFloat(string(value), 64)
	return errA == nil && errB == nil && a == b
}

// headerValue returns a header that has one value. If two values differ, it is not known which one an intermediary has
// read, and the header is ignored.
func headerValue(h http.Header, canonical string) (string, bool) {
	values := h[canonical]
	if len(values) == 0 {
		return "", false
	}
	for _, v := range values[1:] {
		if v != values[0] {
			return "", false
		}
	}
	return values[0], true
}

// decodeHeader undoes the base64 form of a header's value. It refuses a value with characters outside of visible ASCII,
// spaces and tabs.
func decodeHeader(s string) (string, bool) {
	for i := range len(s) {
		if (s[i] < ' ' || s[i] > '~') && s[i] != '\t' {
			return "", false
		}
	}
	in, ok := strings.CutPrefix(s, protocol.SentinelPrefix)
	if !ok {
		return s, true
	}
	in, ok = strings.CutSuffix(in, protocol.SentinelSuffix)
	if !ok {
		return s, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(in)
	if err != nil {
		return "", false
	}
	return string(b), true
}
