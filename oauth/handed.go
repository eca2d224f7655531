package oauth

import "context"

// handed is a sign-in that goes on by itself. address and err are set before ready is closed.
type handed struct {
	ready   chan struct{}
	address string
	err     error
}

// SignInAddress begins a sign-in that somebody else shows to the person, such as a client that is asked to
// open a URL, and returns the address. It goes on without its caller, until the person has signed in (which
// Options.SignedIn tells), ten minutes are over, or [Client.Close]; meanwhile the same principal gets the same
// address. The answer comes to a port of this machine, that of Options.Interact where it is a [*Loopback]:
// the person's browser has to be here.
//
// The address is a secret of the person's until it is used.
func (c *Client) SignInAddress(ctx context.Context, resource, who string) (string, error) {
	resource, err := Resource(resource)
	if err != nil {
		return "", err
	}
	s := c.session(resource, who)
	s.mu.Lock()
	h := s.handed
	if h == nil {
		h = &handed{ready: make(chan struct{})}
		if !c.spawn(func() { s.handOver(h) }) {
			s.mu.Unlock()
			return "", errClosed
		}
		s.handed = h
	}
	s.mu.Unlock()
	select {
	case <-h.ready:
		return h.address, h.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// handOver signs in with an address that is handed over.
func (s *session) handOver(h *handed) {
	ctx := s.client.ctx
	_, err := s.signIn(ctx, need{said: s.client.asks(ctx, s.key.Resource), anew: true, show: func(address string) {
		h.address = address
		close(h.ready)
	}}) // and is no flight: requests do not wait for it
	s.mu.Lock()
	s.handed = nil
	s.mu.Unlock()
	if h.address != "" {
		if err != nil {
			s.client.options.Logger.Info("nobody has signed in", "server", bareURL(s.key.Resource), "why", err)
		}
		return
	}
	h.err = err
	close(h.ready)
}

// handing is a Loopback that shows addresses to one who hands them over.
func (c *Client) handing(show func(string)) *Loopback {
	l := Loopback{}
	if own, ok := c.options.Interact.(*Loopback); ok {
		l = *own
	}
	l.Open = func(_ context.Context, authorize string) error { show(authorize); return nil }
	return &l
}
