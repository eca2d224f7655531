package bridge

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
)

// link is all that is open to one server, for as long as somebody holds it: a
// connection with the token of Import, which is replaced when it dies, and sessions for
// other tokens.
type link struct {
	namespace string
	token     operation.Secret
	pool      *http.Transport // of all TCP connections, which know no principals
	fleet     *interop.Fleet
	sessions  *sessions

	mu      sync.Mutex
	holders int // 0: it is closed
}

// newLink is a link that its maker holds.
func newLink(f *FromMCP) *link {
	l := &link{namespace: f.Namespace, token: f.Token, pool: newPool(f.TLS), holders: 1}
	server := interop.Server{
		ID: f.Namespace, Transport: interop.HTTP{URL: f.Endpoint}, Timeouts: f.Timeouts, Secrets: []interop.Secret{f.Token},
	}
	log := f.logger()
	options := func(token operation.Secret) *interop.EndpointOptions {
		return &interop.EndpointOptions{HTTPClient: &http.Client{Transport: &tokenTransport{pool: l.pool, token: token}}, Logger: log}
	}
	l.fleet = interop.NewFleet(&interop.FleetOptions{
		Endpoint: func(interop.Server) *interop.EndpointOptions { return options(f.Token) },
		Logger:   log,
	})
	l.sessions = newSessions(f.Sessions, f.Idle, func(token operation.Secret) *interop.Endpoint {
		o := options(token)
		o.Era = l.status().Era
		theirs := server
		theirs.Secrets = append(theirs.Secrets[:1:1], token)
		return interop.NewEndpoint(theirs, o)
	})
	l.fleet.Apply([]interop.Server{server})
	return l
}

// take holds the link; false: it is closed.
func (l *link) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holders == 0 {
		return false
	}
	l.holders++
	return true
}

// release lets go of the link. The last who does closes it, and waits for that.
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

// settle waits until the server was heard. Of an old link whose server was lost, it is
// tried at once, and not when its pause is over.
func (l *link) settle(ctx context.Context, old bool) error {
	err := l.fleet.Settle(ctx)
	if err == nil && old && l.status().Phase != interop.Ready {
		err = l.fleet.Restart(ctx)
	}
	if err != nil {
		return l.importError(err)
	}
	return l.down()
}

func (l *link) status() interop.EndpointStatus {
	if all := l.fleet.Status(); len(all) > 0 {
		return all[0]
	}
	return interop.EndpointStatus{}
}

// down is why the server's tools are not known now; nil: they are.
func (l *link) down() error {
	st := l.status()
	switch {
	case st.Fault != nil:
		return l.importError(st.Fault)
	case st.Phase != interop.Ready:
		return l.importError(errors.New("not connected"))
	}
	return nil
}

// listed is the server's tools.
func (l *link) listed() ([]toolbox.Descriptor, error) {
	if err := l.down(); err != nil {
		return nil, err
	}
	return l.fleet.Snapshot("").Tools, nil
}

// call calls a tool with a token, on a connection where no other token's session, list
// or answer can be met.
func (l *link) call(ctx context.Context, d *toolbox.Descriptor, token operation.Secret, input []byte) (*toolbox.Result, error) {
	c := toolbox.Call{Name: d.Name, Input: input}
	if token.Reveal() == l.token.Reveal() {
		return l.fleet.Do(ctx, c)
	}
	if st := l.status(); st.Phase == interop.Ready && st.Era == interop.Modern { // without sessions: each request is alone
		r, err := l.fleet.Do(withToken(ctx, token), c)
		if !errors.Is(err, errSession) {
			return r, err
		}
	}
	s, err := l.sessions.take(ctx, token)
	if err != nil {
		return nil, err
	}
	defer l.sessions.put(s)
	return s.call(ctx, d.Tool, input)
}
