package oauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/httpconn"
	"github.com/indusagi/indus/internal/secret"
)

// Transport returns a RoundTripper that adds the principal's token to every request to the server at resource. It sends
// requests over base, or over [http.DefaultTransport] if base is nil. Requests to other origins, such as after a
// redirect, are sent unchanged. So are requests that have an Authorization header.
//
// If the server answers 401, or 403 because of missing scopes, the request was not run. Then the token is renewed, or a
// new sign-in is made or requested. The request is sent again, if its body can be read again (GetBody). That is done
// once for each of these reasons, and the last answer is returned as it is. A response whose body is being read stays
// valid when its token expires.
//
// If a person is needed, the error is a [*SignInError]. If a step fails, it is a [*StepError]. Every error because of a
// missing token has a method Unsent: the request was not sent, or the server refused to run it. If a server refuses,
// and nothing in its answer leads to an authorization server, its own answer is returned.
//
// If the store cannot be read, requests are sent without a token. If the server then requires one, the error of the
// store is returned. If resource is not the address of a server, every request fails.
func (c *Client) Transport(base http.RoundTripper, resource, principal string) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{base: base}
	t.session, t.resourceErr = c.sessionAt(resource, principal)
	if t.resourceErr == nil {
		t.origin, t.resourceErr = url.Parse(t.session.key.Resource)
	}
	return t
}

type transport struct {
	base        http.RoundTripper
	resourceErr error // of the resource; nil: none
	origin      *url.URL
	session     *session
}

// unsentError is why a request has no token.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// Unsent marks the error for packages that do not import this one.
func (e *unsentError) Unsent() {}

// RoundTrip sends a request with the token.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.resourceErr != nil {
		closeBody(req)
		return nil, &unsentError{t.resourceErr}
	}
	if req.Header.Get("Authorization") != "" || !sameOrigin(req.URL, t.origin) {
		return t.base.RoundTrip(req)
	}
	ctx := req.Context()
	g, err := t.session.token(ctx)
	if err != nil && !errors.As(err, new(*storeError)) {
		closeBody(req)
		return nil, &unsentError{err}
	}
	now := t.session.client.options.Now
	a := attempts{began: now(), now: now}
	for body := req.Body; ; {
		res, err := t.base.RoundTrip(withToken(req, body, g))
		if err != nil {
			return nil, err
		}
		n, retry := a.nextNeed(res, g)
		if !retry || req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
			return maskToken(res, g), nil
		}
		next, err := t.session.obtain(ctx, n)
		if errors.Is(err, ErrNoOAuth) {
			return maskToken(res, g), nil
		}
		drain(res)
		if errors.As(err, new(*storeError)) {
			err = fmt.Errorf("the server answers HTTP %d, and the sign-ins cannot be read: %w", res.StatusCode, err)
		}
		if err != nil {
			return nil, &unsentError{err}
		}
		g = next
		if req.GetBody != nil {
			if body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// withToken returns a copy of a request, with the token if there is one.
func withToken(req *http.Request, body io.ReadCloser, g *grant) *http.Request {
	r := *req
	r.Body = body
	if g == nil {
		return &r
	}
	r.Header = req.Header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header["Authorization"] = []string{"Bearer " + g.access.Reveal()}
	return &r
}

// maxRefusal is the number of bytes of a refusal that are read.
const maxRefusal = 256 << 10

// maskToken removes the token from an answer that refuses or redirects, because such answers are logged and shown. Only
// the beginning of the body is kept.
func maskToken(res *http.Response, g *grant) *http.Response {
	if g == nil || res.StatusCode < http.StatusMultipleChoices {
		return res
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	_ = res.Body.Close()
	mask := secret.New(g.access.Reveal())
	mask.Header(res.Header)
	body = []byte(mask.Mask(string(body)))
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res.Header.Del("Content-Length")
	return res
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// drain reads the rest of a short answer, so that the connection can be used again.
func drain(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 16<<10)
	_ = res.Body.Close()
}

// attempts holds the reasons for which a request was already sent again.
type attempts struct {
	withoutToken, refused, newSignIn, stepUp bool
	now                                      func() time.Time
	began                                    time.Time
	// oldTokens counts refusals of a token that is old or expires soon, so that its age may be the reason.
	oldTokens int
}

// maxOldTokens bounds attempts.oldTokens.
const maxOldTokens = 3

// nextNeed returns the need that an answer shows. retry is false if nothing can be done.
func (a *attempts) nextNeed(res *http.Response, g *grant) (n need, retry bool) {
	switch res.StatusCode {
	case http.StatusUnauthorized:
		n.refused, n.challenge, n.serverRefused = g, parseChallenge(res.Header), true
		switch {
		case g == nil && !a.withoutToken:
			a.withoutToken = true
		case g != nil && !a.refused:
			a.refused, n.noPerson = true, a.withoutToken // no person is asked twice
		case a.oldTokens < maxOldTokens && a.isOld(g): // such as another process's token
			a.oldTokens, n.noPerson = a.oldTokens+1, a.withoutToken
		case g != nil && !a.newSignIn && !a.withoutToken:
			a.newSignIn, n.newSignIn = true, true
		default:
			return n, false
		}
		return n, true
	case http.StatusForbidden:
		n.refused, n.challenge, n.serverRefused, n.stepUp = g, parseChallenge(res.Header), true, true
		required := n.challenge.scopes
		if a.stepUp || n.challenge.err != "insufficient_scope" ||
			g == nil || len(required) == 0 || contains(g.Scopes, required) {
			return n, false
		}
		a.stepUp = true
		return n, true
	}
	return n, false
}

// isOld reports whether a grant can be renewed, and is older than the request or expires soon.
func (a *attempts) isOld(g *grant) bool {
	now := a.now()
	return g.renewable(now) && (g.Obtained.Before(a.began) || !g.fresh(now))
}

// SignIn signs the principal in at the server's authorization server, even if there is a token already, and stores the
// grant. First it sends a request without a token to get the server's requirements. If the server has no metadata of
// OAuth, it registers nothing and returns [ErrNoOAuth].
func (c *Client) SignIn(ctx context.Context, resource, principal string) error {
	s, err := c.sessionAt(resource, principal)
	if err != nil {
		return err
	}
	if _, err := s.load(ctx); err != nil {
		return err
	}
	answer, status, probeErr := c.probe(ctx, s.key.Resource)
	_, err = s.obtain(ctx, need{challenge: answer, newSignIn: true, openServer: isOpen(answer, status)})
	if probeErr != nil && errors.Is(err, ErrNoOAuth) { // that cannot be known if the server is down
		return &StepError{StepResource, s.key.Resource, &networkError{probeErr}}
	}
	return err
}

// Renew renews the token of a principal that is about to expire or has expired, if that needs no person.
// [Client.Status] then has the state that the authorization server reported.
func (c *Client) Renew(ctx context.Context, resource, principal string) error {
	s, err := c.sessionAt(resource, principal)
	if err == nil {
		_, err = s.token(ctx)
	}
	return err
}

// probe returns the server's answer to a request without a token. The status is 0 if there is no answer. Any POST will
// do, because servers check the token before the content.
func (c *Client) probe(ctx context.Context, resource string) (answer challenge, status int, err error) {
	body := strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"ping"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, resource, body)
	if err != nil {
		return challenge{}, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	w := c.web(ctx, resource)
	req.Header.Set("User-Agent", w.agent)
	res, err := w.client.Do(req)
	if err != nil {
		return challenge{}, 0, httpconn.Reason(err)
	}
	drain(res)
	return parseChallenge(res.Header), res.StatusCode, nil
}

// isOpen reports whether a server requires no token of OAuth. If there is no metadata either, there is no sign-in.
// Servers of revision 2025-03-26 have no metadata but answer 401.
func isOpen(answer challenge, status int) bool {
	return status != http.StatusUnauthorized || answer.noBearer
}
