package oauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/secret"
)

const (
	maxToken = 16 << 10 // bytes; few servers accept longer headers
	// renewBefore is how long before its expiry a token is renewed. If half of its life is less, that is used. Servers
	// count whole seconds, and a request takes time on its way.
	renewBefore = time.Minute
	longestLife = 10 * 365 * 24 * time.Hour // a longer life does not fit a time
	// refusedTime is how long a refused refresh token is not used. The refusal may have been a mistake.
	refusedTime = 5 * time.Minute
)

// grant holds the tokens that an authorization server granted to a principal for a resource.
type grant struct {
	Resource   string `json:"resource"` // its identifier, as the authorization server knows it
	Issuer     string `json:"issuer"`
	Token      string `json:"token_endpoint"`
	Revocation string `json:"revocation_endpoint,omitempty"`
	// Scopes are the granted scopes. Requested are all scopes that were ever requested and not refused, so that a sign-in
	// for more loses none (SEP-2350). Required are the scopes that the server required since.
	Scopes    []string  `json:"scopes,omitempty"`
	Requested []string  `json:"asked,omitempty"`
	Required  []string  `json:"wanted,omitempty"`
	Obtained  time.Time `json:"got"`
	Expiry    time.Time `json:"expiry,omitzero"` // zero: unknown
	// Useless is set if the server refused the token just after a renewal. It would refuse another one too.
	Useless bool `json:"useless,omitempty"`
	// Refused is the time at which the refresh token was last refused. It is zero if it was not refused since it was
	// granted.
	Refused time.Time `json:"refused,omitzero"`

	access, refresh secret.Value
	client          identity
}

// storedGrant is a grant in the form of the store.
type storedGrant struct {
	grant
	Access  string         `json:"access_token,omitempty"`
	Refresh string         `json:"refresh_token,omitempty"`
	Client  storedIdentity `json:"client"`
}

func (g *grant) encode() ([]byte, error) {
	return json.Marshal(storedGrant{*g, g.access.Reveal(), g.refresh.Reveal(), g.client.stored()})
}

func decodeGrant(b []byte) *grant {
	var s storedGrant
	if b == nil || json.Unmarshal(b, &s) != nil {
		return nil
	}
	s.access, s.refresh, s.client = secret.NewValue(s.Access), secret.NewValue(s.Refresh), s.Client.loaded()
	return &s.grant
}

// usable reports whether there is a token that has not expired.
func (g *grant) usable(now time.Time) bool {
	return g != nil && g.access != (secret.Value{}) && (g.Expiry.IsZero() || now.Before(g.Expiry))
}

// fresh reports whether the token need not be renewed yet.
func (g *grant) fresh(now time.Time) bool {
	return g.usable(now) && (g.Expiry.IsZero() || now.Add(min(renewBefore, g.Expiry.Sub(g.Obtained)/2)).Before(g.Expiry))
}

// renewable reports whether there is a refresh token that can be tried.
func (g *grant) renewable(now time.Time) bool {
	return g != nil && g.refresh != (secret.Value{}) && (g.Refused.IsZero() || now.Sub(g.Refused) >= refusedTime)
}

// renews reports whether there is a refresh token that is not known to be refused.
func (g *grant) renews(now time.Time) bool { return g.renewable(now) && g.Refused.IsZero() }

// tokenResponse is the response of RFC 6749 section 5.1. Some servers write numbers as strings.
type tokenResponse struct {
	Access  string          `json:"access_token"`
	Refresh string          `json:"refresh_token"`
	Type    string          `json:"token_type"`
	Expires json.RawMessage `json:"expires_in"`
	Scope   *string         `json:"scope"`

	sentAt time.Time // the time of the request; expires_in counts from some time after it
}

// requestToken sends a request to a token endpoint. Errors mask the secret values of the form, and the values in
// secrets.
func (c *Client) requestToken(
	ctx context.Context, w *web, endpoint, audience string, i identity, form url.Values, secrets ...string,
) (*tokenResponse, error) {
	header := http.Header{}
	if err := c.authenticate(i, audience, form, header); err != nil {
		return nil, &StepError{StepRegistration, endpoint, err}
	}
	secrets = append(secrets, i.secret.Reveal())
	secretFields := []string{
		"code", "code_verifier", "refresh_token", "assertion", "client_assertion", "subject_token",
	}
	for _, name := range secretFields {
		secrets = append(secrets, form.Get(name))
	}
	var a *tokenResponse
	post := func() error {
		a = &tokenResponse{sentAt: c.options.Now()}
		return w.post(ctx, endpoint, formType, []byte(form.Encode()), header, secrets, a)
	}
	err := post()
	if form.Has("resource") && refusesResource(err) {
		form.Del("resource")
		if again := post(); !hasErrorCode(again, "invalid_grant") { // a code may be spent now
			err = again
		}
	}
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return nil, &StepError{StepToken, endpoint, err}
	}
	return a, nil
}

// refusesResource reports whether a refusal may concern the resource indicator. Some servers refuse parameters that
// they do not know. Entra ID accepts either scopes or a resource, but not both.
func refusesResource(err error) bool {
	refused, ok := errors.AsType[*ServerError](err)
	return ok && (refused.Code == "invalid_request" || refused.Code == "invalid_target" ||
		strings.Contains(refused.Description, "AADSTS9010010"))
}

// hasErrorCode reports whether err is a refusal with one of the codes.
func hasErrorCode(err error, codes ...string) bool {
	refused, ok := errors.AsType[*ServerError](err)
	return ok && slices.Contains(codes, refused.Code)
}

// authenticate adds the client's credentials (RFC 6749 section 2.3, RFC 7523 section 2.2).
func (c *Client) authenticate(i identity, audience string, form url.Values, header http.Header) error {
	switch i.Method {
	case methodNone:
		form.Set("client_id", i.ID)
	case methodPost:
		form.Set("client_id", i.ID)
		form.Set("client_secret", i.secret.Reveal())
	case methodBasic:
		login := url.QueryEscape(i.ID) + ":" + url.QueryEscape(i.secret.Reveal())
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(login)))
	case methodJWT:
		if c.signer == nil {
			return errors.New("the client's key is no longer configured")
		}
		assertion, err := c.signer.assertion(i.ID, audience)
		if err != nil {
			return err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	default:
		return errors.New("the authorization server requires a method of client authentication that is not known: " +
			bareURL(i.Method))
	}
	return nil
}

func (a *tokenResponse) check() error {
	isUnfit := func(token string) bool {
		return len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	switch {
	case a.Access == "":
		return errors.New("the answer has no access token")
	case isUnfit(a.Access) || isUnfit(a.Refresh):
		return errors.New("the answer has a token that no header can carry")
	}
	return nil
}

// checkBearer returns an error if the token is not a bearer token (RFC 6750).
func (a *tokenResponse) checkBearer() error {
	if a.Type != "" && !strings.EqualFold(a.Type, "Bearer") {
		return errors.New("the answer has a token that is no bearer token")
	}
	return nil
}

func (a *tokenResponse) lifetime() time.Duration {
	var seconds float64
	if json.Unmarshal([]byte(strings.Trim(string(a.Expires), `"`)), &seconds) != nil || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, longestLife.Seconds()) * float64(time.Second))
}

// applyTo returns g with the values of the answer. requested are the scopes of the request.
func (a *tokenResponse) applyTo(g grant, requested []string) *grant {
	g.access, g.Obtained, g.Expiry = secret.NewValue(a.Access), a.sentAt, time.Time{}
	g.Useless, g.Refused = false, time.Time{}
	if lifetime := a.lifetime(); lifetime > 0 {
		g.Expiry = g.Obtained.Add(lifetime)
	}
	if a.Refresh != "" { // otherwise the last one stays (RFC 6749 section 6)
		g.refresh = secret.NewValue(a.Refresh)
	}
	g.Scopes = requested
	if a.Scope != nil {
		g.Scopes = scopesOf(*a.Scope)
	}
	g.Requested = union(g.Requested, requested)
	return &g
}
