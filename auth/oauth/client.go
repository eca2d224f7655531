package oauth

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/indusagi/indus/internal/secret"
)

// Secret is text that prints as "<secret>" in every format, log and encoding.
type Secret = secret.Value

// NewSecret returns a secret that holds text.
func NewSecret(text string) Secret { return secret.NewValue(text) }

// Grant is the way in which a token is obtained.
type Grant string

// The grants.
const (
	AuthorizationCode Grant = "authorization_code" // a person signs in; so does ""
	ClientCredentials Grant = "client_credentials" // this program itself (SEP-1046); it needs ClientSecret or Key
	TokenExchange     Grant = "token_exchange"     // another token of the principal: Options.Exchange
)

// Options configures a client. With the zero value, a person signs in at any authorization server that the server
// names, and tokens are kept in memory.
type Options struct {
	// Store keeps tokens and registrations. If it is nil, the client has its own [MemoryStore].
	Store Store
	// Interact asks a person. If it is nil, a request that needs a person fails at once with a [*SignInError].
	Interact Interaction
	// Grant is the way in which a token is obtained. If it is "", it is [AuthorizationCode].
	Grant Grant
	// ClientID is the id of this program at the authorization server. If it is "", MetadataDocument or a registration
	// is used. Issuer is the authorization server to which ClientID belongs, and the only one for sign-ins. If it is
	// "", any authorization server that the server names is used. Even then, ClientSecret and tokens for exchange are
	// sent only to the first authorization server that got them ([ErrOtherIssuer]). Store keeps its name.
	ClientID, Issuer string
	// ClientSecret is the secret of ClientID. It is sent in the way that the authorization server requires. The zero
	// value is not a secret.
	ClientSecret Secret
	// Key proves ClientID instead of a secret: a private key in PEM (private_key_jwt). KeyID is its id. The zero value
	// is no key.
	Key   Secret
	KeyID string
	// MetadataDocument is the https URL of this program's Client ID Metadata Document. It is the client id if an
	// authorization server accepts such documents. "" is none.
	MetadataDocument string
	// Scopes are requested instead of the scopes that the server names. If it is nil, the server's scopes are
	// requested. Scopes that a server requires later are added in any case.
	Scopes []string
	// Exchange is the source of the token for [TokenExchange]. It is nil for other grants.
	Exchange *Exchange
	// Name is the name that a person reads in the browser if this program registers itself. If it is "", it is "indus".
	Name string
	// UserAgent is the User-Agent of requests to authorization servers and of the first request to a server. If it is
	// "", it is "indus".
	UserAgent string
	// TLS is for requests to authorization servers. If it is nil, the authorities of the system are used.
	TLS *tls.Config
	// Redirect is the address of this machine for the answers to [Client.SignInAddress]: see [Loopback]. If it is "",
	// any port is used.
	Redirect string
	// Site has the pages of sign-ins that [Client.SignInAddress] begins. If it is nil, a port of this machine is used.
	Site *Site
	// Account distinguishes several sign-ins of one principal at one server. A stored sign-in without an account is
	// taken over by the first account that is used. If it is "", there is one sign-in.
	Account string
	// AllowPrivate allows the documents of a server on the Internet to lead into private networks and to this machine.
	AllowPrivate bool
	// SignedIn is called when a token of a new sign-in is stored, so that waiting requests can be repeated. It must not
	// block. It may be nil.
	SignedIn func(resource, principal string)
	// Logger logs events that no caller gets as an error. It never logs a secret. If it is nil, nothing is logged.
	Logger *slog.Logger
	// Now is the clock of the times in Store. If processes with other clocks use the store, all need the same one. If it
	// is nil, it is the clock of the system.
	Now func() time.Time
}

// Client signs in to servers. All methods may be called from any goroutine.
type Client struct {
	options Options
	signer  *signer
	clients [3]*http.Client // by reach

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	sessions map[Key]weak.Pointer[session] // of the transports that are in use
}

// New returns a client. It does no I/O. It returns an error if the options cannot be used.
func New(options *Options) (*Client, error) {
	c := &Client{sessions: map[Key]weak.Pointer[session]{}}
	if options != nil {
		c.options = *options
	}
	o := &c.options
	o.Name, o.Grant = cmp.Or(o.Name, "indus"), cmp.Or(o.Grant, AuthorizationCode)
	if o.Store == nil {
		o.Store = &MemoryStore{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Key != (Secret{}) {
		var err error
		if c.signer, err = newSigner(o.Key.Reveal(), o.KeyID); err != nil {
			return nil, err
		}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	for r := range c.clients {
		c.clients[r] = newHTTPClient(reach(r), o.TLS)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

func (o *Options) check() error {
	proof := o.ClientSecret != (Secret{}) || o.Key != (Secret{})
	switch {
	case proof && o.ClientID == "":
		return errors.New("a client's secret or key goes with a client id")
	case o.Grant == ClientCredentials && !proof:
		return errors.New("client_credentials needs a client id, and a secret or a key")
	case o.Grant == TokenExchange && (o.ClientID == "" || o.Exchange == nil || o.Exchange.Subject == nil):
		return errors.New("token_exchange needs a client id, and a token to exchange")
	case o.Grant != AuthorizationCode && o.Grant != ClientCredentials && o.Grant != TokenExchange:
		return errors.New("no such grant: " + string(o.Grant))
	}
	if o.MetadataDocument != "" && !isDocumentAddress(o.MetadataDocument) {
		return errors.New("the client's metadata document must be at an https:// address with a path")
	}
	return nil
}

func isDocumentAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Path != "" && u.Path != "/" && u.Fragment == ""
}

// Close ends all running flows, and waits for them. It may be called twice.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.running.Wait()
	for _, httpClient := range c.clients {
		httpClient.CloseIdleConnections()
	}
}

// web returns a client for the requests that one server may cause.
func (c *Client) web(ctx context.Context, resource string) *web {
	r := reachLocal
	if !c.options.AllowPrivate {
		r = reachOf(ctx, resource)
	}
	return c.webAt(r)
}

func (c *Client) webAt(r reach) *web {
	return &web{r, c.clients[r], cmp.Or(c.options.UserAgent, "indus")}
}

// key returns the key under which the tokens of a principal are kept.
func (c *Client) key(resource, principal string) Key {
	return Key{Resource: resource, Principal: principal, Account: c.options.Account}
}

// sessionAt returns the session of a server and a principal. All transports share it.
func (c *Client) sessionAt(address, principal string) (*session, error) {
	resource, err := Resource(address)
	if err != nil {
		return nil, err
	}
	key := c.key(resource, principal)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[key].Value(); s != nil {
		return s, nil
	}
	s := &session{client: c, key: key}
	pointer := weak.Make(s)
	c.sessions[key] = pointer
	runtime.AddCleanup(s, func(k Key) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sessions[k] == pointer { // otherwise there is a newer one
			delete(c.sessions, k)
		}
	}, key)
	return s, nil
}

// Reread makes the transports use the present content of the store, after another process changed it. A principal that
// was signed out there is signed out here too. If a principal signed in with another account, its requests use that
// account. If the store cannot be read, nothing changes.
func (c *Client) Reread(ctx context.Context) {
	var sessions []*session
	c.mu.Lock()
	for _, pointer := range c.sessions {
		if s := pointer.Value(); s != nil {
			sessions = append(sessions, s)
		}
	}
	c.mu.Unlock()
	for _, s := range sessions {
		last := s.current.Load()
		if b, err := c.readStored(ctx, s.key); err == nil {
			s.current.CompareAndSwap(last, decodeGrant(b)) // otherwise there is a newer one
		}
	}
}

// Status is the known state of a sign-in. No server is asked for it.
type Status struct {
	SignedIn bool // there is a token that has not expired, or one to renew it with
	Issuer   string
	Scopes   []string  // the granted scopes
	Expiry   time.Time // of the access token; zero if it is unknown
	Renews   bool      // it can be renewed without a person when it has expired
}

// Status returns the status of a sign-in from the store.
func (c *Client) Status(ctx context.Context, resource, principal string) (Status, error) {
	resource, err := Resource(resource)
	if err != nil {
		return Status{}, err
	}
	b, err := c.readStored(ctx, c.key(resource, principal))
	if err != nil {
		return Status{}, err
	}
	return storedStatus(b, c.options.Now()), nil
}

// StatusOf returns the status of a sign-in from its value in a [Store]. It is for programs that list a store.
func StatusOf(value []byte) Status { return storedStatus(value, time.Now()) }

func storedStatus(value []byte, now time.Time) Status {
	g := decodeGrant(value)
	if g == nil {
		return Status{}
	}
	return Status{g.usable(now) || g.renews(now), g.Issuer, g.Scopes, g.Expiry, g.renews(now)}
}

// SignOut deletes a principal's tokens for a server, and has the authorization server revoke them if it can (RFC 7009).
// It also deletes the registration of this program there, so that the next sign-in registers anew. If revocation fails,
// it returns an error, but the tokens are deleted all the same.
func (c *Client) SignOut(ctx context.Context, resource, principal string) error {
	s, err := c.sessionAt(resource, principal)
	if err != nil {
		return err
	}
	unlock, err := c.options.Store.Lock(ctx, s.key)
	if err != nil {
		return err
	}
	defer unlock()
	g, err := s.load(ctx)
	if err != nil {
		return err
	}
	w := c.web(ctx, s.key.Resource)
	if g == nil {
		return c.deleteRegistrations(ctx, w, s.key.Resource)
	}
	s.current.Store(nil)
	if err := c.options.Store.Delete(ctx, s.key); err != nil {
		return err
	}
	if err := c.deleteRegistration(ctx, g.Issuer, g.client.Redirect, ""); err != nil || g.Revocation == "" {
		return err
	}
	token, kind := g.refresh, "refresh_token"
	if token == (Secret{}) {
		token, kind = g.access, "access_token"
	}
	form, header := url.Values{"token": {token.Reveal()}, "token_type_hint": {kind}}, http.Header{}
	if err := c.authenticate(g.client, g.Issuer, form, header); err != nil {
		return err
	}
	secrets := []string{token.Reveal(), g.client.secret.Reveal()}
	if err := w.post(ctx, g.Revocation, formType, []byte(form.Encode()), header, secrets, nil); err != nil {
		return &StepError{"revocation", g.Revocation, err}
	}
	return nil
}

// deleteRegistrations deletes the registrations at all authorization servers that a server names. It is used if there
// is no sign-in that names one.
func (c *Client) deleteRegistrations(ctx context.Context, w *web, resource string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	d, err := w.readResource(ctx, resource, challenge{})
	if err != nil {
		return nil // nothing is signed in, even if the server is down
	}
	var failures []error
	for _, issuer := range d.Servers {
		failures = append(failures, c.deleteRegistration(ctx, issuer, "", ""))
	}
	return errors.Join(failures...)
}
