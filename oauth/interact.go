package oauth

import (
	"context"
	"errors"
	"net/url"
	"sync"
)

// Interaction is how a person signs in: something shows an address, and something gets the
// answer of the authorization server. [Loopback] and [Paste] are what programs on the
// person's own machine and elsewhere use.
//
// Implementations may be called from any goroutine; users call Close once.
type Interaction interface {
	// Begin prepares for one sign-in. redirect is the address at which the client is known to
	// the authorization server, where it is: with another one it registers anew. "": none. own is what the path of URI
	// has to end in, so that no two authorization servers have the same. "": nothing.
	Begin(ctx context.Context, redirect, own string) (Redirection, error)
}

// Redirection is one sign-in.
type Redirection interface {
	// URI is where the authorization server sends the browser.
	URI() string
	// Ask shows the person the address, which is nobody else's until it is used, and waits for the
	// query of the answer whose "state" is that of the address. The context bounds it.
	Ask(ctx context.Context, authorize string) (url.Values, error)
	// Close ends it.
	Close() error
}

// awaited is the answer to one sign-in, and what has come of that for the page on which the browser waits.
type awaited struct {
	answers chan url.Values // has room for the one
	over    chan struct{}   // closed when err is set
	err     error           // why nobody has signed in

	mu    sync.Mutex
	state string // of the sign-in that is waited for; "": none, or it was answered
	ends  bool
}

func newAwaited() *awaited {
	return &awaited{answers: make(chan url.Values, 1), over: make(chan struct{})}
}

// expect begins to wait for the answer to an address.
func (a *awaited) expect(authorize string) (state string, err error) {
	u, err := url.Parse(authorize)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = u.Query().Get("state")
	return a.state, nil
}

// take delivers the answer, once.
func (a *awaited) take(answer url.Values) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == "" || !sameText(answer.Get("state"), a.state) {
		return false
	}
	a.state = ""
	a.answers <- answer
	return true
}

// answer waits for the answer. shown sends why the address could not be shown, or nil.
func (a *awaited) answer(ctx context.Context, shown <-chan error) (url.Values, error) {
	for {
		select {
		case answer := <-a.answers:
			return answer, nil
		case err := <-shown:
			if err != nil {
				return nil, err
			}
			shown = nil
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, errors.New("nobody has signed in in time")
			}
			return nil, ctx.Err()
		}
	}
}

// ended lets the page say what has come of the sign-in. Only the first call counts.
func (a *awaited) ended(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ends {
		a.ends, a.err = true, err
		close(a.over)
	}
}
