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

	"github.com/indusagi/indus/internal/secret"
)

// Transport puts the principal's token on every request to the server at resource, over base (nil:
// [http.DefaultTransport]). Requests to other origins, such as those of a redirect, and those that
// have an Authorization header go as they are.
//
// Where the server answers 401, or 403 for want of scopes, the request was not run: the token is
// renewed, or a new sign-in is made or asked for, and the request goes out again, if its body can be
// had again (GetBody). That is done once for each of these reasons: the last answer is returned as
// it is. A response whose body is read stays as it is when its token expires.
//
// What needs a person is a [*SignInError]; a step that fails is a [*StepError]. Every error for want of a token has
// a method Unsent: the request was not sent, or the server has refused to run it. A server that
// refuses, and of which nothing leads to an authorization server, has its own answer returned.
//
// If the store cannot be read, requests go out without a token, and its error is returned where the server wants one. A
// resource that is no address of a server fails every request.
func (c *Client) Transport(base http.RoundTripper, resource, who string) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{base: base}
	if t.session, t.wrong = c.sessionAt(resource, who); t.wrong == nil {
		t.origin, t.wrong = url.Parse(t.session.key.Resource)
	}
	return t
}

type transport struct {
	base    http.RoundTripper
	wrong   error // of the resource; nil: none
	origin  *url.URL
	session *session
}

// unsentError is why a request has no token.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// Unsent marks the error, for packages that do not import this one.
func (e *unsentError) Unsent() {}

// RoundTrip sends a request with the token.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.wrong != nil {
		closeBody(req)
		return nil, &unsentError{t.wrong}
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
	a := attempts{began: time.Now()}
	for body := req.Body; ; {
		res, err := t.base.RoundTrip(authorized(req, body, g))
		if err != nil {
			return nil, err
		}
		n, again := a.need(res, g)
		if !again || req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
			return masked(res, g), nil
		}
		next, err := t.session.obtain(ctx, n)
		if errors.Is(err, ErrNoOAuth) {
			return masked(res, g), nil
		}
		discard(res)
		if errors.As(err, new(*storeError)) {
			err = fmt.Errorf("the server answers HTTP %d, and the sign-ins cannot be read: %w", res.StatusCode, err)
		}
		if err != nil {
			return nil, &unsentError{err}
		}
		if g = next; req.GetBody != nil {
			if body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// authorized is a copy of a request, with the token where there is one.
func authorized(req *http.Request, body io.ReadCloser, g *grant) *http.Request {
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

// maxRefusal is how much of a refusal is read, in bytes.
const maxRefusal = 256 << 10

// masked is an answer that refuses or redirects, without the token in it: what servers say of that is logged
// and shown. Of its body it has the beginning.
func masked(res *http.Response, g *grant) *http.Response {
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

// discard lets the connection be used again, where little is left of the answer.
func discard(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 16<<10)
	_ = res.Body.Close()
}

// attempts is why a request was already sent again.
type attempts struct {
	empty, refused, anew, stepUp bool
	began                        time.Time
	late                         int // how often with a token that is old, or expires so soon, that this may be why it was refused
}

// mostLate bounds attempts.late.
const mostLate = 3

// need is what an answer lacks; again is false where nothing can be done.
func (a *attempts) need(res *http.Response, g *grant) (n need, again bool) {
	switch res.StatusCode {
	case http.StatusUnauthorized:
		n.refused, n.said, n.told = g, challengeOf(res.Header), true
		switch {
		case g == nil && !a.empty:
			a.empty = true
		case g != nil && !a.refused:
			a.refused, n.quiet = true, a.empty // nobody is asked twice
		case g != nil && a.late < mostLate && g.renewable() && (g.Got.Before(a.began) || !g.fresh(time.Now())): // such as another process's
			a.late, n.quiet = a.late+1, a.empty
		case g != nil && !a.anew && !a.empty:
			a.anew, n.anew = true, true
		default:
			return n, false
		}
		return n, true
	case http.StatusForbidden:
		n.refused, n.said, n.told, n.stepUp = g, challengeOf(res.Header), true, true
		if a.stepUp || n.said.err != "insufficient_scope" || g == nil || len(n.said.scopes) == 0 || contains(g.Scopes, n.said.scopes) {
			return n, false
		}
		a.stepUp = true
		return n, true
	}
	return n, false
}

// SignIn has the principal sign in at the server's authorization server, whatever is kept, and keeps what
// is granted. It asks the server first, without a token, what it wants. If nothing there speaks of OAuth, it registers
// nothing and returns [ErrNoOAuth].
func (c *Client) SignIn(ctx context.Context, resource, who string) error {
	s, err := c.sessionAt(resource, who)
	if err != nil {
		return err
	}
	if _, err := s.load(ctx); err != nil {
		return err
	}
	said, status, failed := c.asks(ctx, s.key.Resource)
	_, err = s.obtain(ctx, need{said: said, anew: true, open: isOpen(said, status)})
	if failed != nil && errors.Is(err, ErrNoOAuth) { // which is not known of a server that is down
		return &StepError{StepResource, s.key.Resource, &networkError{failed}}
	}
	return err
}

// Renew renews the token of a principal that is about to expire, or has expired, where that needs no person. Afterwards
// [Client.Status] is what the authorization server says.
func (c *Client) Renew(ctx context.Context, resource, who string) error {
	s, err := c.sessionAt(resource, who)
	if err == nil {
		_, err = s.token(ctx)
	}
	return err
}

// asks is what a server says to a request without a token; the status is 0 where there is no answer. Any POST will do: who
// may enter is decided before what is asked.
func (c *Client) asks(ctx context.Context, resource string) (said challenge, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, resource, strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"ping"}`))
	if err != nil {
		return challenge{}, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := c.web(ctx, resource).client.Do(req)
	if where, ok := errors.AsType[*url.Error](err); ok { // which repeats the address
		err = where.Err
	}
	if err != nil {
		return challenge{}, 0, err
	}
	discard(res)
	return challengeOf(res.Header), res.StatusCode, nil
}

// isOpen reports a server that wants no token of OAuth. Where there is no metadata either, nobody signs in there (revision
// 2025-03-26 has servers without metadata, which answer 401).
func isOpen(said challenge, status int) bool {
	return status != http.StatusUnauthorized || said.foreign
}
