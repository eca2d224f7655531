package bridge

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
)

// link holds everything that is open to one server while it has holders. That is a connection with the token of Import,
// which is replaced when it dies, and sessions for other tokens.
type link struct {
	namespace string
	token     operation.Secret
	pool      *http.Transport // for all TCP connections, which are independent of principals
	fleet     *interop.Fleet
	sessions  *sessions

	mu      sync.Mutex
	holders int // 0 if the link is closed
}

// newLink returns a link that the caller holds.
func newLink(f *FromMCP) *link {
	l := &link{namespace: f.Namespace, token: f.Token, pool: newPool(f.TLS), holders: 1}
	server := config.Server{
		ID: f.Namespace, Transport: config.HTTP{URL: f.Endpoint}, Timeouts: f.Timeouts, Secrets: []config.Secret{f.Token},
	}
	log := f.logger()
	options := func(token operation.Secret) *interop.EndpointOptions {
		return &interop.EndpointOptions{HTTPClient: &http.Client{Transport: &tokenTransport{pool: l.pool, token: token}},
			Logger: log}
	}
	l.fleet = interop.NewFleet(&interop.FleetOptions{
		Endpoint: func(config.Server) *interop.EndpointOptions { return options(f.Token) },
		Logger:   log,
	})
	l.sessions = newSessions(f.Sessions, f.Idle, func(token operation.Secret) *interop.Endpoint {
		o := options(token)
		o.Era = l.status().Era
		dedicated := server
		dedicated.Secrets = append(dedicated.Secrets[:1:1], token)
		return interop.NewEndpoint(dedicated, o)
	})
	l.fleet.Apply([]config.Server{server})
	return l
}

// acquire adds a holder. It returns false if the link is closed.
func (l *link) acquire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holders == 0 {
		return false
	}
	l.holders++
	return true
}

// release removes a holder. The last holder closes the link and waits until it is closed.
func (l *link) release() {
	l.mu.Lock()
	l.holders--
	last := l.holders == 0
	l.mu.Unlock()
	if !last {
		return
	}
	var closing sync.WaitGroup
	closing.Go(l.fleet.Close)
	closing.Go(l.sessions.close)
	closing.Wait()
	l.pool.CloseIdleConnections()
}

// connect waits until the server has answered. If the link is reused and its server was lost, connect reconnects
// immediately instead of after the backoff.
func (l *link) connect(ctx context.Context, reused bool) error {
	err := l.fleet.Settle(ctx)
	if err == nil && reused && l.status().Phase != interop.Ready {
		err = l.fleet.Restart(ctx)
	}
	if err != nil {
		return l.importError(err)
	}
	return l.connectionError()
}

func (l *link) status() interop.EndpointStatus {
	if all := l.fleet.Status(); len(all) > 0 {
		return all[0]
	}
	return interop.EndpointStatus{}
}

// connectionError returns the reason for which the server's tools are unknown, or nil if they are known.
func (l *link) connectionError() error {
	st := l.status()
	switch {
	case st.Fault != nil:
		return l.importError(st.Fault)
	case st.Phase != interop.Ready:
		return l.importError(errors.New("not connected"))
	}
	return nil
}

// tools returns the server's tools.
func (l *link) tools() ([]toolbox.Descriptor, error) {
	if err := l.connectionError(); err != nil {
		return nil, err
	}
	return l.fleet.Snapshot("").Tools, nil
}

// call calls a tool with a token. The connection never shares a session, a list or an answer with another token.
func (l *link) call(ctx context.Context, d *toolbox.Descriptor, token operation.Secret, input []byte) (*toolbox.Result,
	error) {
	c := toolbox.Call{Name: d.Name, Input: input}
	if token.Reveal() == l.token.Reveal() {
		return l.fleet.Do(ctx, c)
	}
	// without sessions, each request stands alone
	if st := l.status(); st.Phase == interop.Ready && st.Era == interop.Modern {
		r, err := l.fleet.Do(withToken(ctx, token), c)
		if !errors.Is(err, errSession) {
			return r, err
		}
	}
	s, err := l.sessions.acquire(ctx, token)
	if err != nil {
		return nil, err
	}
	defer l.sessions.release(s)
	return s.call(ctx, d.Tool, input)
}
