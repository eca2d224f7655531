package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/carried"
	"github.com/indusagi/indus/toolbox"
)

// Options configures a [Guard]. Nil and the zero value are valid.
type Options struct {
	// URL is the scheme and host under which clients reach the server, such as "https://mcp.example.com". URL and the
	// path of a resource form the audience that a token must have. If it is "", the URL is "http://" and the Host
	// header. That header must be a loopback name with the port of the connection, or an entry of Hosts.
	URL string
	// Hosts holds the Host headers that may be used for URL, each a name or name:port as clients write it. Nil means
	// none.
	Hosts []string
	// Resource returns the resource that a request is for. If it is nil, there is one resource, at the path of URL.
	Resource func(*http.Request) Resource
	// Scopes holds the scopes that a token must have, if it has scopes. "{view}" in a scope is replaced by the name of
	// the resource, or by "*" if that is "". Nil means none.
	Scopes []string
	// Issuers holds the authorization servers that the metadata name. If it is nil, there are no metadata.
	Issuers []string
	// Realm is the realm of challenges. "" means "indus".
	Realm string
	// Trouble is called with the error if a verifier cannot check tokens. It is called with nil when the verifier has
	// checked a token again and has not failed for a minute. It must not block. It may be nil.
	Trouble func(error)
}

// Resource is the resource that a request is for.
type Resource struct {
	// Path is the path of its URL, escaped. If it is "", the resource has no URL and no metadata.
	Path string
	// Name is the name that [Identity].Views uses. "" means everything. Only an identity without Views may use that.
	Name string
}

// Guard authenticates requests. Its methods may be called from any goroutine.
type Guard struct {
	opts         Options
	verifiers    []Verifier
	lastFailures []atomic.Int64 // when each verifier last failed to check a token, in Unix nanoseconds; 0: it works
}

// NewGuard returns a guard that asks the verifiers in order. Without verifiers it refuses every request.
func NewGuard(opts *Options, verifiers ...Verifier) *Guard {
	g := &Guard{verifiers: verifiers, lastFailures: make([]atomic.Int64, len(verifiers))}
	if opts != nil {
		g.opts = *opts
	}
	if g.opts.Resource == nil {
		u, _ := url.Parse(g.opts.URL)
		only := Resource{Path: "/"}
		if u != nil && u.EscapedPath() != "" {
			only.Path = u.EscapedPath()
			g.opts.URL = strings.TrimSuffix(g.opts.URL, only.Path)
		}
		g.opts.Resource = func(*http.Request) Resource { return only }
	}
	return g
}

const (
	// maxToken bounds a bearer token, in bytes. Tokens with many groups have a few thousand.
	maxToken = 16 << 10
	// maxResource bounds the part of a path that a challenge repeats, in bytes.
	maxResource = 512
)

// isBearer reports whether a text has the grammar of bearer tokens (RFC 6750, section 2.1). A regular expression would
// take as long as the rest of the check.
func isBearer(token string) bool {
	body := strings.TrimRight(token, "=")
	for i := range len(body) {
		switch c := body[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~+/", c) >= 0:
		default:
			return false
		}
	}
	return body != ""
}

// Principal returns the principal of a request, for host.Options.Authenticate. Its error is a [*Refusal].
func (g *Guard) Principal(r *http.Request) (toolbox.Principal, error) {
	id, err := g.Authenticate(r)
	if err != nil {
		return "", err
	}
	return id.Principal, nil
}

// Authenticate returns the identity of a request. It uses only the Authorization header, never the URL. Its error is
// a [*Refusal]. The status is 401 if there is no token, or none that is valid for this resource. It is 403 if the
// token is for other resources or lacks scopes, and 503 if the token cannot be checked. Behind [Carry], the identity
// is stored in the context of the request.
func (g *Guard) Authenticate(r *http.Request) (*Identity, error) {
	resource := g.opts.Resource(r)
	token, sent := tokenOf(r.Header)
	if token == "" {
		return nil, g.challenge(r, resource, sent, nil)
	}
	id, err := g.verify(r.Context(), token)
	switch {
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrForeign):
		return nil, g.challenge(r, resource, true, err)
	case err != nil:
		return nil, &Refusal{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"5"}},
			Reason: "tokens cannot be checked at the moment; try again", Err: err}
	case !id.issuedFor(g.address(r, resource)):
		address := cmp.Or(g.address(r, resource), "reached by a name that it does not know as its own")
		reason := fmt.Sprintf("the bearer token is for %.200q, and this is %s", id.Audience, address)
		return nil, g.challenge(r, resource, true, &invalidReason{reason})
	case !id.permits(resource.Name):
		views := cmp.Or(strings.Join(id.Views, ", "), "none")
		return nil, &Refusal{Status: http.StatusForbidden, Reason: "the API key is not for this view, but for " + views}
	case !id.granted(g.scopes(resource)):
		return nil, g.stepUp(r, resource)
	}
	carried.Store(r.Context(), id)
	return id, nil
}

// Identify returns the identity of a token without checking the resource and the scopes. Use it if a person proves
// their identity with a token. Its error is an error of a [Verifier].
func (g *Guard) Identify(ctx context.Context, token string) (*Identity, error) {
	if len(token) > maxToken || !isBearer(token) {
		return nil, ErrInvalid
	}
	return g.verify(ctx, token)
}

// leeway is the allowed difference between clocks.
const leeway = time.Minute

// tokenOf returns the bearer token of a request. It returns "" if there is none, or if the header could be read in more
// than one way.
func tokenOf(h http.Header) (token string, sent bool) {
	values := h["Authorization"]
	if len(values) != 1 {
		return "", len(values) > 0
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || len(token) > maxToken || !isBearer(token) {
		return "", true
	}
	return token, true
}

func (g *Guard) verify(ctx context.Context, token string) (id *Identity, err error) {
	err = ErrForeign
	for n, v := range g.verifiers {
		id, err = v.Verify(ctx, token)
		if err == nil || !errors.Is(err, ErrForeign) {
			g.recordResult(ctx, &g.lastFailures[n], err)
			break
		}
	}
	if err == nil && (id.Principal == "" || !id.Expires.IsZero() && !time.Now().Before(id.Expires.Add(leeway))) {
		return nil, ErrInvalid
	}
	return id, err
}

// troubleClearAfter is the time without failures after which Options.Trouble is called with nil. It is needed because
// one of several issuers may be down: anyone can send tokens of that issuer between valid tokens of others.
const troubleClearAfter = time.Minute

// recordResult records the result of a verifier, and calls Options.Trouble if necessary.
func (g *Guard) recordResult(ctx context.Context, failed *atomic.Int64, err error) {
	last := failed.Load()
	changed := false
	switch {
	case err == nil && last != 0 && time.Since(time.Unix(0, last)) >= troubleClearAfter:
		changed = failed.CompareAndSwap(last, 0)
	case err != nil && !errors.Is(err, ErrInvalid) && ctx.Err() == nil:
		changed = failed.Swap(time.Now().UnixNano()) == 0
	}
	if changed && g.opts.Trouble != nil {
		g.opts.Trouble(err)
	}
}

// scopes returns the scopes that a resource requires. They depend only on its name, whether the resource exists or not.
func (g *Guard) scopes(resource Resource) []string {
	name := "*"
	if resource.Name != "" {
		name = url.PathEscape(resource.Name)
	}
	out := make([]string, len(g.opts.Scopes))
	for i, s := range g.opts.Scopes {
		out[i] = strings.ReplaceAll(s, "{view}", name)
	}
	return out
}

// challenge returns a refusal with 401 and the address of the metadata (RFC 9728, section 5.1). If no token was sent,
// the challenge has no error (RFC 6750, section 3.1).
func (g *Guard) challenge(r *http.Request, resource Resource, sent bool, cause error) *Refusal {
	out := &Refusal{
		Status: http.StatusUnauthorized, Err: cause,
		Reason: "a bearer token is required: send Authorization: Bearer TOKEN",
	}
	code := ""
	if sent {
		code, out.Reason = "invalid_token", "the bearer token is not valid"
		if stated, ok := errors.AsType[*invalidReason](cause); ok {
			out.Reason, out.Err = stated.reason, ErrInvalid
		}
	}
	out.Header = http.Header{"Www-Authenticate": {g.bearerChallenge(r, resource, code)}}
	return out
}

// stepUp returns a refusal with 403 and the required scopes (RFC 6750, section 3.1).
func (g *Guard) stepUp(r *http.Request, resource Resource) *Refusal {
	return &Refusal{
		Status: http.StatusForbidden, Reason: "the token has not the scopes that this view requires",
		Header: http.Header{"Www-Authenticate": {g.bearerChallenge(r, resource, "insufficient_scope")}},
	}
}

func (g *Guard) bearerChallenge(r *http.Request, resource Resource, code string) string {
	out := `Bearer realm="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(cmp.Or(g.opts.Realm, "indus")) + `"`
	if code != "" {
		out += `, error="` + code + `"`
	}
	if len(resource.Path) > maxResource || len(g.opts.Issuers) == 0 {
		return out
	}
	if scopes := g.scopes(resource); len(scopes) > 0 {
		out += `, scope="` + strings.Join(scopes, " ") + `"`
	}
	if origin := g.origin(r); origin != "" {
		out += `, resource_metadata="` + origin + metadataPath + resource.Path + `"`
	}
	return out
}

// address returns the URL of a resource. It returns "" if the name under which the request reached the server is not
// its own.
func (g *Guard) address(r *http.Request, resource Resource) string {
	if origin := g.origin(r); origin != "" {
		return origin + resource.Path
	}
	return ""
}

// origin returns the scheme and host of a resource's URL. It returns "" if the client may have made up the Host header.
// Otherwise a token for another server on the same machine would be valid here.
func (g *Guard) origin(r *http.Request) string {
	if g.opts.URL != "" {
		return strings.TrimSuffix(g.opts.URL, "/")
	}
	configured := slices.ContainsFunc(g.opts.Hosts, func(h string) bool { return strings.EqualFold(h, r.Host) })
	if !configured && !isLoopback(r) {
		return ""
	}
	if r.TLS != nil {
		return "https://" + strings.ToLower(r.Host)
	}
	return "http://" + strings.ToLower(r.Host)
}

// isLoopback reports whether a request is for a loopback name with the port at which it arrived.
func isLoopback(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, ok := local.(*net.TCPAddr)
	name, port, err := net.SplitHostPort(r.Host)
	if !ok || !tcp.IP.IsLoopback() || err != nil || port != fmt.Sprint(tcp.Port) {
		return false
	}
	return isLoopbackName(name)
}
