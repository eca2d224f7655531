package oauth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"
)

const offlineAccess = "offline_access" // OpenID Connect Core section 11

// formOf returns a form of names and values. Empty values are left out.
func formOf(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			form.Set(pairs[i], pairs[i+1])
		}
	}
	return form
}

// signIn gets a new grant.
func (s *session) signIn(ctx context.Context, n need) (*grant, error) {
	c := s.client
	person := c.options.Grant == AuthorizationCode
	limit := renewTime
	if person && (c.options.Interact != nil || n.show != nil) {
		limit = signInTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	w := c.web(ctx, s.key.Resource)
	d, err := w.resource(ctx, s.key.Resource, n.said)
	if err != nil {
		return nil, err
	}
	last := s.current.Load()
	if last == nil || !d.has(last.Issuer) {
		last = &grant{} // scopes of another authorization server do not count here
	}
	ask := &signInFlow{session: s, web: w, Discovery: d, last: last, need: n}
	if person && (c.options.Interact == nil && n.show == nil || n.quiet) {
		return nil, ask.person(ctx)
	}
	var failed []error
	for _, issuer := range d.ordered(last.Issuer) {
		g, err := ask.server(ctx, issuer)
		if refused, ok := errors.AsType[*ServerError](err); ok && (refused.Code == "invalid_scope" || refused.Code == "access_denied") {
			err = errors.Join(err, ask.want(ctx, nil)) // the former scopes can be granted again
		}
		if step, ok := errors.AsType[*StepError](err); !ok || ctx.Err() != nil || step.Step != StepServer && step.Step != StepRegistration {
			return g, err // may be nil; after a refusal by one server, no other is asked
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// signInFlow is one sign-in.
type signInFlow struct {
	*session
	*Discovery
	web  *web
	last *grant // the former grant of one of the authorization servers
	need need
}

// scopes returns the scopes to request (specification 2026-07-28, "Scope Selection Strategy", and SEP-2350).
func (a *signInFlow) scopes(as *authServer) []string {
	first := a.client.options.Scopes
	switch {
	case len(first) > 0:
	case len(a.need.said.scopes) > 0:
		first = a.need.said.scopes
	default:
		first = a.Scopes
	}
	all := union(a.last.Asked, first, a.need.said.scopes, a.last.Wanted)
	if as != nil && a.client.options.Grant == AuthorizationCode && slices.Contains(as.ScopesSupported, offlineAccess) {
		all = union(all, []string{offlineAccess}) // "Refresh Tokens"
	}
	return all
}

// person returns an error that a person is needed. The required scopes are stored for a later sign-in in another
// place.
func (a *signInFlow) person(ctx context.Context) error {
	as, err := a.web.firstServer(ctx, a.Discovery, a.last.Issuer)
	if err != nil {
		return err
	}
	if as.assumed {
		return ErrNoOAuth
	}
	needed := &SignInError{Resource: a.key.Resource, Issuer: as.Issuer, Principal: a.key.Principal, Scopes: a.scopes(as)}
	switch {
	case a.need.stepUp:
		needed.Err = errors.New("what was granted does not reach so far")
		if err := a.want(ctx, a.need.said.scopes); err != nil {
			return err
		}
	case a.last.Issuer != "":
		needed.Err = errors.New("what was granted is no longer good")
	}
	return needed
}

// want stores the scopes that the server requires, for the next sign-in. If scopes is nil, it deletes the stored
// scopes.
func (a *signInFlow) want(ctx context.Context, scopes []string) error {
	unlock, err := a.client.options.Store.Lock(ctx, a.key)
	if err != nil {
		return err
	}
	defer unlock()
	g, err := a.load(ctx)
	if err != nil || g == nil {
		return err
	}
	more := *g
	if more.Wanted = union(g.Wanted, scopes); scopes == nil {
		more.Wanted = nil
	}
	if len(more.Wanted) == len(g.Wanted) { // all are stored already, or there is no room
		return nil
	}
	return a.keep(ctx, &more)
}

// server signs in at one authorization server.
func (a *signInFlow) server(ctx context.Context, issuer string) (*grant, error) {
	as, err := a.web.server(ctx, issuer, a.Legacy)
	if err != nil {
		return nil, err
	}
	if err := a.client.confine(ctx, a.key.Resource, as.Issuer, false); err != nil {
		return nil, err
	}
	if a.client.options.Grant == AuthorizationCode {
		return a.byPerson(ctx, as)
	}
	return a.byItself(ctx, as)
}

// byPerson runs the authorization code grant with PKCE (OAuth 2.1 section 4.1).
func (a *signInFlow) byPerson(ctx context.Context, as *authServer) (g *grant, err error) {
	if !slices.Contains(as.CodeChallengeMethodsSupported, "S256") || as.AuthorizationEndpoint == "" {
		return nil, &StepError{StepServer, as.Issuer, errors.New("it does not support authorization codes with PKCE (S256)")}
	}
	if as.assumed && a.need.open {
		return nil, ErrNoOAuth
	}
	interact, registration := a.interaction(as)
	known, err := a.client.registration(ctx, registration)
	if err != nil {
		return nil, err
	}
	back, err := interact.Begin(ctx, known.Redirect, a.client.ownPath(as))
	if err != nil {
		return nil, &StepError{StepAuthorization, "", err}
	}
	defer func() {
		if page, ok := back.(interface{ ended(error) }); ok {
			page.ended(err)
		}
		_ = back.Close()
	}()
	i, err := a.client.identify(ctx, a.web, as, back.URI())
	if err != nil && as.assumed {
		err = fmt.Errorf("%w, and none of before 2025-06-18 either: %w", ErrNoOAuth, err)
	}
	if err != nil {
		return nil, &StepError{StepRegistration, as.Issuer, err}
	}
	defer func() { // even if the caller has gone
		if i.isDiscarded(err) || i.Dynamic && i.ID == known.ID && errors.As(err, new(*unansweredError)) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
			defer cancel()
			err = errors.Join(err, a.client.forget(ctx, as.Issuer, i.Redirect, i.ID))
		}
	}()
	scopes, verifier := a.scopes(as), oauth2.GenerateVerifier()
	code, err := a.code(ctx, as, i, back, scopes, verifier)
	if err != nil {
		return nil, &StepError{StepAuthorization, as.Issuer, err}
	}
	form := formOf("grant_type", "authorization_code", "code", code, "redirect_uri", back.URI(), "code_verifier", verifier)
	return a.exchange(ctx, as, i, form, scopes)
}

// unansweredError is why no answer came from a browser that was sent to the authorization server.
type unansweredError struct{ error }

func (e *unansweredError) Unwrap() error { return e.error }

// interaction returns the way to ask the person, and the key of the registration that belongs to it.
func (a *signInFlow) interaction(as *authServer) (Interaction, Key) {
	o, show := &a.client.options, a.need.show
	switch {
	case show == nil:
		return o.Interact, registrationKey(as.Issuer, "")
	case o.Site != nil:
		ask := &siteSignIn{site: o.Site, who: a.key.Principal, resource: a.key.Resource, issuer: as.Issuer, show: show}
		return ask, registrationKey(as.Issuer, ask.URI())
	}
	open := func(_ context.Context, authorize string) error { show(authorize); return nil }
	return &Loopback{Redirect: o.Redirect, Open: open}, registrationKey(as.Issuer, "")
}

// code asks the person to authorize. It checks the answer before any part of it is used.
func (a *signInFlow) code(ctx context.Context, as *authServer, i identity, back Redirection, scopes []string, verifier string) (string, error) {
	u, err := url.Parse(as.AuthorizationEndpoint)
	if err != nil {
		return "", err
	}
	state, query := rand.Text(), u.Query()
	query.Del("scope")
	maps.Copy(query, formOf(
		"response_type", "code", "client_id", i.ID, "redirect_uri", back.URI(), "state", state, "resource", a.Resource,
		"code_challenge", oauth2.S256ChallengeFromVerifier(verifier), "code_challenge_method", "S256",
		"scope", strings.Join(scopes, " "),
	))
	if slices.Contains(scopes, offlineAccess) {
		query.Set("prompt", "consent") // otherwise it is ignored (OpenID Connect Core section 11)
	}
	u.RawQuery = query.Encode()
	plainAddress(u)
	answer, err := back.Ask(ctx, u.String())
	if err != nil {
		if page, ok := back.(*siteSignIn); ok && !page.isConfirmed() {
			return "", err // no browser was sent there
		}
		return "", &unansweredError{err}
	}
	return checkAnswer(answer, as, state)
}

// plainAddress leaves no character in an address that is special in a shell. Browsers are often opened by a
// script, on Windows by one of PowerShell (CVE-2025-6514). The query has no such character, and the host has none
// either: see reach.check.
func plainAddress(u *url.URL) {
	u.RawPath = strings.NewReplacer("$", "%24", "&", "%26", "'", "%27", "(", "%28", ")", "%29", "*", "%2A", ";", "%3B", "!", "%21").Replace(u.EscapedPath())
	u.Fragment, u.RawFragment = "", "" // it must not have one (RFC 6749 section 3.1)
}

// checkAnswer returns the code of an authorization response. It checks in this order: the state, then the issuer
// (RFC 9207 section 2.4, specification "Authorization Response Validation"), and only then the content.
func checkAnswer(answer url.Values, as *authServer, state string) (string, error) {
	for _, name := range []string{"state", "iss", "code", "error"} {
		if len(answer[name]) > 1 {
			return "", errors.New("the answer has two of " + name)
		}
	}
	if subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(state)) != 1 {
		return "", errors.New("the answer is not to this sign-in: its state is another")
	}
	if iss := answer.Get("iss"); answer.Has("iss") && iss != as.Issuer {
		return "", errors.New("the answer is of another authorization server: " + bareURL(iss))
	} else if iss == "" && as.AuthorizationResponseIssParameterSupported {
		return "", errors.New("the answer does not say of which authorization server it is, as this one does")
	}
	switch {
	case answer.Has("error"):
		return "", newServerError(0, answer.Get("error"), answer.Get("error_description"), nil)
	case answer.Get("code") == "":
		return "", errors.New("the answer has no code")
	}
	return answer.Get("code"), nil
}

// exchange requests a token with the form, stores it and calls SignedIn.
func (a *signInFlow) exchange(ctx context.Context, as *authServer, i identity, form url.Values, scopes []string) (*grant, error) {
	c := a.client
	if err := c.confine(ctx, a.key.Resource, as.Issuer, true); err != nil {
		return nil, err
	}
	form.Set("resource", a.Resource)
	answer, err := c.requestToken(ctx, a.web, as.TokenEndpoint, as.Issuer, i, form)
	if err != nil {
		return nil, err
	}
	if err := answer.bearer(); err != nil {
		return nil, &StepError{StepToken, as.TokenEndpoint, err}
	}
	g := answer.into(grant{Resource: a.Resource, Issuer: as.Issuer, Token: as.TokenEndpoint, Revocation: as.RevocationEndpoint, Asked: a.last.Asked, client: i}, scopes)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime) // a granted token is stored in any case
	defer cancel()
	unlock, err := c.options.Store.Lock(ctx, a.key)
	if err != nil {
		return nil, err
	}
	err = a.keep(ctx, g)
	unlock()
	if err == nil && c.options.SignedIn != nil {
		c.options.SignedIn(a.key.Resource, a.key.Principal)
	}
	return g, err
}
