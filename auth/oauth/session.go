package oauth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/secret"
)

const (
	// renewTime bounds work without a person: some documents, a registration, a token.
	renewTime = time.Minute
	// signInTime bounds a sign-in, in which a person may have to find a password.
	signInTime = 10 * time.Minute
	// saveTime is how long callers wait until a grant is stored.
	saveTime = 3 * time.Second
)

// ErrNoOAuth means that a server has no metadata of OAuth. It needs no sign-in, or requires a key in a header.
var ErrNoOAuth = errors.New("the server has no metadata of an authorization server")

var errClosed = errors.New("the client is closed")

// session holds the tokens of one principal for one resource. At most one flow runs, and all callers that need its
// outcome wait for it.
type session struct {
	client  *Client
	key     Key
	current atomic.Pointer[grant] // the last known grant; nil: none
	loaded  atomic.Bool           // the store was read once

	mu       sync.Mutex
	flight   *flight         // nil: none
	detached *detachedSignIn // nil: none
}

// flight is one flow. err and grant are set before done is closed.
type flight struct {
	need    need
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int
	grant   *grant
	err     error
	slow    chan struct{} // closed by setSlow if the grant is not stored within saveTime
	setSlow func()        // may be called several times
}

// need is the requirement of a request that its token does not meet.
type need struct {
	refused       *grant    // the grant with the refused token; nil: no token was sent
	challenge     challenge // the challenge of the server
	serverRefused bool      // the server's answer is the reason
	stepUp        bool      // the token is valid but has too few scopes
	newSignIn     bool      // by a new sign-in in any case
	renewOnly     bool      // without a new sign-in; a nil grant is then no error
	noPerson      bool      // asks no person
	openServer    bool      // the server requires no token, or a token that is not of OAuth
	show          func(address string)
	answered      func() // called when the answer to the shown address has come; nil: is not called
}

// isMetBy reports whether a grant meets the need.
func (n *need) isMetBy(g *grant, now time.Time) bool {
	replaced := n.refused == nil && !n.newSignIn || n.refused != nil && g != nil && g.access != n.refused.access
	return replaced && g.usable(now) && (!n.stepUp || contains(g.Scopes, n.challenge.scopes))
}

// token returns the grant to use now. It is nil if no token is sent. A grant that is about to expire is renewed first.
func (s *session) token(ctx context.Context) (*grant, error) {
	g := s.current.Load()
	if g == nil && s.loaded.CompareAndSwap(false, true) {
		var err error
		if g, err = s.load(ctx); err != nil {
			s.loaded.Store(false)
			return nil, err
		}
	}
	now := s.client.options.Now()
	if g == nil || g.fresh(now) {
		return g, nil
	}
	person := s.client.options.Grant == AuthorizationCode
	if g.renewable(now) || !person {
		renewed, err := s.obtain(ctx, need{refused: g, renewOnly: person})
		if renewed != nil || err != nil && !g.usable(now) {
			return renewed, err
		}
	}
	if g.usable(now) {
		return g, ctx.Err()
	}
	return nil, nil // without a token, the server answers with its requirements
}

// storeError is the error of a store that cannot be used. The request is then sent without a token, because few servers
// require one.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

// load reads the grant from the store.
func (s *session) load(ctx context.Context) (*grant, error) {
	b, err := s.client.readStored(ctx, s.key)
	if err != nil {
		return nil, &storeError{err}
	}
	g := decodeGrant(b)
	s.current.Store(g)
	return g, nil
}

// readStored returns the stored value of a sign-in. If there is only one without an account, from before accounts
// existed, it is moved to the key.
func (c *Client) readStored(ctx context.Context, key Key) ([]byte, error) {
	store, shared := c.options.Store, key
	shared.Account = ""
	b, err := store.Get(ctx, key)
	if b != nil || err != nil || key == shared {
		return b, err
	}
	if b, err = store.Get(ctx, shared); b == nil || err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	unlock, err := store.Lock(ctx, shared) // it may be renewed under this lock
	if err != nil {
		return nil, err
	}
	defer unlock()
	if b, err = store.Get(ctx, key); b != nil || err != nil {
		return b, err
	}
	if b, err = store.Get(ctx, shared); b == nil || err != nil {
		return nil, err
	}
	if err := store.Put(ctx, key, b); err != nil {
		return nil, err
	}
	return b, store.Delete(ctx, shared)
}

// errNotStored is returned to callers while a grant cannot be stored. The grant is used once it is stored.
var errNotStored = &storeError{errors.New("a renewed sign-in cannot be stored now: ask again")}

// save stores a grant before it is used. The callers do not wait longer than saveTime for it.
func (s *session) save(ctx context.Context, g *grant) error {
	b, err := g.encode()
	if err != nil {
		return err
	}
	slow := time.AfterFunc(saveTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.flight != nil {
			s.flight.setSlow()
		}
	})
	defer slow.Stop()
	if err := s.client.put(ctx, s.key, b); err != nil {
		return err
	}
	s.current.Store(g)
	return nil
}

// obtain returns a grant that meets the need: from another flow, by renewal, or by a new sign-in.
func (s *session) obtain(ctx context.Context, n need) (*grant, error) {
	for {
		f, started := s.join(ctx, n)
		if f == nil {
			return nil, errClosed
		}
		select {
		case <-f.done:
		case <-f.slow:
			s.leave(f)
			return nil, errNotStored
		case <-ctx.Done():
			s.leave(f)
			return nil, ctx.Err()
		}
		s.leave(f)
		if started || f.err != nil || n.isMetBy(f.grant, s.client.options.Now()) || n.newSignIn && f.need.newSignIn {
			return f.grant, f.err
		} // otherwise the flow was for a smaller need
	}
}

// join returns the running flow, or a new one. A new flow has the values of the caller's context.
func (s *session) join(ctx context.Context, n need) (f *flight, started bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight != nil {
		s.flight.waiters++
		return s.flight, false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(s.client.ctx, cancel)
	f = &flight{need: n, done: make(chan struct{}), slow: make(chan struct{}), cancel: cancel, waiters: 1}
	f.setSlow = sync.OnceFunc(func() { close(f.slow) })
	if !s.client.spawn(func() {
		f.grant, f.err = s.runFlight(ctx, n)
		stop()
		cancel()
		s.endFlight(f)
		close(f.done)
	}) {
		stop()
		cancel()
		return nil, false
	}
	s.flight = f
	return f, true
}

// leave cancels a flow if no caller waits for it any more. A token request is not cancelled: the refresh token is spent
// by then, so its result must be stored.
func (s *session) leave(f *flight) {
	s.mu.Lock()
	f.waiters--
	last := f.waiters == 0
	s.mu.Unlock()
	if last {
		s.endFlight(f)
		f.cancel()
	}
}

// endFlight allows the next caller to begin another flow.
func (s *session) endFlight(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight == f {
		s.flight = nil
	}
}

// spawn runs a flow. Close waits for it.
func (c *Client) spawn(run func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Go(run)
	return true
}

// runFlight runs one flow.
func (s *session) runFlight(ctx context.Context, n need) (*grant, error) {
	g, err := s.renew(ctx, n)
	if err == nil && g == nil && !n.renewOnly {
		return s.signIn(ctx, n)
	}
	return g, err
}

// log logs an event that no caller sees. The server's address is masked, because its path may contain a key.
func (s *session) log(message string, err error) {
	reason := secret.New(secret.FindInURL(s.key.Resource)...).Mask(err.Error())
	s.client.options.Logger.Info(message,
		"server", secret.Target(s.key.Resource), "caller", s.key.Principal, "why", reason)
}

// renew gets a grant without a person, while it holds the lock of all processes that share the store. It returns nil if
// that is not possible.
func (s *session) renew(ctx context.Context, n need) (*grant, error) {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	unlock, err := s.client.options.Store.Lock(ctx, s.key)
	if err != nil {
		return nil, &storeError{err}
	}
	defer unlock()
	g, err := s.load(ctx)
	now := s.client.options.Now()
	if err != nil || n.isMetBy(g, now) {
		return g, err
	}
	if n.newSignIn && n.refused != nil && g.renewable(now) && g.access == n.refused.access {
		useless := *g
		useless.Useless = true
		return nil, s.save(ctx, &useless)
	}
	configured := s.client.options.Issuer // it may have been configured since
	otherIssuer := configured != "" && g != nil && !sameIssuer(configured, g.Issuer)
	if !g.renewable(now) || otherIssuer || n.stepUp || n.newSignIn || n.serverRefused && g.Useless {
		return nil, nil
	}
	w := s.client.web(ctx, s.key.Resource)
	if n.serverRefused { // it may have moved to another authorization server
		d, err := w.readResource(ctx, s.key.Resource, n.challenge)
		if err != nil {
			return nil, err
		}
		switch moved := d.check(g.Issuer); moved {
		case nil:
		case errMoved:
			return nil, s.recordRefusal(ctx, g, moved, true)
		default:
			return nil, nil // its metadata may be missing for a moment
		}
	}
	return s.refresh(ctx, w, g, n.serverRefused)
}

func (d *Discovery) has(issuer string) bool {
	return slices.ContainsFunc(d.Servers, func(server string) bool { return sameIssuer(server, issuer) })
}

// check returns nil if a server still names an issuer, and ErrNoOAuth if it names none.
func (d *Discovery) check(issuer string) error {
	switch {
	case d.has(issuer):
		return nil
	case d.Legacy:
		return ErrNoOAuth
	}
	return errMoved
}

// refresh uses the refresh token (RFC 6749 section 6). serverRefused is set if the server refused the access token. It
// returns nil if the refresh token is refused.
func (s *session) refresh(ctx context.Context, w *web, g *grant, serverRefused bool) (*grant, error) {
	c := s.client
	ctx = context.WithoutCancel(ctx) // see leave; every request has its own time limit
	if !g.client.Dynamic && g.client.ID == c.options.ClientID {
		if err := c.confine(ctx, s.key.Resource, g.Issuer, true); errors.Is(err, ErrOtherIssuer) {
			return nil, nil // it was granted before this secret was configured
		} else if err != nil {
			return nil, err
		}
	}
	renewed, err := s.refreshAt(ctx, w, g)
	if mayHaveMoved(err) {
		switch moved, discoverErr := s.rediscover(ctx, w, g); {
		case errors.Is(discoverErr, errMoved):
			err = discoverErr
		case discoverErr == nil && moved.Token != g.Token:
			renewed, err = s.refreshAt(ctx, w, moved)
		}
	}
	switch {
	case err == nil:
		return renewed, s.save(ctx, renewed)
	case isRefused(err), errors.Is(err, errMoved):
		return nil, s.recordRefusal(ctx, g, err, serverRefused)
	}
	return nil, err
}

// refreshAt sends a request to the token endpoint of g.
func (s *session) refreshAt(ctx context.Context, w *web, g *grant) (*grant, error) {
	if store, ok := s.client.options.Store.(*FileStore); ok {
		if err := store.held(s.key); err != nil { // this process may have been paused
			return nil, &storeError{err}
		}
	}
	i := g.client
	if !i.Dynamic && i.ID == s.client.options.ClientID {
		i.secret = s.client.options.ClientSecret
	}
	form := formOf("grant_type", "refresh_token", "refresh_token", g.refresh.Reveal(), "resource", g.Resource)
	a, err := s.client.requestToken(ctx, w, g.Token, g.Issuer, i, form, g.access.Reveal())
	if len(g.Scopes) > 0 && hasErrorCode(err, "invalid_request", "invalid_scope") { // some servers require the scopes
		form.Set("scope", strings.Join(g.Scopes, " "))
		a, err = s.client.requestToken(ctx, w, g.Token, g.Issuer, i, form, g.access.Reveal())
	}
	if err == nil {
		err = a.checkBearer()
	}
	if err != nil {
		return nil, err
	}
	return a.applyTo(*g, g.Scopes), nil
}

// errMoved means that a server no longer names the authorization server of a sign-in.
var errMoved = errors.New("the server names another authorization server now")

// rediscover returns g with the endpoints that its authorization server names now.
func (s *session) rediscover(ctx context.Context, w *web, g *grant) (*grant, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	d, err := w.readResource(ctx, s.key.Resource, challenge{})
	if err == nil {
		err = d.check(g.Issuer)
	}
	if err != nil {
		return nil, err
	}
	as, err := w.readServer(ctx, g.Issuer, d.Legacy)
	if err != nil {
		return nil, err
	}
	updated := *g
	updated.Token, updated.Revocation = as.TokenEndpoint, as.RevocationEndpoint
	return &updated, nil
}

// recordRefusal stores that the refresh token was refused. The access token may still be valid, unless
// serverRefused is set.
func (s *session) recordRefusal(ctx context.Context, g *grant, reason error, serverRefused bool) error {
	s.log("a sign-in can no longer be renewed", reason)
	var err error
	if g.client.isDiscarded(reason) {
		err = s.client.deleteRegistration(ctx, g.Issuer, g.client.Redirect, g.client.ID)
	}
	updated := *g
	updated.Refused = s.client.options.Now()
	if serverRefused {
		updated.Expiry = updated.Refused
	}
	if hasErrorCode(reason, "invalid_scope") {
		updated.Requested, updated.Required = nil, nil // these scopes can be requested, but not renewed
	}
	return errors.Join(err, s.save(ctx, &updated))
}
