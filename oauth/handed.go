package oauth

import "context"

// handed is a sign-in that goes on without its caller. address is set before ready is closed. err is set before
// both channels are closed.
type handed struct {
	ready   chan struct{} // closed when there is an address, or when there will be none
	over    chan struct{}
	address string
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
func (c *Client) SignInAddress(ctx context.Context, resource, who string) (string, error) {
	s, err := c.sessionAt(resource, who)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	h := s.handed
	if h == nil {
		h = &handed{ready: make(chan struct{}), over: make(chan struct{})}
		if !c.spawn(func() { s.handOver(h) }) {
			s.mu.Unlock()
			return "", errClosed
		}
		s.handed = h
	}
	s.mu.Unlock()
	select {
	case <-h.ready:
		if h.address != "" {
			return h.address, nil
		}
		return "", h.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// AwaitSignIn waits for the end of a sign-in that [Client.SignInAddress] began. If there is none, it returns at
// once. The next request shows whether the principal is signed in.
func (c *Client) AwaitSignIn(ctx context.Context, resource, who string) error {
	s, err := c.sessionAt(resource, who)
	if err != nil {
		return err
	}
	s.mu.Lock()
	h := s.handed
	s.mu.Unlock()
	if h == nil {
		return nil
	}
	select {
	case <-h.over:
		return h.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handOver signs in with an address that is handed over. It is not a flight, so requests do not wait for it.
func (s *session) handOver(h *handed) {
	ctx := s.client.ctx
	if _, h.err = s.load(ctx); h.err == nil { // scopes of earlier requests are requested again
		said, _, _ := s.client.asks(ctx, s.key.Resource)
		_, h.err = s.signIn(ctx, need{said: said, anew: true, show: func(address string) {
			if h.address == "" {
				h.address = address
				close(h.ready)
			}
		}})
	}
	s.mu.Lock()
	s.handed = nil
	s.mu.Unlock()
	if h.address == "" {
		close(h.ready)
	} else if h.err != nil {
		s.log("nobody has signed in", h.err)
	}
	close(h.over)
}
