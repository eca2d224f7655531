package serve

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/keys"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
)

// The values of --auth, and of "methods" in "auth".
const (
	authNone       = "none"
	authKeys       = "keys"
	authJWT        = "jwt"
	authIntrospect = "introspect"
)

var authMethods = []string{authNone, authKeys, authJWT, authIntrospect}

// checkAuth refuses invalid values and combinations.
func (a *admission) checkAuth() error {
	for _, method := range a.auth {
		if !slices.Contains(authMethods, method) {
			return command.Usagef("--auth %q: it is one of %s%s", method, strings.Join(authMethods, ", "),
				command.DidYouMean(method, authMethods))
		}
	}
	switch none := slices.Contains(a.auth, authNone); {
	case none && (len(a.auth) > 1 || a.tokenFile != ""):
		return command.Usagef("--auth none lets everyone in: give no other, and no --token-file")
	case len(a.issuers) > 0 && len(a.auth) > 0 && !slices.Contains(a.auth, authJWT):
		return command.Usagef("--issuer is for --auth jwt")
	case len(a.audience) > 0 && len(a.issuers) == 0:
		return command.Usagef("--audience needs --issuer: name one, or write both into \"auth\" of the configuration")
	case len(a.scopes) > 0 && len(a.issuers) == 0:
		return command.Usagef("--scope needs --issuer: name one, or write both into \"auth\" of the configuration")
	}
	var err error
	a.url, err = canonicalURL("--public-url", a.url)
	return err
}

// canonicalURL returns a scheme and host in the form that is compared with the audiences of tokens. It is in lower
// case, without the default port and without a slash at the end.
func canonicalURL(setting, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err == nil {
		u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	}
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.Path != "" && u.Path != "/" ||
		u.User != nil || strings.ContainsAny(text, "?#") {
		return "", command.Usagef("%s %q: write SCHEME://HOST[:PORT], such as https://mcp.example.com", setting, text)
	}
	if port := u.Port(); port == "" || port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Scheme + "://" + u.Host, nil
}

// authSettings returns the authentication settings from the configuration and the flags. Flags override the
// configuration.
func (a *admission) authSettings(c *mcpconfig.Config) (out mcpconfig.Auth, err error) {
	if c.Auth != nil {
		out = *c.Auth
		if out.Broken {
			return out, command.Usagef("%s:%d: \"auth\" cannot be used, and without it everyone would be let in", out.File,
				out.Line)
		}
	}
	if out.URL, err = canonicalURL("publicUrl", out.URL); err != nil {
		return out, err
	}
	out.URL = cmp.Or(a.url, out.URL)
	if len(a.issuers) > 0 {
		out.Issuers = nil
		for _, i := range a.issuers {
			out.Issuers = append(out.Issuers, mcpconfig.AuthServer{Issuer: i, Audience: a.audience})
		}
	}
	if len(a.scopes) > 0 {
		out.Scopes = a.scopes
	}
	switch {
	case len(a.auth) > 0:
		out.Methods = a.auth
	case out.Methods == nil || len(a.issuers) > 0:
		out.Methods = impliedMethods(&out)
	}
	switch jwt, introspect := slices.Contains(out.Methods, authJWT), slices.Contains(out.Methods, authIntrospect); {
	case slices.Contains(out.Methods, authNone) && len(out.Methods) > 1:
		err = command.Usagef("%s:%d: \"none\" lets everyone in: give no other method", out.File, out.Line)
	case jwt && len(out.Issuers) == 0:
		err = command.Usagef("--auth jwt needs an issuer: --issuer URL, or \"auth\" in the configuration")
	case introspect && out.Introspection == nil:
		err = command.Usagef(
			"--auth introspect: \"introspection\" in \"auth\" of the configuration names the authorization server")
	}
	return out, err
}

// impliedMethods returns the methods for which the configuration has settings.
func impliedMethods(a *mcpconfig.Auth) (methods []string) {
	if slices.Contains(a.Methods, authKeys) {
		methods = append(methods, authKeys)
	}
	if len(a.Issuers) > 0 {
		methods = append(methods, authJWT)
	}
	if a.Introspection != nil {
		methods = append(methods, authIntrospect)
	}
	return methods
}

// frontGuard authenticates clients, and follows the configuration. A nil frontGuard serves the one client on stdin and
// stdout.
type frontGuard struct {
	guard   atomic.Pointer[identity.Guard] // nil if every client is the local user
	initial mcpconfig.Auth                 // the settings at the start
	flags   *serveFlags
	tokens  identity.Verifier
	s       show.Streams
}

// newFront returns the frontGuard for the flags and the configuration.
func (f *serveFlags) newFront(c *mcpconfig.Config, tokens identity.Verifier, s show.Streams) (*frontGuard, error) {
	if f.stdio {
		return nil, nil
	}
	out := &frontGuard{flags: f, tokens: tokens, s: s}
	guard, initial, err := out.newGuard(c)
	out.guard.Store(guard)
	out.initial = initial
	return out, err
}

// requiresAuth reports whether clients must authenticate.
func (f *frontGuard) requiresAuth() bool { return f != nil && f.guard.Load() != nil }

// newGuard returns the guard for a configuration, or nil if clients need not authenticate.
func (f *frontGuard) newGuard(c *mcpconfig.Config) (*identity.Guard, mcpconfig.Auth, error) {
	a, err := f.flags.authSettings(c)
	if err != nil || slices.Contains(a.Methods, authNone) {
		return nil, a, err
	}
	var verifiers []identity.Verifier
	if f.tokens != nil {
		verifiers = append(verifiers, f.tokens)
	}
	// Introspection is last because it accepts every kind of token.
	for _, method := range []string{authKeys, authJWT, authIntrospect} {
		if !slices.Contains(a.Methods, method) {
			continue
		}
		v, err := f.verifierOf(method, &a)
		if err != nil {
			return nil, a, command.Usagef("--auth %s: %w", method, err)
		}
		verifiers = append(verifiers, v)
	}
	if verifiers == nil {
		if c.Auth != nil {
			err = command.Usagef(
				`%s:%d: "auth" would admit every client: write "methods", even if clients do not authenticate`,
				a.File, a.Line)
		}
		return nil, a, err
	}
	return identity.NewGuard(&identity.Options{
		URL: a.URL, Resource: f.flags.resource, Hosts: f.flags.hosts, Trouble: f.reportTrouble, Scopes: a.Scopes,
		Issuers: issuersOf(&a),
	}, verifiers...), a, nil
}

// reportTrouble reports that tokens cannot be checked, and later that they can be checked again.
func (f *frontGuard) reportTrouble(err error) {
	if err != nil {
		f.s.Reportf("tokens cannot be checked, and requests with tokens are refused: %v", err)
		return
	}
	f.s.Reportf("tokens can be checked again")
}

// hosts returns the host names that clients may use. With a proxy on this machine, the host of the public URL is one of
// them. Beyond loopback every name is allowed, unless flags set some.
func (f *frontGuard) hosts(loopback bool) []string {
	hosts := f.flags.hosts
	if u, err := url.Parse(f.initial.URL); err == nil && u.Host != "" && (loopback || len(hosts) > 0) {
		hosts = append(slices.Clone(hosts), u.Host)
	}
	return hosts
}

// site returns the web pages where callers sign in to servers, or nil. It is nil if every client is the local user,
// whose browser runs on this machine. It is also nil if the address for browsers is unknown.
func (f *frontGuard) site(t *clientTransport) *oauth.Site {
	if !f.requiresAuth() || f.address(t) == "" {
		return nil
	}
	return &oauth.Site{URL: f.address(t), Proof: f.proof}
}

// address returns the scheme and host for browsers and clients, or "" if it is unknown.
func (f *frontGuard) address(t *clientTransport) string {
	if t.remoteAddr != "" {
		return f.initial.URL
	}
	return cmp.Or(f.initial.URL, t.local)
}

// needsToken reports whether clients must be given a key or token, because they cannot obtain one themselves.
func (f *frontGuard) needsToken() bool { return f.requiresAuth() && len(issuersOf(&f.initial)) == 0 }

// proof returns a check that a browser's user is the caller: the user types the caller's key or plain token. Callers
// with a token of an authorization server have no text to type, so proof returns nil for them.
func (f *frontGuard) proof(principal string) func(context.Context, string) (bool, error) {
	if kind, _, _ := strings.Cut(principal, ":"); kind == "https" || kind == "http" {
		return nil
	}
	return func(ctx context.Context, key string) (bool, error) {
		id, err := f.guard.Load().Identify(ctx, key)
		if errors.Is(err, identity.ErrInvalid) || errors.Is(err, identity.ErrForeign) {
			return false, nil
		}
		return err == nil && string(id.Principal) == principal, err
	}
}

// connectCommand returns the command that connects a client. If clients cannot obtain a token themselves, the command
// creates a key, or takes the token from the environment.
func (f *frontGuard) connectCommand(t *clientTransport) string {
	line := "indus connect CLIENT"
	if f == nil || t.listener == nil {
		return line + " --stdio"
	}
	if at := cmp.Or(f.initial.URL, t.local); at != "http://"+defaultAddr {
		line += " --url " + at + "/mcp"
	}
	switch needsToken := f.needsToken(); {
	case needsToken && slices.Contains(f.initial.Methods, authKeys):
		line += " --key" + f.flags.repeatShared()
	case needsToken:
		line = tokenVariable + "=TOKEN " + line
	}
	return line
}

func (f *frontGuard) verifierOf(method string, a *mcpconfig.Auth) (identity.Verifier, error) {
	switch method {
	case authKeys:
		if keys.Path() == "" && f.flags.shared == nil {
			return nil, errors.New("there is no place for keys: set $HOME or $XDG_STATE_HOME")
		}
		file, err := f.flags.shared.Keys(context.Background(), keys.Path())
		if err != nil {
			return nil, err
		}
		if f.flags.replica != "" && f.flags.shared == nil {
			f.s.Reportf("API keys are those of this machine (%s), and the other replicas know only their own: share them by a "+
				`"cluster" or a state directory, or let clients authenticate by --token-file or --auth jwt`, keys.Path())
		}
		list, err := file.List()
		if err == nil && !slices.ContainsFunc(list, func(k identity.Key) bool { return !k.Expired(time.Now()) }) {
			f.s.Reportf("no API key is valid: indus key add%s creates one, which is valid at once", f.flags.repeatShared())
		}
		return file, err
	case authJWT:
		var issuers []identity.Issuer
		for _, i := range a.Issuers {
			issuers = append(issuers, identity.Issuer{
				URL: i.Issuer, Keys: i.Keys, Audience: i.Audience, Algorithms: i.Algorithms, Claim: i.Claim, Apps: i.Apps,
			})
		}
		return identity.NewJWT(nil, issuers...)
	}
	i := a.Introspection
	return identity.NewIntrospection(identity.IntrospectionOptions{
		Issuer: i.Issuer, Endpoint: i.Endpoint, ClientID: i.ClientID, ClientSecret: i.ClientSecret.Reveal,
		Audience: i.Audience, Claim: i.Claim, Apps: i.Apps,
	})
}

// issuersOf returns the authorization servers that issue the clients' tokens.
func issuersOf(a *mcpconfig.Auth) (out []string) {
	if slices.Contains(a.Methods, authJWT) {
		for _, i := range a.Issuers {
			out = append(out, i.Issuer)
		}
	}
	if i := a.Introspection; i != nil && slices.Contains(a.Methods, authIntrospect) && !slices.Contains(out, i.Issuer) {
		out = append(out, i.Issuer)
	}
	return out
}

// keys returns the API keys that clients of a configuration authenticate by, or nil if they do not.
func (f *frontGuard) keys(c *mcpconfig.Config) *identity.Keys {
	a, err := f.flags.authSettings(c)
	hasPlace := keys.Path() != "" || f.flags.shared != nil
	if err != nil || !f.requiresAuth() || !slices.Contains(a.Methods, authKeys) || !hasPlace {
		return nil
	}
	all, _ := f.flags.shared.Keys(context.Background(), keys.Path()) // the guard has opened them before
	return all
}

// follow applies the settings of a new configuration. If they are invalid or would admit every client, nothing changes.
// It returns an error if every client is admitted now and the new settings are invalid. Then the caller must not serve
// any part of that configuration.
func (f *frontGuard) follow(before, after *mcpconfig.Config, s show.Streams) error {
	if f == nil || before.Auth.Equal(after.Auth) {
		return nil
	}
	guard, _, err := f.newGuard(after)
	switch admitsAll := !f.requiresAuth(); {
	case err != nil && admitsAll:
		return err
	case err != nil:
		s.Reportf("%v; authentication stays as it was", err)
	case guard == nil && admitsAll:
	case guard == nil:
		s.Reportf(
			"by the configuration everyone would be let in; authentication stays as it was until indus serve is started anew")
	default:
		f.guard.Store(guard)
		s.Reportf("authentication follows \"auth\" in the configuration now")
		if admitsAll || publicURL(before) != publicURL(after) && f.flags.url == "" {
			s.Reportf(
				"by which names it is reached, and where callers sign in to servers, stays as it was until indus serve is " +
					"started anew")
		}
	}
	return nil
}

func publicURL(c *mcpconfig.Config) string {
	if c.Auth == nil {
		return ""
	}
	return c.Auth.URL
}

// resource returns the view of a request. For a metadata request it returns the view that the metadata describes.
func (f *serveFlags) resource(r *http.Request) identity.Resource {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == "" {
		path = "/mcp" // for all views
	}
	below, name, ok := gateway.ViewOf(path)
	switch {
	case !ok:
		return identity.Resource{}
	case f.transparent != "": // at every path
		return identity.Resource{Path: below, Name: f.transparent}
	case name == "":
		return identity.Resource{Path: below}
	}
	return identity.Resource{Path: below + "/" + (&url.URL{Path: name}).EscapedPath(), Name: name}
}

// authenticate implements host.Options.Authenticate.
func (f *frontGuard) authenticate(r *http.Request) (toolbox.Principal, error) {
	if guard := f.guard.Load(); guard != nil {
		return guard.Principal(r)
	}
	return "", nil
}

// wellKnown implements gateway.Options.WellKnown.
func (f *frontGuard) wellKnown(w http.ResponseWriter, r *http.Request) {
	if guard := f.guard.Load(); guard != nil {
		guard.Metadata().ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}
