package signin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/interop/config"
)

// anyCaller signs the connection that lists the tools of a server with "per": "principal". It uses the sign-in of the
// local user, or else of any caller. It stays with a sign-in as long as it is valid.
type anyCaller struct {
	tokens  *Tokens
	server  config.Server
	client  *oauth.Client
	address string
	base    http.RoundTripper

	mu      sync.Mutex
	signers map[string]http.RoundTripper // by principal, so that each keeps its session
	last    *string                      // the principal of the last request, or nil
}

// RoundTrip sends a request with the first valid sign-in. A session belongs to one sign-in: if that is no longer valid,
// the answer is that of a server that has ended the session, and the next connection uses another sign-in.
func (a *anyCaller) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	var missing *oauth.SignInError
	next := r
	for principal := range a.candidates(r.Context(), last) {
		switch {
		case missing == nil: // the first one
		case last != nil && r.Header.Get("Mcp-Session-Id") != "":
			return &http.Response{
				Status: "404 Not Found", StatusCode: http.StatusNotFound, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
				Header: http.Header{}, Body: http.NoBody, Request: r,
			}, nil
		case r.GetBody != nil:
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			next = r.Clone(r.Context())
			next.Body = body
		case r.Body != nil && r.Body != http.NoBody:
			return nil, missing
		}
		res, err := a.signer(principal).RoundTrip(next)
		if !errors.As(err, &missing) {
			a.mu.Lock()
			a.last = &principal
			a.mu.Unlock()
			return res, err
		}
	}
	return nil, fmt.Errorf("its tools are listed with the sign-in of any caller or of yours, and there is none: %w",
		missing)
}

func (a *anyCaller) signer(principal string) http.RoundTripper {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.signers[principal] == nil {
		a.signers[principal] = a.client.Transport(a.base, a.address, principal)
	}
	return a.signers[principal]
}

// candidates returns the principals to try: the last one, and then the others.
func (a *anyCaller) candidates(ctx context.Context, last *string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if last != nil && !yield(*last) {
			return
		}
		for _, principal := range a.principals(ctx) {
			if (last == nil || principal != *last) && !yield(principal) {
				return
			}
		}
	}
}

// principals returns the principals with a sign-in. If the local user ("") is signed in, it is the only one. Otherwise
// "" is the last one: its error is returned if all fail.
func (a *anyCaller) principals(ctx context.Context) (list []string) {
	if own, err := a.tokens.Status(ctx, a.server, ""); err != nil || own.SignedIn {
		return []string{""} // the request returns the error if it gets a 401
	}
	callers, err := a.tokens.Principals(ctx, a.server)
	for _, one := range callers {
		if err == nil && one.SignedIn {
			list = append(list, one.Principal)
		}
	}
	return append(list, "")
}
