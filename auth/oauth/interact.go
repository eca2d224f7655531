package oauth

import (
	"context"
	"errors"
	"net/url"
	"sync"
)

// Interaction is a way to sign a person in. It shows an address, and gets the answer of the authorization server.
// [Loopback] is for programs on the person's own machine, and [Paste] is for programs on other machines.
//
// Implementations may be called from any goroutine. Users call Close once.
type Interaction interface {
	// Begin prepares one sign-in. redirect is the registered address of the client at the authorization server, or "".
	// If URI returns another address, the client registers anew. own is the required end of the path of URI, so that
	// no two authorization servers share an address. It may be "".
	Begin(ctx context.Context, redirect, pathSuffix string) (Redirection, error)
}

// Redirection is one sign-in.
type Redirection interface {
	// URI is the address to which the authorization server sends the browser.
	URI() string
	// Ask shows the person the address, and waits for the query of the answer. The "state" of the answer must be the
	// state of the address. Until it is used, the address is a secret of the person. The context bounds the wait.
	Ask(ctx context.Context, authorize string) (url.Values, error)
	// Close ends the sign-in.
	Close() error
}

// pendingAnswer holds the answer to one sign-in, and the outcome for the page on which the browser waits.
type pendingAnswer struct {
	answers chan url.Values // has room for one answer
	further chan string     // has room for the address to which the waiting page sends the browser
	done    chan struct{}   // closed when err is set
	ended   sync.Once       // sets err
	err     error           // why the sign-in failed

	mu    sync.Mutex
	state string // of the expected sign-in; "": there is none, or it was answered
}

func newPendingAnswer() *pendingAnswer {
	return &pendingAnswer{answers: make(chan url.Values, 1), further: make(chan string, 1), done: make(chan struct{})}
}

// expect begins to wait for the answer to an address.
func (a *pendingAnswer) expect(authorize string) (state string, err error) {
	u, err := url.Parse(authorize)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = u.Query().Get("state")
	return a.state, nil
}

// deliver passes the answer on, once.
func (a *pendingAnswer) deliver(answer url.Values) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == "" || !equalText(answer.Get("state"), a.state) {
		return false
	}
	a.state = ""
	a.answers <- answer
	return true
}

// askAgain sends the browser that brought the answer to another address with the same state, and waits for its answer.
func (a *pendingAnswer) askAgain(ctx context.Context, authorize string) (url.Values, error) {
	if _, err := a.expect(authorize); err != nil {
		return nil, err
	}
	a.further <- authorize
	return a.wait(ctx, nil)
}

// wait waits for the answer. shown receives the error of showing the address, or nil.
func (a *pendingAnswer) wait(ctx context.Context, shown <-chan error) (url.Values, error) {
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
				return nil, errors.New("the user has not signed in in time")
			}
			return nil, ctx.Err()
		}
	}
}

// finish sets the outcome for the page. Only the first call counts.
func (a *pendingAnswer) finish(err error) {
	a.ended.Do(func() {
		a.err = err
		close(a.done)
	})
}
