package oauth

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/secret"
)

const (
	// renewTime bounds what is done without a person: some documents, a registration, a token.
	renewTime = time.Minute
	// signInTime bounds a sign-in: a person looks for a password.
	signInTime = 10 * time.Minute
)

// errNoOAuth says that a server refuses and does nothing else that speaks of OAuth: it may want
// a key in a header.
var errNoOAuth = errors.New("the server has no metadata of an authorization server")

var errClosed = errors.New("the client is closed")

// session is the tokens of one principal for one resource. At most one flow is under way, and
// whoever needs its outcome waits for it.
type session struct {
	client  *Client
	key     Key
	current atomic.Pointer[grant] // the last that was seen; nil: none
	looked  atomic.Bool           // the store was read once

	mu     sync.Mutex
	flight *flight // nil: none
	handed *handed // nil: none
}

// flight is one flow. err and got are set before done is closed.
type flight struct {
	need    need
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	got     *grant
	err     error
}

// need is what a request lacks.
type need struct {
	refused *grant    // whose token was not accepted; nil: none was sent
	said    challenge // what the server said
	told    bool      // it is because the server said so
	stepUp  bool      // the token is good and not enough
	anew    bool      // by a new sign-in, whatever there is
	renewal bool      // not by a new sign-in; nil is then no error
	quiet   bool      // asks nobody
	show    func(address string)
}

// met reports whether a grant is what is needed.
func (n *need) met(g *grant) bool {
	other := n.refused == nil && !n.anew || n.refused != nil && g != nil && g.access != n.refused.access
	return other && g.usable(time.Now()) && (!n.stepUp || contains(g.Scopes, n.said.scopes))
}

// token is what to send now; nil is nothing. It renews what is about to expire.
func (s *session) token(ctx context.Context) (*grant, error) {
	g := s.current.Load()
	if g == nil && s.looked.CompareAndSwap(false, true) {
		var err error
		if g, err = s.load(ctx); err != nil {
			s.looked.Store(false)
			return nil, err
		}
	}
	now := time.Now()
	if g == nil || g.fresh(now) {
		return g, nil
	}
	person := s.client.options.Grant == AuthorizationCode
	if g.renewable() || !person {
		renewed, err := s.obtain(ctx, need{refused: g, renewal: person})
		if renewed != nil || err != nil && !g.usable(now) {
			return renewed, err
		}
	}
	if g.usable(now) {
		return g, ctx.Err()
	}
	return nil, nil // without a token the server says what it wants
}

// load reads the store.
func (s *session) load(ctx context.Context) (*grant, error) {
	b, err := s.client.options.Store.Get(ctx, s.key)
	if err != nil {
		return nil, err
	}
	g := decodeGrant(b)
	s.current.Store(g)
	return g, nil
}

// keep stores a grant before anybody uses it.
func (s *session) keep(ctx context.Context, g *grant) error {
	b, err := g.encode()
	if err != nil {
		return err
	}
	if err := s.client.put(ctx, s.key, b); err != nil {
		return err
	}
	s.current.Store(g)
	return nil
}

// obtain gets what is needed: from who else has got it, by renewing, by a new sign-in.
func (s *session) obtain(ctx context.Context, n need) (*grant, error) {
	for {
		f, mine := s.join(ctx, n)
		if f == nil {
			return nil, errClosed
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			s.leave(f)
			return nil, ctx.Err()
		}
		s.leave(f)
		if mine || f.err != nil || n.met(f.got) || n.anew && f.need.anew {
			return f.got, f.err
		} // else it was for less
	}
}

// join is the flow that is under way, or a new one, which has what is in the context of who began it.
func (s *session) join(ctx context.Context, n need) (f *flight, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight != nil {
		s.flight.waiting++
		return s.flight, false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	closed := context.AfterFunc(s.client.ctx, cancel)
	f = &flight{need: n, done: make(chan struct{}), cancel: cancel, waiting: 1}
	if !s.client.spawn(func() {
		f.got, f.err = s.fly(ctx, n)
		closed()
		cancel()
		s.over(f)
		close(f.done)
	}) {
		closed()
		cancel()
		return nil, false
	}
	s.flight = f
	return f, true
}

// leave ends a flow for which nobody waits any more, but no request for a token: a refresh
// token that was used is worth nothing, and what came for it must be kept.
func (s *session) leave(f *flight) {
	s.mu.Lock()
	f.waiting--
	last := f.waiting == 0
	s.mu.Unlock()
	if last {
		s.over(f)
		f.cancel()
	}
}

// over lets the next one begin another flow.
func (s *session) over(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight == f {
		s.flight = nil
	}
}

// spawn runs a flow until Close waits for it.
func (c *Client) spawn(run func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Go(run)
	return true
}

// fly is one flow.
func (s *session) fly(ctx context.Context, n need) (*grant, error) {
	g, err := s.renew(ctx, n)
	if err == nil && g == nil && !n.renewal {
		return s.signIn(ctx, n)
	}
	return g, err
}

// log says what nobody is there to see. A server's address may have a key in its path.
func (s *session) log(said string, err error) {
	why := secret.New(secret.InURL(s.key.Resource)...).Mask(err.Error())
	s.client.options.Logger.Info(said, "server", secret.Target(s.key.Resource), "caller", s.key.Principal, "why", why)
}

// renew does what needs no person, alone among all who share the store. nil: there is no such way.
func (s *session) renew(ctx context.Context, n need) (*grant, error) {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	unlock, err := s.client.options.Store.Lock(ctx, s.key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	g, err := s.load(ctx)
	if err != nil || n.met(g) {
		return g, err
	}
	if n.anew && n.refused != nil && g.renewable() && g.access == n.refused.access {
		useless := *g
		useless.Useless = true
		return nil, s.keep(ctx, &useless)
	}
	only := s.client.options.Issuer // which may be configured since
	if !g.renewable() || only != "" && !sameIssuer(only, g.Issuer) || n.stepUp || n.anew || n.told && g.Useless {
		return nil, nil
	}
	w := s.client.web(ctx, s.key.Resource)
	if n.told { // it may have moved to another authorization server
		d, err := w.resource(ctx, s.key.Resource, n.said)
		if err != nil {
			return nil, err
		}
		if !d.has(g.Issuer) {
			return nil, nil
		}
	}
	return s.refresh(ctx, w, g)
}

func (d *Discovery) has(issuer string) bool {
	for _, one := range d.Servers {
		if sameIssuer(one, issuer) {
			return true
		}
	}
	return false
}

// refresh uses the refresh token (RFC 6749 section 6). nil: it is no longer good.
func (s *session) refresh(ctx context.Context, w *web, g *grant) (*grant, error) {
	c := s.client
	ctx = context.WithoutCancel(ctx) // see leave; every request has its time
	i := g.client
	if !i.Dynamic && i.ID == c.options.ClientID {
		if err := c.confine(ctx, s.key.Resource, g.Issuer, true); errors.Is(err, ErrOtherIssuer) {
			return nil, nil // it was granted before there was this secret
		} else if err != nil {
			return nil, err
		}
		i.secret = c.options.ClientSecret
	}
	a, err := c.requestToken(ctx, w, g.Token, g.Issuer, i, formOf("grant_type", "refresh_token", "refresh_token", g.refresh.Reveal(), "resource", g.Resource), g.access.Reveal())
	if err == nil {
		err = a.bearer()
	}
	if err == nil {
		renewed := a.into(*g, g.Scopes)
		return renewed, s.keep(ctx, renewed)
	}
	refused, _ := errors.AsType[*ServerError](err)
	if refused == nil || !slices.Contains([]string{"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope"}, refused.Code) {
		return nil, err // which says nothing of the refresh token
	}
	s.log("a sign-in can no longer be renewed", err)
	err = nil
	if refused.Code == "invalid_client" && i.Dynamic {
		err = c.forget(ctx, g.Issuer, i)
	}
	dead := *g
	dead.refresh = secret.Value{}        // the access token may still be good
	if refused.Code == "invalid_scope" { // what was asked for can be had, and not be kept
		dead.Asked, dead.Wanted = nil, nil
	}
	return nil, errors.Join(err, s.keep(ctx, &dead))
}
