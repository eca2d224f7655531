package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// introspectionRest is how long an answer about a token counts: one that was revoked is good for so long.
	introspectionRest = time.Minute
	// maxAsking bounds the tokens that are being asked about: whoever sends made-up ones makes us ask about each. Those
	// that were good within knownTime have as many places of their own.
	maxAsking = 64
	knownTime = time.Hour
)

// IntrospectionOptions say where to ask about tokens (RFC 7662), and who we are there.
type IntrospectionOptions struct {
	// Issuer is the authorization server's identifier, which begins the names of its principals.
	Issuer string
	// Endpoint is where to ask: https, or http on this machine.
	Endpoint string
	// ClientID and ClientSecret are sent in the Authorization header.
	ClientID     string
	ClientSecret func() string
	// Audience are values of aud that are good for every resource. nil: aud must be the URL of the resource.
	Audience []string
	// Claim names the principal. "": sub.
	Claim string
	// Apps: as [Issuer.Apps].
	Apps bool
	// Client asks, without following redirects. nil: the default one.
	Client *http.Client
}

// Introspection is a [Verifier] that asks the authorization server about each token, and again after a minute. Who does not
// answer lets nobody in.
type Introspection struct {
	opts    IntrospectionOptions
	issuer  Issuer
	fetcher fetcher
	good    tokenCache[*Identity]
	bad     tokenCache[error]    // apart, so that made-up tokens displace no others
	known   tokenCache[struct{}] // those that were good
	flights singleflight.Group
	asking  chan struct{}
	again   chan struct{} // about those that are known
}

var _ Verifier = (*Introspection)(nil)

// NewIntrospection asks nobody before a token comes.
func NewIntrospection(opts IntrospectionOptions) (*Introspection, error) {
	if err := checkAddress(opts.Issuer); err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	if err := checkAddress(opts.Endpoint); err != nil {
		return nil, fmt.Errorf("introspection endpoint: %w", err)
	}
	if opts.ClientID == "" || opts.ClientSecret == nil {
		return nil, errors.New("introspection needs a client id and its secret")
	}
	return &Introspection{
		opts: opts, fetcher: newFetcher(opts.Client), asking: make(chan struct{}, maxAsking), again: make(chan struct{}, maxAsking),
		issuer: Issuer{URL: opts.Issuer, Claim: cmp.Or(opts.Claim, "sub"), Audience: opts.Audience, Apps: opts.Apps},
	}, nil
}

// Verify knows all tokens: ask it last.
func (i *Introspection) Verify(ctx context.Context, token string) (*Identity, error) {
	h := hashOf(token)
	if id, ok := i.good.get(h); ok {
		return id, nil
	}
	if err, ok := i.bad.get(h); ok {
		return nil, err
	}
	flight := i.flights.DoChan(string(h[:]), func() (any, error) { // also for those who wait with us
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchWait)
		defer cancel()
		return i.ask(ctx, h, token)
	})
	select {
	case said := <-flight:
		id, _ := said.Val.(*Identity)
		return id, said.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (i *Introspection) ask(ctx context.Context, h tokenHash, token string) (*Identity, error) {
	asking := i.asking
	if _, ok := i.known.get(h); ok {
		asking = i.again
	}
	select {
	case asking <- struct{}{}:
		defer func() { <-asking }()
	default:
		return nil, ErrBusy
	}
	until := time.Now().Add(introspectionRest)
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, i.opts.Endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(i.opts.ClientID), url.QueryEscape(i.opts.ClientSecret())) // RFC 6749, section 2.3.1
	body, err := i.fetcher.do(r)
	if err != nil {
		return nil, fmt.Errorf("introspection: %w", err)
	}
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("introspection: %w", err)
	}
	id, err := i.identity(answer)
	switch {
	case err != nil:
		i.bad.put(h, err, until)
		return nil, err
	case id.Expires.IsZero() || until.Before(id.Expires):
	default:
		until = id.Expires
	}
	i.good.put(h, id, until)
	i.known.put(h, struct{}{}, time.Now().Add(knownTime))
	return id, nil
}

// identity is whose a token is by the answer about it.
func (i *Introspection) identity(answer map[string]any) (*Identity, error) {
	if active, _ := answer["active"].(bool); !active {
		return nil, invalidf("it is not active")
	}
	id, err := i.issuer.identity(answer)
	if err != nil {
		return nil, err
	}
	if iss, ok := answer["iss"]; ok && iss != i.issuer.URL {
		return nil, invalidf("it was issued by %.200q", fmt.Sprint(iss))
	}
	if _, ok := answer["exp"]; ok && !time.Now().Before(id.Expires) {
		return nil, invalidf("it has expired")
	}
	return id, nil
}
