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

	"github.com/indusagi/indus/toolbox"
)

// Options tune a [Guard]. nil and the zero value are good.
type Options struct {
	// URL is where clients reach the server: its scheme and host, such as "https://mcp.example.com". With the path of a
	// resource it is the audience that a token must have. "": "http://" and the Host header, which must be a
	// loopback name with the port of the connection, or one of Hosts.
	URL string
	// Hosts are Host headers, each a name or name:port as clients write it, that URL may be made of. nil: none.
	Hosts []string
	// Resource says what a request is for. nil: everything is one resource, at the path of URL.
	Resource func(*http.Request) Resource
	// Scopes are what a token must have, where it has scopes; "{view}" in one stands for the name of the
	// resource, and for "*" where that is "". nil: none.
	Scopes []string
	// Issuers are the authorization servers that metadata name. nil: there are no metadata.
	Issuers []string
	// Realm is what challenges name. "": "indus".
	Realm string
	// Trouble hears why tokens of some kind cannot be checked, and nil when one was again and none has failed for a minute. It must
	// not block. nil: nobody does.
	Trouble func(error)
}

// Resource is what a request is for.
type Resource struct {
	// Path is that of its URL, escaped. "": it is none, and has no metadata.
	Path string
	// Name is what [Identity].Views has. "" is everything, which only an identity without Views may use.
	Name string
}

// Guard says who sends a request, or how it is refused. Its methods may be called from any goroutine.
type Guard struct {
	opts      Options
	verifiers []Verifier
	failed    []atomic.Int64 // when each last could not check a token, in nanoseconds of Unix; 0: it can
}

// NewGuard asks the verifiers in order. With none of them it refuses everyone.
func NewGuard(opts *Options, verifiers ...Verifier) *Guard {
	g := &Guard{verifiers: verifiers, failed: make([]atomic.Int64, len(verifiers))}
	if opts != nil {
		g.opts = *opts
	}
	if g.opts.Resource == nil {
		u, _ := url.Parse(g.opts.URL)
		one := Resource{Path: "/"}
		if u != nil && u.EscapedPath() != "" {
			one.Path = u.EscapedPath()
			g.opts.URL = strings.TrimSuffix(g.opts.URL, one.Path)
		}
		g.opts.Resource = func(*http.Request) Resource { return one }
	}
	return g
}

const (
	// maxToken bounds a bearer token, in bytes: those with many groups in them have a few thousand.
	maxToken = 16 << 10
	// maxResource bounds what a challenge repeats of a path, in bytes.
	maxResource = 512
)

// isBearer reports a text of the grammar of bearer tokens (RFC 6750, section 2.1). A regular expression would cost as much as all else.
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

// Principal is a host.Options.Authenticate: who sends a request. Its error is a [*Refusal].
func (g *Guard) Principal(r *http.Request) (toolbox.Principal, error) {
	id, err := g.Authenticate(r)
	if err != nil {
		return "", err
	}
	return id.Principal, nil
}

// Authenticate says who sends a request by its Authorization header, and nothing else: never by its URL. Its
// error is a [*Refusal]: 401 where there is no token, or none that is valid for this resource; 403 where it is good for
// others, or has not the scopes; 503 where nobody can say.
func (g *Guard) Authenticate(r *http.Request) (*Identity, error) {
	to := g.opts.Resource(r)
	token, sent := tokenOf(r.Header)
	if token == "" {
		return nil, g.challenge(r, to, sent, nil)
	}
	id, err := g.verify(r.Context(), token)
	switch {
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrForeign):
		return nil, g.challenge(r, to, true, err)
	case err != nil:
		return nil, &Refusal{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"5"}},
			Reason: "tokens cannot be checked at the moment; try again", Err: err}
	case !id.issuedFor(g.address(r, to)):
		return nil, g.challenge(r, to, true, &told{fmt.Sprintf("the bearer token is for %.200q, and this is %s",
			id.Audience, cmp.Or(g.address(r, to), "reached by a name that it does not know as its own"))})
	case !id.permits(to.Name):
		return nil, &Refusal{Status: http.StatusForbidden, Reason: "the API key is not for this view, but for " + cmp.Or(strings.Join(id.Views, ", "), "none")}
	case !id.granted(g.scopes(to)):
		return nil, g.stepUp(r, to)
	}
	return id, nil
}

// Identify says whose a token is, whatever it is good for: for who has a person prove with it who they are. Its error is
// that of a [Verifier].
func (g *Guard) Identify(ctx context.Context, token string) (*Identity, error) {
	if len(token) > maxToken || !isBearer(token) {
		return nil, ErrInvalid
	}
	return g.verify(ctx, token)
}

// leeway is what clocks may differ by.
const leeway = time.Minute

// tokenOf is the bearer token of a request; "" where there is none, or more than one could take it for.
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
		if id, err = v.Verify(ctx, token); err == nil || !errors.Is(err, ErrForeign) {
			g.note(ctx, &g.failed[n], err)
			break
		}
	}
	if err == nil && (id.Principal == "" || !id.Expires.IsZero() && !time.Now().Before(id.Expires.Add(leeway))) {
		return nil, ErrInvalid
	}
	return id, err
}

// troubleRest is for how long a verifier must not have failed before Options.Trouble hears that it does no longer: one of
// its issuers may be away, and whoever likes sends tokens in the name of that one, between those of others.
const troubleRest = time.Minute

// note says what a verifier has come to.
func (g *Guard) note(ctx context.Context, failed *atomic.Int64, err error) {
	last := failed.Load()
	switch {
	case err == nil && (last == 0 || time.Since(time.Unix(0, last)) < troubleRest || !failed.CompareAndSwap(last, 0)):
		return
	case err != nil && (errors.Is(err, ErrInvalid) || ctx.Err() != nil || failed.Swap(time.Now().UnixNano()) != 0):
		return
	}
	if g.opts.Trouble != nil {
		g.opts.Trouble(err)
	}
}

// scopes are those that a resource requires. They follow from its name alone, whether or not there is such a one.
func (g *Guard) scopes(to Resource) []string {
	name := "*"
	if to.Name != "" {
		name = url.PathEscape(to.Name)
	}
	out := make([]string, len(g.opts.Scopes))
	for i, s := range g.opts.Scopes {
		out[i] = strings.ReplaceAll(s, "{view}", name)
	}
	return out
}

// challenge refuses with 401, and says where metadata are (RFC 9728, section 5.1). Without a token there is no
// error in it (RFC 6750, section 3.1).
func (g *Guard) challenge(r *http.Request, to Resource, sent bool, cause error) *Refusal {
	out := &Refusal{Status: http.StatusUnauthorized, Reason: "a bearer token is required: send Authorization: Bearer TOKEN", Err: cause}
	code := ""
	if sent {
		code, out.Reason = "invalid_token", "the bearer token is not valid"
		if good, ok := errors.AsType[*told](cause); ok {
			out.Reason, out.Err = good.reason, ErrInvalid
		}
	}
	out.Header = http.Header{"Www-Authenticate": {g.bearer(r, to, code)}}
	return out
}

// stepUp refuses with 403, and says which scopes are required (RFC 6750, section 3.1).
func (g *Guard) stepUp(r *http.Request, to Resource) *Refusal {
	return &Refusal{
		Status: http.StatusForbidden, Reason: "the token has not the scopes that this view requires",
		Header: http.Header{"Www-Authenticate": {g.bearer(r, to, "insufficient_scope")}},
	}
}

func (g *Guard) bearer(r *http.Request, to Resource, code string) string {
	out := `Bearer realm="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(cmp.Or(g.opts.Realm, "indus")) + `"`
	if code != "" {
		out += `, error="` + code + `"`
	}
	if len(to.Path) > maxResource || len(g.opts.Issuers) == 0 {
		return out
	}
	if scopes := g.scopes(to); len(scopes) > 0 {
		out += `, scope="` + strings.Join(scopes, " ") + `"`
	}
	if at := g.origin(r); at != "" {
		out += `, resource_metadata="` + at + metadataPath + to.Path + `"`
	}
	return out
}

// address is the URL of a resource; "" where it is not known by which name we were reached.
func (g *Guard) address(r *http.Request, to Resource) string {
	if at := g.origin(r); at != "" {
		return at + to.Path
	}
	return ""
}

// origin is the scheme and host of a resource's URL; "" where a client could have made it up: a token that was issued for
// another server of the same machine would be good here.
func (g *Guard) origin(r *http.Request) string {
	if g.opts.URL != "" {
		return strings.TrimSuffix(g.opts.URL, "/")
	}
	own := slices.ContainsFunc(g.opts.Hosts, func(h string) bool { return strings.EqualFold(h, r.Host) })
	if !own && !loopback(r) {
		return ""
	}
	if r.TLS != nil {
		return "https://" + strings.ToLower(r.Host)
	}
	return "http://" + strings.ToLower(r.Host)
}

// loopback reports a request to a loopback name with the port that it came in by.
func loopback(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, ok := local.(*net.TCPAddr)
	name, port, err := net.SplitHostPort(r.Host)
	if !ok || !tcp.IP.IsLoopback() || err != nil || port != fmt.Sprint(tcp.Port) {
		return false
	}
	return loopbackName(name)
}
