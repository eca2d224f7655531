// Package signin signs in to servers for the commands. It has the only store of tokens, and adds tokens to the requests
// of every command that connects a server.
package signin

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/toolbox"
)

const (
	// KeyVariable is the variable with the key of the store. Without it, the key is in the keychain or in a file.
	KeyVariable = "INDUS_STORE_KEY"
	// keychainVariable is the variable that disables the system's keychain if its value is "off".
	keychainVariable = "INDUS_KEYCHAIN"
	storeName        = "oauth.json"
	sharedName       = "the sign-ins of the cluster" // in messages
)

// Tokens signs requests. The zero value is not ready: see [Open].
type Tokens struct {
	// Site has the pages on which callers of a server of indus sign in. It must be set before use. If it is nil,
	// callers on this machine sign in at a local port.
	Site *oauth.Site

	store   *oauth.FileStore // nil if there is no state directory
	now     func() time.Time // the clock of the times in the store
	logger  *slog.Logger
	streams show.Streams // mask the tokens and the credentials of servers
	changed atomic.Bool  // the store that replicas share, since the last Changed
	unwatch func()

	mu      sync.Mutex
	clients []*serverClient
	masked  map[string][]config.Server // by id: the present and the previous configuration of a server
}

// serverClient is the OAuth client of one server in one configuration.
type serverClient struct {
	server config.Server
	agent  string
	site   *oauth.Site
	*oauth.Client
}

var (
	errNoSignIn = errors.New("it has no sign-in")
	errNoStore  = errors.New("there is no home directory to keep the sign-in in; set HOME or XDG_STATE_HOME")
)

// Open returns the tokens of the user. The store is read when it is first needed.
func Open(s show.Streams) *Tokens {
	t := &Tokens{logger: s.Logger(), streams: s, now: time.Now}
	if dir := mcpconfig.StateDir(nil); dir != "" {
		t.store = oauth.NewFileStore(filepath.Join(dir, storeName), &oauth.FileStoreOptions{
			Key: os.Getenv(KeyVariable), NoKeychain: strings.EqualFold(os.Getenv(keychainVariable), "off"),
		})
	}
	return t
}

// OpenShared returns the tokens that replicas share in a document. It checks the key of the store. A lock of a process
// that has ended ends after lease.
func OpenShared(
	ctx context.Context, s show.Streams, engine cluster.Engine, d *cluster.Document, lease time.Duration,
) (*Tokens, error) {
	t := &Tokens{logger: s.Logger(), streams: s, now: engine.Now}
	t.store = oauth.NewFileStore(sharedName, &oauth.FileStoreOptions{
		Key: os.Getenv(KeyVariable), Shared: &oauth.Shared{Engine: engine, Document: d, Lease: lease},
	})
	if err := t.store.Check(ctx); err != nil {
		return nil, err
	}
	t.unwatch = d.Watch(func() { t.changed.Store(true) })
	return t, nil
}

// Changed reports whether sign-ins that replicas share have changed since the last call.
func (t *Tokens) Changed() bool { return t.changed.Swap(false) }

// Path returns the path of the store. If there is no store, or it is no file, it returns "".
func (t *Tokens) Path() string {
	if t.store == nil || t.unwatch != nil {
		return ""
	}
	return t.store.Path()
}

// Close closes all clients, and ends their work in progress.
func (t *Tokens) Close() {
	if t.unwatch != nil {
		t.unwatch()
		t.store.Close()
	}
	t.mu.Lock()
	clients := t.clients
	t.clients = nil
	t.mu.Unlock()
	for _, c := range clients {
		c.Close()
	}
}

// Endpoint returns the options with which a fleet connects a server. From then on, logs and recordings mask the
// server's credentials and tokens.
func (t *Tokens) Endpoint(s config.Server) *interop.EndpointOptions {
	t.Hide(s)
	return &interop.EndpointOptions{RoundTripper: t.RoundTripper, Credential: t.streams.Learn}
}

// Hide masks the credentials of these servers in logs and recordings.
func (t *Tokens) Hide(servers ...config.Server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.masked == nil {
		t.masked = map[string][]config.Server{}
	}
	unchanged := true
	for _, s := range servers {
		if list := t.masked[s.ID]; !slices.ContainsFunc(list, s.Equal) {
			t.masked[s.ID], unchanged = append(list[max(0, len(list)-1):len(list):len(list)], s), false
		}
	}
	if unchanged {
		return
	}
	var masks []func(json.RawMessage) json.RawMessage
	for _, list := range t.masked {
		for _, s := range list {
			masks = append(masks, s.Masker())
		}
	}
	t.streams.Hide(masks)
}

// RoundTripper adds the tokens of a principal to the requests to a server, if there are any.
func (t *Tokens) RoundTripper(s config.Server, principal toolbox.Principal, base http.RoundTripper) http.RoundTripper {
	address, ok := Address(s)
	if !ok {
		return base
	}
	c, err := t.client(s)
	if err != nil {
		return errorTripper{err}
	}
	if principal != config.AnyPrincipal {
		return c.Transport(base, address, string(principal))
	}
	if g := oauth.Grant(s.OAuth.Grant); g != "" && g != oauth.AuthorizationCode {
		return c.Transport(base, address, "") // no person signs in
	}
	return &anyCaller{
		tokens: t, server: s, client: c, address: address, base: base, signers: map[string]http.RoundTripper{},
	}
}

// errorTripper is the round tripper of a server with an invalid configuration of its sign-in.
type errorTripper struct{ err error }

// RoundTrip returns the error.
func (f errorTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, f.err
}

// Address returns the URL of a server that supports a sign-in. It reports false if the server has no URL, disables
// sign-ins, or has an Authorization of its own or of its callers.
func Address(s config.Server) (string, bool) {
	address, headers := endpointOf(s)
	if headerAt(headers, "Authorization") >= 0 {
		return "", false
	}
	return address, address != "" && !s.OAuth.Off && !s.Forward.Authorization
}

// endpointOf returns the URL and the headers of a server. They are empty if it runs as a process.
func endpointOf(s config.Server) (address string, headers []config.Pair) {
	switch t := s.Transport.(type) {
	case config.HTTP:
		return t.URL, t.Headers
	case config.SSE:
		return t.URL, t.Headers
	}
	return "", nil
}

// headerAt returns the index of a header, or -1.
func headerAt(headers []config.Pair, name string) int {
	return slices.IndexFunc(headers, func(h config.Pair) bool { return strings.EqualFold(h.Name, name) })
}

// accountOf returns the account of a row's sign-ins. Rows with one URL have one account each, unless they name the
// same.
func accountOf(s config.Server) string { return cmp.Or(s.OAuth.Account, s.ID) }

// client returns the client of a server in its present configuration.
func (t *Tokens) client(s config.Server) (*oauth.Client, error) { return t.clientWith(s, t.Site) }

// clientWith returns the client of a server that begins sign-ins at a site. If site is nil, they use a port of this
// machine.
func (t *Tokens) clientWith(s config.Server, site *oauth.Site) (*oauth.Client, error) {
	agent := userAgent(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.clients {
		if c.server.ID == s.ID && c.server.OAuth.Equal(s.OAuth) && c.server.TLS == s.TLS && c.site == site &&
			c.agent == agent {
			return c.Client, nil
		}
	}
	c, err := t.newClient(s, nil, site)
	if err != nil {
		return nil, err
	}
	known := config.Server{ID: s.ID, OAuth: s.OAuth, TLS: s.TLS}
	t.clients = append(t.clients, &serverClient{known, agent, site, c})
	return c, nil
}

// userAgent returns the User-Agent in the headers of a server, or "". Filters may admit no other.
func userAgent(s config.Server) string {
	_, headers := endpointOf(s)
	if i := headerAt(headers, "User-Agent"); i >= 0 {
		return headers[i].Value.Reveal()
	}
	return ""
}

// newClient returns a client that interacts with a person through ask. If ask is nil, it never does.
func (t *Tokens) newClient(s config.Server, ask oauth.Interaction, site *oauth.Site) (*oauth.Client, error) {
	o := &oauth.Options{
		Interact: ask, Grant: oauth.Grant(s.OAuth.Grant), ClientID: s.OAuth.ClientID, Issuer: s.OAuth.Issuer,
		ClientSecret:     s.OAuth.ClientSecret,
		MetadataDocument: s.OAuth.ClientMetadataURL, Scopes: s.OAuth.Scopes, Logger: t.logger, Redirect: s.OAuth.RedirectURI,
		Site: site, Key: s.OAuth.PrivateKey, KeyID: s.OAuth.PrivateKeyID, Account: accountOf(s),
		Now: t.now, UserAgent: userAgent(s),
	}
	if o.Grant == oauth.TokenExchange {
		o.Exchange = exchange(s.OAuth)
	}
	if t.store != nil {
		o.Store = t.store
	}
	if s.TLS.CA != "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		pem, err := os.ReadFile(s.TLS.CA)
		if err != nil {
			return nil, err
		}
		roots.AppendCertsFromPEM(pem) // a company's authority may sign its authorization server too
		o.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return oauth.New(o)
}

// exchange returns the exchange of the configured token. That token belongs to the local user and to no caller.
func exchange(o config.OAuth) *oauth.Exchange {
	kind := cmp.Or(o.SubjectTokenType, "id_token")
	if !strings.Contains(kind, ":") {
		kind = strings.TrimSuffix(oauth.TypeIDToken, "id_token") + kind
	}
	return &oauth.Exchange{
		Provider: o.Provider.Issuer, ClientID: o.Provider.ClientID, ClientSecret: o.Provider.ClientSecret,
		Subject: func(_ context.Context, principal string) (oauth.Secret, string, error) {
			if principal != "" {
				return oauth.Secret{}, "", errors.New("the token that is exchanged is of no caller")
			}
			return o.SubjectToken, kind, nil
		},
	}
}

// Elicit returns the address of a sign-in, which the caller of Elicit shows to the person. If opened is true, it waits
// until the sign-in is complete: see gateway.Options.SignIn. The redirect goes to the site, or to this machine.
func (t *Tokens) Elicit(
	ctx context.Context, s config.Server, principal string, opened bool,
) (address string, err error) {
	address, ok := Address(s)
	if !ok {
		return "", errNoSignIn
	}
	c, err := t.client(s)
	if err != nil {
		return "", err
	}
	if opened {
		return "", c.AwaitSignIn(ctx, address, principal)
	}
	return c.SignInAddress(ctx, address, principal)
}

// Begin begins a sign-in of the local user, and returns the address to open in a browser on this machine. The redirect
// goes to a port of this machine, also if callers sign in at a site. The sign-in goes on until the user has signed in,
// for at most ten minutes.
func (t *Tokens) Begin(ctx context.Context, s config.Server) (address string, err error) {
	address, ok := Address(s)
	switch {
	case !ok:
		return "", errNoSignIn
	case t.store == nil:
		return "", errNoStore
	}
	c, err := t.clientWith(s, nil)
	if err != nil {
		return "", err
	}
	return c.SignInAddress(ctx, address, "")
}

// Reread loads changes that other processes made in the store.
func (t *Tokens) Reread(ctx context.Context) {
	t.mu.Lock()
	clients := slices.Clone(t.clients)
	t.mu.Unlock()
	for _, c := range clients {
		c.Reread(ctx)
	}
}

// Status returns the stored status of a sign-in, without a request. If there is no sign-in, it is zero.
func (t *Tokens) Status(ctx context.Context, s config.Server, principal string) (oauth.Status, error) {
	address, ok := Address(s)
	if !ok || t.store == nil {
		return oauth.Status{}, nil
	}
	c, err := t.client(s)
	if err != nil {
		return oauth.Status{}, err
	}
	return c.Status(ctx, address, principal)
}

// Renewed is like Status, but first renews an expired sign-in if that needs no person.
func (t *Tokens) Renewed(ctx context.Context, s config.Server, principal string) (oauth.Status, error) {
	st, err := t.Status(ctx, s, principal)
	if err != nil || !st.SignedIn || st.Expiry.IsZero() || t.now().Before(st.Expiry) {
		return st, err
	}
	address, _ := Address(s)
	c, err := t.client(s)
	if err != nil {
		return st, err
	}
	if err := c.Renew(ctx, address, principal); err != nil {
		return st, err
	}
	return t.Status(ctx, s, principal)
}

// SignOut removes a sign-in to a server, and reports whether there was one. If only the authorization server fails, the
// sign-in is removed here, and the error is returned.
func (t *Tokens) SignOut(ctx context.Context, s config.Server, k SignedIn) (had bool, err error) {
	if t.store == nil {
		return false, nil
	}
	s.OAuth.Account = cmp.Or(k.Account, s.OAuth.Account)
	c, err := t.client(s)
	if err != nil {
		return false, err
	}
	st, err := c.Status(ctx, k.Resource, k.Principal)
	if err != nil {
		return false, err
	}
	return st.Issuer != "", c.SignOut(ctx, k.Resource, k.Principal)
}

// ForgetRegistrations removes the registrations of this program at authorization servers from the store.
func (t *Tokens) ForgetRegistrations(ctx context.Context) error {
	if t.store == nil {
		return nil
	}
	keys, err := t.store.Keys(ctx)
	for _, k := range keys {
		if k.Resource == "" {
			err = errors.Join(err, t.store.Delete(ctx, k))
		}
	}
	return err
}

// SignedIn is a stored sign-in.
type SignedIn struct {
	Resource, Principal, Account string
	oauth.Status
}

// All returns all stored sign-ins.
func (t *Tokens) All(ctx context.Context) (out []SignedIn, err error) {
	if t.store == nil {
		return nil, nil
	}
	keys, err := t.store.Keys(ctx)
	for _, k := range keys {
		if k.Resource == "" || k.Client != "" {
			continue
		}
		value, err := t.store.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		out = append(out, SignedIn{k.Resource, k.Principal, k.Account, oauth.StatusOf(value)})
	}
	return out, err
}

// Principals returns the sign-ins of callers to a server with "per": "principal". For other servers it returns nil.
func (t *Tokens) Principals(ctx context.Context, s config.Server) ([]SignedIn, error) {
	if s.Pool.Per != config.PerPrincipal {
		return nil, nil
	}
	all, err := t.All(ctx)
	return slices.DeleteFunc(all, func(o SignedIn) bool { return o.Principal == "" || !o.IsOf(s) }), err
}

// IsOf reports whether a sign-in belongs to a server. A sign-in without an account belongs to each row with its URL.
func (o SignedIn) IsOf(s config.Server) bool {
	address, ok := Address(s)
	own, err := oauth.Resource(address)
	return ok && err == nil && own == o.Resource && (o.Account == "" || o.Account == accountOf(s))
}

// IsNone reports whether an error means that a server has no sign-in.
func IsNone(err error) bool { return errors.Is(err, oauth.ErrNoOAuth) }

// Wants reports whether a server leads to a sign-in. It sends requests.
func (t *Tokens) Wants(ctx context.Context, s config.Server) (bool, error) {
	address, _ := Address(s)
	c, err := t.client(s)
	if err != nil {
		return false, err
	}
	d, err := c.Discover(ctx, address)
	return err == nil && !(d.Legacy && d.Assumed), err
}
