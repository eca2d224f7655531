package oauth

import (
	"context"
	"errors"
	"maps"
	"strings"
)

const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange" // RFC 8693
	grantBearer   = "urn:ietf:params:oauth:grant-type:jwt-bearer"     // RFC 7523
	typeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"         // SEP-990
)

// TypeAccessToken and TypeIDToken are types of tokens for exchange (RFC 8693 section 3).
const (
	TypeAccessToken = "urn:ietf:params:oauth:token-type:access_token"
	TypeIDToken     = "urn:ietf:params:oauth:token-type:id_token"
)

// Exchange configures the token of a principal that is exchanged for a token of a server.
type Exchange struct {
	// Subject returns a token of the principal and its type, such as [TypeIDToken].
	Subject func(ctx context.Context, principal string) (token Secret, kind string, err error)
	// Provider is the issuer of the token, if that is not the server's own authorization server. The issuer
	// exchanges the token for an assertion (ID-JAG), which the server's authorization server accepts
	// (enterprise-managed authorization, SEP-990). If it is "", the server's authorization server exchanges the
	// token itself (RFC 8693).
	Provider string
	// ClientID is the id of this program at Provider, and ClientSecret its secret. If it is "", Options.ClientID is
	// used.
	ClientID     string
	ClientSecret Secret
}

// grantByMachine gets a grant without a person: with the client's credentials (SEP-1046), or for a token of the
// principal.
func (a *signInFlow) grantByMachine(ctx context.Context, as *authServer) (*grant, error) {
	i, err := a.client.identify(ctx, a.web, as, "")
	if err != nil {
		return nil, &StepError{StepRegistration, as.Issuer, err}
	}
	scopes := a.scopes(as)
	scope := strings.Join(scopes, " ")
	if a.client.options.Grant == ClientCredentials {
		return a.exchange(ctx, as, i, formOf("grant_type", string(ClientCredentials), "scope", scope), scopes)
	}
	x := a.client.options.Exchange
	token, kind, err := x.Subject(ctx, a.key.Principal)
	if err != nil {
		return nil, err
	}
	form := formOf(
		"grant_type", grantExchange, "subject_token", token.Reveal(), "subject_token_type", kind, "scope", scope,
	)
	if x.Provider == "" {
		return a.exchange(ctx, as, i, form, scopes)
	}
	maps.Copy(form, formOf("requested_token_type", typeIDJAG, "audience", as.Issuer, "resource", a.Resource))
	w := a.client.webAt(reachLocal) // it is configured, and not named by the server
	provider, err := w.readServer(ctx, x.Provider, false)
	if err != nil {
		return nil, err
	}
	client := a.client.configured(provider)
	if x.ClientID != "" {
		client.ID, client.secret = x.ClientID, x.ClientSecret
		client.Method = methodNone
		if x.ClientSecret != (Secret{}) {
			client.Method = methodBasic
		}
	}
	assertion, err := a.client.requestToken(ctx, w, provider.TokenEndpoint, provider.Issuer, client, form)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(assertion.Type, "Bearer") {
		err := errors.New("the answer is no assertion, but a token to use")
		return nil, &StepError{StepToken, provider.TokenEndpoint, err}
	}
	return a.exchange(ctx, as, i, formOf("grant_type", grantBearer, "assertion", assertion.Access, "scope", scope), scopes)
}
