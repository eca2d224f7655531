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
	// introspectionTTL is how long the answer about a token is cached. A revoked token stays valid for that time.
	introspectionTTL = time.Minute
	// maxConcurrent bounds the number of tokens that are checked at a time, because each made-up token causes a request.
	// Tokens that were valid within knownTime have as many places of their own.
	maxConcurrent = 64
	knownTime     = time.Hour
)

// IntrospectionOptions configures requests about tokens (RFC 7662).
type IntrospectionOptions struct {
	// Issuer is the authorization server's identifier. The names of its principals begin with it.
	Issuer string
	// Endpoint is the address of the introspection endpoint: https, or http on this machine.
	Endpoint string
	// ClientID and ClientSecret are sent in the Authorization header.
	ClientID     string
	ClientSecret func() string
	// Audience holds values of aud that are valid for every resource. If it is nil, aud must be the URL of the
	// resource.
	Audience []string
	// Claim names the claim with the principal. "" means sub.
	Claim string
	// Apps has the meaning of [Issuer.Apps].
	Apps bool
	// Client sends the requests, without following redirects. If it is nil, the default client does.
	Client *http.Client
}

// Introspection is a [Verifier] that asks the authorization server about each token, and again after a minute. If the
// server does not answer, the token is refused.
type Introspection struct {
	opts       IntrospectionOptions
	issuer     Issuer
	fetcher    fetcher
	valid      tokenCache[*Identity]
	invalid    tokenCache[error]    // separate, so that made-up tokens evict no others
	known      tokenCache[struct{}] // tokens that were valid
	flights    singleflight.Group
	slots      chan struct{}
	knownSlots chan struct{} // for known tokens
}

var _ Verifier = (*Introspection)(nil)

// NewIntrospection returns a verifier. It sends no request before a token arrives.
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
		opts: opts, fetcher: newFetcher(opts.Client),
		slots: make(chan struct{}, maxConcurrent), knownSlots: make(chan struct{}, maxConcurrent),
		issuer: Issuer{URL: opts.Issuer, Claim: cmp.Or(opts.Claim, "sub"), Audience: opts.Audience, Apps: opts.Apps},
	}, nil
}

// Verify never returns [ErrForeign]: put this verifier last.
func (i *Introspection) Verify(ctx context.Context, token string) (*Identity, error) {
	h := hashToken(token)
	if id, ok := i.valid.get(h); ok {
		return id, nil
	}
	if err, ok := i.invalid.get(h); ok {
		return nil, err
	}
	flight := i.flights.DoChan(string(h[:]), func() (any, error) { // also for requests that wait for the same answer
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchWait)
		defer cancel()
		return i.introspect(ctx, h, token)
	})
	select {
	case outcome := <-flight:
		id, _ := outcome.Val.(*Identity)
		return id, outcome.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (i *Introspection) introspect(ctx context.Context, h tokenHash, token string) (*Identity, error) {
	slots := i.slots
	if _, ok := i.known.get(h); ok {
		slots = i.knownSlots
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	default:
		return nil, ErrBusy
	}
	until := time.Now().Add(introspectionTTL)
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
	if err != nil {
		i.invalid.put(h, err, until)
		return nil, err
	}
	if !id.Expires.IsZero() && id.Expires.Before(until) {
		until = id.Expires
	}
	i.valid.put(h, id, until)
	i.known.put(h, struct{}{}, time.Now().Add(knownTime))
	return id, nil
}

// identity returns the identity that the answer about a token describes.
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
