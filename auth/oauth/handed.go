package oauth

import (
	"context"
	"sync/atomic"
)

// detachedSignIn is a sign-in that goes on without its caller. address is set before ready is closed. err is set before
// both channels are closed.
type detachedSignIn struct {
	ready   chan struct{} // closed when there is an address, or when there will be none
	done    chan struct{}
	address string
	used    atomic.Bool // the answer has come, so that the address is no longer valid
	err     error
}

// SignInAddress begins a sign-in and returns its address, which another program shows to the person. That may be a
// client that is asked to open a URL. The sign-in goes on without its caller until the person has signed in, for
// at most ten minutes or until [Client.Close]. Options.SignedIn is called after a sign-in. Meanwhile the same
// principal gets the same address.
//
// With Options.Site, the address is one of a page for a browser on any machine. Otherwise the answer comes to a
// port of this machine (Options.Redirect), and the person's browser has to be on this machine.
//
// Until it is used, the address is a secret of the person.
func (c *Client) SignInAddress(ctx context.Context, resource, principal string) (string, error) {
	s, err := c.sessionAt(resource, principal)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	h := s.detached
	for h != nil && h.used.Load() {
		s.mu.Unlock()
		if err := awaitClosed(ctx, h.done); err != nil {
			return "", err
		}
		s.mu.Lock()
		h = s.detached
	}
	if h == nil {
		h = &detachedSignIn{ready: make(chan struct{}), done: make(chan struct{})}
		if !c.spawn(func() { s.runDetached(h) }) {
			s.mu.Unlock()
			return "", errClosed
		}
		s.detached = h
	}
	s.mu.Unlock()
	if err := awaitClosed(ctx, h.ready); err != nil {
		return "", err
	}
	if h.address == "" {
		return "", h.err
	}
	return h.address, nil
}

// awaitClosed waits until a channel is closed, or returns the error of ctx.
func awaitClosed(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// AwaitSignIn waits for the end of a sign-in that [Client.SignInAddress] began. If there is none, it returns at
// once. The next request shows whether the principal is signed in.
func (c *Client) AwaitSignIn(ctx context.Context, resource, principal string) error {
	s, err := c.sessionAt(resource, principal)
	if err != nil {
		return err
	}
	s.mu.Lock()
	h := s.detached
	s.mu.Unlock()
	if h == nil {
		return nil
	}
	if err := awaitClosed(ctx, h.done); err != nil {
		return err
	}
	return h.err
}

// runDetached signs in with an address that is handed over. It is not a flight, so requests do not wait for it.
func (s *session) runDetached(h *detachedSignIn) {
	ctx := s.client.ctx
	if _, h.err = s.load(ctx); h.err == nil { // scopes of earlier requests are requested again
		answer, _, _ := s.client.probe(ctx, s.key.Resource)
		_, h.err = s.signIn(ctx, need{challenge: answer, newSignIn: true, show: func(address string) {
			if h.address == "" {
				h.address = address
				close(h.ready)
			}
		}, answered: func() { h.used.Store(true) }})
	}
	s.mu.Lock()
	s.detached = nil
	s.mu.Unlock()
	if h.address == "" {
		close(h.ready)
	} else if h.err != nil {
		s.log("the user has not signed in", h.err)
	}
	close(h.done)
}
