package oauth

import (
	"context"
	"net/url"
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
