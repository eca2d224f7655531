package oauth

import "context"

// handed is a sign-in that goes on by itself. address is set before ready is closed, and err before
// both are.
type handed struct {
	ready   chan struct{} // closed when there is an address, or none will be
	over    chan struct{}
	address string
	err     error
}

// SignInAddress begins a sign-in that somebody else shows to the person, such as a client that is asked to
// open a URL, and returns the address. It goes on without its caller, until the person has signed in (which
// Options.SignedIn tells), ten minutes are over, or [Client.Close]; meanwhile the same principal gets the same
// address. With Options.Site it is that of a page, for a browser anywhere; else the answer comes to a port of this
// machine (Options.Redirect): the person's browser has to be here.
//
// The address is a secret of the person's until it is used.
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

// AwaitSignIn waits for the end of a sign-in that [Client.SignInAddress] began; there may be none. Whether the
// principal is signed in now, the next request tells.
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

// handOver signs in with an address that is handed over. It is no flight: requests do not wait for it.
func (s *session) handOver(h *handed) {
	ctx := s.client.ctx
	if _, h.err = s.load(ctx); h.err == nil { // what was asked for before is asked for again
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
