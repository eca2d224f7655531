package oauth

import (
	"context"
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
	d, err := w.readResource(ctx, s.key.Resource, n.challenge)
	if err != nil {
		return nil, err
	}
	last := s.current.Load()
	if last == nil || !d.has(last.Issuer) {
		last = &grant{} // scopes of another authorization server do not count here
	}
	flow := &signInFlow{session: s, web: w, Discovery: d, last: last, need: n}
	if person && (c.options.Interact == nil && n.show == nil || n.noPerson) {
		return nil, flow.personNeeded(ctx)
	}
	var failures []error
	for _, issuer := range d.orderedServers(last.Issuer) {
		g, err := flow.signInAt(ctx, issuer)
		if refused, ok := errors.AsType[*ServerError](err); ok && refused.isScopeRefusal() {
			err = errors.Join(err, flow.saveRequired(ctx, nil)) // the former scopes can be granted again
		}
		step, ok := errors.AsType[*StepError](err)
		if !ok || ctx.Err() != nil || step.Step != StepServer && step.Step != StepRegistration {
			return g, err // may be nil; after a refusal by one server, no other is asked
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// isScopeRefusal reports whether other scopes may be granted.
func (e *ServerError) isScopeRefusal() bool {
	return e.Code == "invalid_scope" || e.Code == "access_denied"
}

// signInFlow is one sign-in.
type signInFlow struct {
	*session
	*Discovery
	web  *web
	last *grant // the former grant of one of the authorization servers
	need need

	withoutResource bool // the authorization endpoint refused the resource
}

// scopes returns the scopes to request (specification 2026-07-28, "Scope Selection Strategy", and SEP-2350).
func (a *signInFlow) scopes(as *authServer) []string {
	configured := a.client.options.Scopes
	switch {
	case len(configured) > 0:
	case len(a.need.challenge.scopes) > 0:
		configured = a.need.challenge.scopes
	default:
		configured = a.Scopes
	}
	scopes := union(a.last.Requested, configured, a.need.challenge.scopes, a.last.Required)
	person := a.client.options.Grant == AuthorizationCode
	if as != nil && person && slices.Contains(as.ScopesSupported, offlineAccess) {
		scopes = union(scopes, []string{offlineAccess}) // "Refresh Tokens"
	}
	return scopes
}

// personNeeded returns an error that a person is needed. The required scopes are stored for a later sign-in in another
// place.
func (a *signInFlow) personNeeded(ctx context.Context) error {
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
		needed.Err = errors.New("the granted scopes are not sufficient")
		if err := a.saveRequired(ctx, a.need.challenge.scopes); err != nil {
			return err
		}
	case a.last.Issuer != "":
		needed.Err = errors.New("the grant is no longer valid")
	}
	return needed
}

// saveRequired stores the scopes that the server requires, for the next sign-in. If scopes is nil, it deletes the
// stored scopes.
func (a *signInFlow) saveRequired(ctx context.Context, scopes []string) error {
	unlock, err := a.client.options.Store.Lock(ctx, a.key)
	if err != nil {
		return err
	}
	defer unlock()
	g, err := a.load(ctx)
	if err != nil || g == nil {
		return err
	}
	updated := *g
	updated.Required = union(g.Required, scopes)
	if scopes == nil {
		updated.Required = nil
	}
	if len(updated.Required) == len(g.Required) { // all are stored already, or there is no room
		return nil
	}
	return a.save(ctx, &updated)
}

// signInAt signs in at one authorization server.
func (a *signInFlow) signInAt(ctx context.Context, issuer string) (*grant, error) {
	as, err := a.web.readServer(ctx, issuer, a.Legacy)
	if err != nil {
		return nil, err
	}
	if err := a.client.confine(ctx, a.key.Resource, as.Issuer, false); err != nil {
		return nil, err
	}
	if a.client.options.Grant == AuthorizationCode {
		return a.grantByPerson(ctx, as)
	}
	return a.grantByMachine(ctx, as)
}

// grantByPerson runs the authorization code grant with PKCE (OAuth 2.1 section 4.1).
func (a *signInFlow) grantByPerson(ctx context.Context, as *authServer) (g *grant, err error) {
	if !slices.Contains(as.CodeChallengeMethodsSupported, "S256") || as.AuthorizationEndpoint == "" {
		return nil, &StepError{StepServer, as.Issuer, errors.New("it does not support authorization codes with PKCE (S256)")}
	}
	if as.assumed && a.need.openServer {
		return nil, ErrNoOAuth
	}
	interact, registration := a.interaction(as)
	registered, err := a.client.registration(ctx, registration)
	if err != nil {
		return nil, err
	}
	redirection, err := interact.Begin(ctx, registered.Redirect, a.client.callbackSuffix(as))
	if err != nil {
		return nil, &StepError{StepAuthorization, "", err}
	}
	defer func() {
		if page, ok := redirection.(interface{ finish(error) }); ok {
			page.finish(err)
		}
		_ = redirection.Close()
	}()
	i, err := a.client.identify(ctx, a.web, as, redirection.URI())
	if err != nil && as.assumed {
		err = fmt.Errorf("%w, and none of before 2025-06-18 either: %w", ErrNoOAuth, err)
	}
	if err != nil {
		return nil, &StepError{StepRegistration, as.Issuer, err}
	}
	defer func() { // even if the caller has gone
		if i.isDiscarded(err) || i.Dynamic && i.ID == registered.ID && errors.As(err, new(*unansweredError)) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
			defer cancel()
			err = errors.Join(err, a.client.deleteRegistration(ctx, as.Issuer, i.Redirect, i.ID))
		}
	}()
	scopes, verifier := a.scopes(as), oauth2.GenerateVerifier()
	code, err := a.requestCode(ctx, as, i, redirection, scopes, verifier)
	if a.need.answered != nil {
		a.need.answered()
	}
	if err != nil {
		return nil, &StepError{StepAuthorization, as.Issuer, err}
	}
	form := formOf(
		"grant_type", "authorization_code", "code", code,
		"redirect_uri", redirection.URI(), "code_verifier", verifier,
	)
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
		flow := &siteSignIn{site: o.Site, principal: a.key.Principal, resource: a.key.Resource, issuer: as.Issuer, show: show}
		return flow, registrationKey(as.Issuer, flow.URI())
	}
	open := func(_ context.Context, authorize string) error { show(authorize); return nil }
	return &Loopback{Redirect: o.Redirect, Open: open}, registrationKey(as.Issuer, "")
}

// requestCode asks the person to authorize. It checks the answer before any part of it is used.
func (a *signInFlow) requestCode(
	ctx context.Context, as *authServer, i identity, redirection Redirection, scopes []string, verifier string,
) (string, error) {
	u, err := url.Parse(as.AuthorizationEndpoint)
	if err != nil {
		return "", err
	}
	state, query := a.client.options.Site.newID(), u.Query()
	query.Del("scope")
	maps.Copy(query, formOf(
		"response_type", "code", "client_id", i.ID, "redirect_uri", redirection.URI(), "state", state, "resource", a.Resource,
		"code_challenge", oauth2.S256ChallengeFromVerifier(verifier), "code_challenge_method", "S256",
		"scope", strings.Join(scopes, " "),
	))
	if slices.Contains(scopes, offlineAccess) {
		query.Set("prompt", "consent") // otherwise it is ignored (OpenID Connect Core section 11)
	}
	ask := redirection.Ask
	for {
		u.RawQuery = query.Encode()
		escapeForShell(u)
		answer, err := ask(ctx, u.String())
		if err != nil {
			if page, ok := redirection.(*siteSignIn); ok && !page.isConfirmed() {
				return "", err // no browser was sent there
			}
			return "", &unansweredError{err}
		}
		code, err := checkAnswer(answer, as, state)
		if !query.Has("resource") || !refusesResource(err) {
			return code, err
		}
		query.Del("resource")
		a.withoutResource = true
		if page, ok := redirection.(interface {
			askAgain(context.Context, string) (url.Values, error)
		}); ok {
			ask = page.askAgain
		}
	}
}

// escapeForShell leaves no character in an address that is special in a shell. Browsers are often opened by a
// script, on Windows by one of PowerShell (CVE-2025-6514). The query has no such character, and the host has none
// either: see reach.check.
func escapeForShell(u *url.URL) {
	escaper := strings.NewReplacer(
		"$", "%24", "&", "%26", "'", "%27", "(", "%28", ")", "%29", "*", "%2A", ";", "%3B", "!", "%21",
	)
	u.RawPath = escaper.Replace(u.EscapedPath())
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
		return "", errors.New("the answer has no issuer, although this authorization server sends one")
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
func (a *signInFlow) exchange(
	ctx context.Context, as *authServer, i identity, form url.Values, scopes []string,
) (*grant, error) {
	c := a.client
	if err := c.confine(ctx, a.key.Resource, as.Issuer, true); err != nil {
		return nil, err
	}
	if !a.withoutResource {
		form.Set("resource", a.Resource)
	}
	answer, err := c.requestToken(ctx, a.web, as.TokenEndpoint, as.Issuer, i, form)
	if err != nil {
		return nil, err
	}
	if err := answer.checkBearer(); err != nil {
		return nil, &StepError{StepToken, as.TokenEndpoint, err}
	}
	g := answer.applyTo(grant{
		Resource: a.Resource, Issuer: as.Issuer, Token: as.TokenEndpoint, Revocation: as.RevocationEndpoint,
		Requested: a.last.Requested, client: i,
	}, scopes)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime) // a granted token is stored in any case
	defer cancel()
	unlock, err := c.options.Store.Lock(ctx, a.key)
	if err != nil {
		return nil, err
	}
	err = a.save(ctx, g)
	unlock()
	if err == nil && c.options.SignedIn != nil {
		c.options.SignedIn(a.key.Resource, a.key.Principal)
	}
	return g, err
}
