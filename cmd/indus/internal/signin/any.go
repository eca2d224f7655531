package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/oauth"
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
	last    string                       // the principal of the last request
	hasLast bool                         // last is set
}

// RoundTrip sends a request with the first valid sign-in.
func (a *anyCaller) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	last, hasLast := a.last, a.hasLast
	a.mu.Unlock()
	var candidates []string
	var missing *oauth.SignInError
	if hasLast {
		candidates = []string{last}
	} else {
		candidates = a.candidates(r.Context())
	}
	for i := 0; i < len(candidates); i++ {
		next := r
		if i > 0 {
			next = r.Clone(r.Context())
			if r.GetBody != nil {
				body, err := r.GetBody()
				if err != nil {
					return nil, err
				}
				next.Body = body
			} else if r.Body != nil && r.Body != http.NoBody {
				return nil, missing
			}
		}
		if hasLast && candidates[i] != last && r.Header.Get("Mcp-Session-Id") != "" {
			return a.endSession(next), nil
		}
		res, err := a.signer(candidates[i]).RoundTrip(next)
		if !errors.As(err, &missing) {
			a.mu.Lock()
			a.last, a.hasLast = candidates[i], true
			a.mu.Unlock()
			return res, err
		}
		if hasLast && i == 0 {
			for _, principal := range a.candidates(r.Context()) {
				if principal != last {
					candidates = append(candidates, principal)
				}
			}
		}
	}
	return nil, fmt.Errorf("its tools are listed with the sign-in of any caller or of yours, and there is none: %w",
		missing)
}

// endSession returns the response of a server that has ended the session. The session belongs to a sign-in that is no
// longer valid. The next connection uses another sign-in.
func (a *anyCaller) endSession(r *http.Request) *http.Response {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{
		Status: "404 Not Found", StatusCode: http.StatusNotFound, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: r,
	}
}

func (a *anyCaller) signer(principal string) http.RoundTripper {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.signers[principal] == nil {
		a.signers[principal] = a.client.Transport(a.base, a.address, principal)
	}
	return a.signers[principal]
}

// candidates returns the principals to try. If the local user ("") is signed in, it is the only one. Otherwise the
// callers with a sign-in come first, and "" is last: its error is returned if all fail.
func (a *anyCaller) candidates(ctx context.Context) (list []string) {
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
