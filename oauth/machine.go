package oauth

import (
	"context"
	"errors"
	"strings"
)

const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange" // RFC 8693
	grantBearer   = "urn:ietf:params:oauth:grant-type:jwt-bearer"     // RFC 7523
	typeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"         // SEP-990
)

// TypeAccessToken and TypeIDToken are what tokens are called that are exchanged (RFC 8693 section 3).
const (
	TypeAccessToken = "urn:ietf:params:oauth:token-type:access_token"
	TypeIDToken     = "urn:ietf:params:oauth:token-type:id_token"
)

// Exchange says which token of a principal is exchanged for that of a server.
type Exchange struct {
	// Subject is a token of the principal and its type, such as [TypeIDToken].
	Subject func(ctx context.Context, who string) (token Secret, kind string, err error)
	// Provider is the issuer whose the token is, where that is not the server's own authorization
	// server: it exchanges the token for an assertion (ID-JAG), which that one takes
	// (enterprise-managed authorization, SEP-990). "": the server's own exchanges it (RFC 8693).
	Provider string
	// ClientID is what Provider calls this program, and ClientSecret its secret. "": as Options.ClientID.
	ClientID     string
	ClientSecret Secret
}

// byItself gets a grant without a person: with the client's credentials (SEP-1046), or for a token of the principal.
func (a *signInFlow) byItself(ctx context.Context, as *authServer) (*grant, error) {
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
	form := formOf("grant_type", grantExchange, "subject_token", token.Reveal(), "subject_token_type", kind, "scope", scope)
	if x.Provider == "" {
		return a.exchange(ctx, as, i, form, scopes)
	}
	for name, v := range formOf("requested_token_type", typeIDJAG, "audience", as.Issuer, "resource", a.Resource) {
		form[name] = v
	}
	w := &web{reachLocal, a.client.clients[reachLocal]} // it is configured, and not named by the server
	provider, err := w.server(ctx, x.Provider, false)
	if err != nil {
		return nil, err
	}
	at := a.client.configured(provider)
	if x.ClientID != "" {
		at.ID, at.secret = x.ClientID, x.ClientSecret
		if at.Method = methodNone; x.ClientSecret != (Secret{}) {
			at.Method = methodBasic
		}
	}
	assertion, err := a.client.requestToken(ctx, w, provider.TokenEndpoint, provider.Issuer, at, form)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(assertion.Type, "Bearer") {
		return nil, &StepError{StepToken, provider.TokenEndpoint, errors.New("the answer is no assertion, but a token to use")}
	}
	return a.exchange(ctx, as, i, formOf("grant_type", grantBearer, "assertion", assertion.Access, "scope", scope), scopes)
}
