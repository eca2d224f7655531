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

// NewSecret keeps text.
func NewSecret(text string) Secret { return secret.NewValue(text) }

// Grant is the way to a token.
type Grant string

// The grants.
const (
	AuthorizationCode Grant = "authorization_code" // a person signs in; so does ""
	ClientCredentials Grant = "client_credentials" // this program itself (SEP-1046); it needs ClientSecret or Key
	TokenExchange     Grant = "token_exchange"     // another token of the principal: Options.Exchange
)

// Options tune a client. The zero value signs a person in at whatever authorization server the
// server names, and keeps what it gets in memory.
type Options struct {
	// Store keeps tokens and registrations. nil: a [MemoryStore] of its own.
	Store Store
	// Interact asks a person. nil: what needs one fails at once with a [*SignInError].
	Interact Interaction
	// Grant is the way to a token. "": [AuthorizationCode].
	Grant Grant
	// ClientID is what the authorization server calls this program. "": MetadataDocument or registration.
	// Issuer is the one authorization server for which it is, and at which anybody signs in. "": any that
	// the server names; but ClientSecret, and what is exchanged, are for the first that got them, which
	// Store keeps, and for no other ([ErrOtherIssuer]).
	ClientID, Issuer string
	// ClientSecret goes with ClientID, in the way that the authorization server takes it. Zero: none.
	ClientSecret Secret
	// Key goes with ClientID in the place of a secret: a private key in PEM (private_key_jwt), and
	// KeyID what it is called. Zero: none.
	Key   Secret
	KeyID string
	// MetadataDocument is where on the web this program says who it is (https:, a Client ID Metadata
	// Document); it is the client id where an authorization server takes such. "": none.
	MetadataDocument string
	// Scopes are asked for in the place of those that the server names. nil: those. What a server
	// asks for later comes on top in any case.
	Scopes []string
	// Exchange says what is exchanged, for [TokenExchange]. nil: nothing.
	Exchange *Exchange
	// Name is what a person reads in the browser where this program registers itself. "": "indus".
	Name string
	// TLS is for requests to authorization servers. nil: the system's authorities.
	TLS *tls.Config
	// Redirect is the address of this machine to which the answers of [Client.SignInAddress] come: see [Loopback]. "": any port.
	Redirect string
	// Site has the pages of sign-ins that [Client.SignInAddress] begins, in the place of a port of this machine. nil: that.
	Site *Site
	// Account tells apart several sign-ins of one principal at one server. What was kept without an account is taken over by the
	// first one that is used. "": there is one sign-in.
	Account string
	// AllowPrivate lets the documents of a server on the Internet lead into private networks, and to
	// this machine. false: they do not.
	AllowPrivate bool
	// SignedIn is called when a token of a new sign-in is kept, so that who waits for it tries
	// again. It must not block. nil: nobody.
	SignedIn func(resource, who string)
	// Logger logs what no caller is there to see; never a secret. nil: silent.
	Logger *slog.Logger
}

// Client signs in towards servers. All methods may be called from any goroutine.
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

// New is a client. It does no I/O. The error is of options that cannot be used.
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
	if u, err := url.Parse(o.MetadataDocument); o.MetadataDocument != "" && (err != nil || u.Scheme != "https" || u.Path == "" || u.Path == "/" || u.Fragment != "") {
		return errors.New("the client's metadata document must be at an https:// address with a path")
	}
	return nil
}

// Close ends what is under way, and waits for it. It may be called twice.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.running.Wait()
	for _, one := range c.clients {
		one.CloseIdleConnections()
	}
}

// web is what may be asked for one server.
func (c *Client) web(ctx context.Context, resource string) *web {
	r := reachLocal
	if !c.options.AllowPrivate {
		r = reachOf(ctx, resource)
	}
	return &web{r, c.clients[r]}
}

// key says where the tokens of a principal are kept.
func (c *Client) key(resource, who string) Key {
	return Key{Resource: resource, Principal: who, Account: c.options.Account}
}

// sessionAt is the session of a server and a principal that all transports share.
func (c *Client) sessionAt(address, who string) (*session, error) {
	resource, err := Resource(address)
	if err != nil {
		return nil, err
	}
	key := c.key(resource, who)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[key].Value(); s != nil {
		return s, nil
	}
	s := &session{client: c, key: key}
	at := weak.Make(s)
	c.sessions[key] = at
	runtime.AddCleanup(s, func(k Key) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sessions[k] == at { // else there is another by now
			delete(c.sessions, k)
		}
	}, key)
	return s, nil
}

// Reread has the transports go by what the store has now, where another process has changed it: who was signed out there
// is so here, and who has signed in as somebody else is called as that one. What cannot be read changes nothing.
func (c *Client) Reread(ctx context.Context) {
	var all []*session
	c.mu.Lock()
	for _, at := range c.sessions {
		if s := at.Value(); s != nil {
			all = append(all, s)
		}
	}
	c.mu.Unlock()
	for _, s := range all {
		last := s.current.Load()
		if b, err := c.kept(ctx, s.key); err == nil {
			s.current.CompareAndSwap(last, decodeGrant(b)) // else there is a newer one
		}
	}
}

// Status is what is known of a sign-in without asking anybody.
type Status struct {
	SignedIn bool // there is a token that has not expired, or one to renew it with
	Issuer   string
	Scopes   []string  // what was granted
	Expiry   time.Time // of the access token; zero: it is not known
	Renews   bool      // without a person, when it has expired
}

// Status reads the store.
func (c *Client) Status(ctx context.Context, resource, who string) (Status, error) {
	resource, err := Resource(resource)
	if err != nil {
		return Status{}, err
	}
	b, err := c.kept(ctx, c.key(resource, who))
	if err != nil {
		return Status{}, err
	}
	return StatusOf(b), nil
}

// StatusOf is the status of what a [Store] keeps of tokens, for who lists a store.
func StatusOf(value []byte) Status {
	g := decodeGrant(value)
	if g == nil {
		return Status{}
	}
	return Status{g.usable(time.Now()) || g.renews(), g.Issuer, g.Scopes, g.Expiry, g.renews()}
}

// SignOut forgets a principal's tokens for a server, and has the authorization server end them where it can (RFC 7009). It
// forgets the registration of this program there as well, so that the next sign-in makes another. The tokens are forgotten
// also where the error says that the authorization server could not end them.
func (c *Client) SignOut(ctx context.Context, resource, who string) error {
	s, err := c.sessionAt(resource, who)
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
		return c.forgetAll(ctx, w, s.key.Resource)
	}
	s.current.Store(nil)
	if err := c.options.Store.Delete(ctx, s.key); err != nil {
		return err
	}
	if err := c.forget(ctx, g.Issuer, g.client.Redirect, ""); err != nil || g.Revocation == "" {
		return err
	}
	token, kind := g.refresh, "refresh_token"
	if token == (Secret{}) {
		token, kind = g.access, "access_token"
	}
	form, header := url.Values{"token": {token.Reveal()}, "token_type_hint": {kind}}, http.Header{}
	if err := c.prove(g.client, g.Issuer, form, header); err != nil {
		return err
	}
	err = w.post(ctx, g.Revocation, "application/x-www-form-urlencoded", []byte(form.Encode()), header, []string{token.Reveal(), g.client.secret.Reveal()}, nil)
	if err != nil {
		return &StepError{"revocation", g.Revocation, err}
	}
	return nil
}

// forgetAll forgets the registrations at the authorization servers that a server names, where no sign-in says which it was.
func (c *Client) forgetAll(ctx context.Context, w *web, resource string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	d, err := w.resource(ctx, resource, challenge{})
	if err != nil {
		return nil // there is nothing to sign out, and a server that is down does not change that
	}
	var failed []error
	for _, issuer := range d.Servers {
		failed = append(failed, c.forget(ctx, issuer, "", ""))
	}
	return errors.Join(failed...)
}
