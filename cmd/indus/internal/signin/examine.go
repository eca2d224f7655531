package signin

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/interop/config"
)

// Finding is the result of one step of a sign-in.
type Finding struct {
	Step           string
	OK             bool
	Detail, Advice string
}

// stepAdvice maps steps to the advice for their failure.
var stepAdvice = map[oauth.Step]string{
	oauth.StepResource: `the server's sign-in metadata cannot be used: its operator must correct them; or ` +
		`get a token, and write "headers": {"Authorization": "Bearer ${TOKEN}"}`,
	oauth.StepServer: "the authorization server cannot be used: can it be reached from here, and does it support " +
		"MCP (metadata, PKCE)?",
	oauth.StepRegistration: `register indus there by hand, with the redirect address http://127.0.0.1:PORT/callback, ` +
		`and write "oauth": {"clientId": "…", "redirectPort": PORT}; another address of this machine is "redirectUri"`,
	oauth.StepAuthorization: "sign in again, and read the page in the browser: indus mcp login SERVER",
	oauth.StepToken: `the authorization server rejects the request: check "clientId" and "clientSecret", ` +
		`or sign in again: indus mcp login SERVER`,
}

// Advice returns the advice for an error of a sign-in. For other errors it returns "".
func Advice(err error, server string) string {
	step, ok := errors.AsType[*oauth.StepError](err)
	switch {
	case errors.Is(err, oauth.ErrOtherIssuer):
		return `the server names another authorization server than before; if its operator ` +
			`confirms the change, write the new one as "issuer" into "oauth" of the entry`
	case errors.Is(err, oauth.ErrNoOAuth):
		return `if it requires a key, write "headers": {"Authorization": "Bearer ${TOKEN}"}, or the header that its ` +
			`documentation names`
	case !ok:
		return ""
	case step.Redirects():
		return "the operator of the server must name the final address in its metadata, or serve it without a redirect"
	case step.Unreachable():
		return "the server does not answer: is it running, and can it be reached from here?"
	case step.Step == oauth.StepToken && !step.Refused():
		return "the answer of the authorization server is no token that indus can use: report this to its operator"
	}
	return strings.ReplaceAll(stepAdvice[step.Step], "SERVER", server)
}

// Examine returns the results of the steps of a server's sign-in. If failed is nil, the server works.
func (t *Tokens) Examine(ctx context.Context, s config.Server, failed error) []Finding {
	address, ok := Address(s)
	if !ok {
		return nil
	}
	status, err := t.Status(ctx, s, "")
	if err != nil && failed == nil {
		return nil // the server needs no sign-in
	}
	if err != nil {
		return []Finding{{
			"sign-in", false, err.Error(), "correct the file of the sign-ins, or move it away and sign in again",
		}}
	}
	needed, wantsSignIn := errors.AsType[*oauth.SignInError](failed)
	step, stepFailed := errors.AsType[*oauth.StepError](failed)
	switch {
	case failed == nil:
		return t.storedFindings(ctx, s, status)
	case stepFailed:
		return []Finding{{string(step.Step), false, step.Error(), Advice(failed, s.ID)}}
	case !wantsSignIn:
		return nil
	}
	found := t.discoverFindings(ctx, s, address)
	if len(found) > 0 && !found[len(found)-1].OK {
		return found
	}
	return append(found, Finding{
		string(oauth.StepAuthorization), false, needed.Error(), "sign in: indus mcp login " + s.ID,
	})
}

// storedFindings returns the stored sign-ins for a server: of the local user, and of callers.
func (t *Tokens) storedFindings(ctx context.Context, s config.Server, own oauth.Status) (out []Finding) {
	if own.SignedIn {
		out = append(out, Finding{"sign-in", true, Describe(own), ""})
	}
	callers, err := t.Principals(ctx, s)
	if err != nil {
		return append(out, Finding{"sign-in", false, err.Error(), ""})
	}
	for _, one := range callers {
		f := Finding{"sign-in", true, one.Principal + ": " + Describe(one.Status), ""}
		if !one.SignedIn {
			f.Advice = "indus mcp login " + s.ID + " --as " + one.Principal
		}
		out = append(out, f)
	}
	return out
}

// discoverFindings returns the steps that need no person.
func (t *Tokens) discoverFindings(ctx context.Context, s config.Server, address string) (out []Finding) {
	c, err := t.client(s)
	if err != nil {
		return []Finding{{"sign-in", false, err.Error(), `correct "oauth" in the entry`}}
	}
	d, err := c.Discover(ctx, address)
	if d != nil {
		detail := "authorization servers: " + strings.Join(d.Servers, ", ")
		if d.Legacy {
			detail = "the server has none, as before 2025-06-18: its own origin is taken for the authorization server"
		}
		out = append(out, Finding{string(oauth.StepResource), true, detail, ""})
	}
	if step, ok := errors.AsType[*oauth.StepError](err); ok {
		return append(out, Finding{string(step.Step), false, err.Error(), Advice(err, s.ID)})
	}
	if err != nil {
		return append(out, Finding{"sign-in", false, err.Error(), ""})
	}
	return append(out, Finding{string(oauth.StepServer), true, d.Issuer, ""})
}

// Describe returns a sign-in in a few words.
func Describe(st oauth.Status) string {
	parts := []string{"signed in at " + st.Issuer}
	if len(st.Scopes) > 0 {
		parts = append(parts, "for "+strings.Join(st.Scopes, " "))
	}
	return strings.Join(append(parts, Until(st)), ", ")
}

// Until returns how long a sign-in is valid.
func Until(st oauth.Status) string {
	switch {
	case !st.SignedIn:
		return "no longer good"
	case st.Renews:
		return "renewed by itself"
	case st.Expiry.IsZero():
		return "until it is refused"
	}
	return "until " + st.Expiry.Local().Format(timeFormat)
}

const timeFormat = "2006-01-02 15:04"

// Report is a sign-in in the output of --json.
type Report struct {
	Principal string    `json:"principal,omitempty"` // absent for the local user
	Issuer    string    `json:"issuer"`
	Scopes    []string  `json:"scopes,omitempty"`
	Until     time.Time `json:"until,omitzero"` // expiry of the present token; absent if unknown
	Renews    bool      `json:"renews"`         // without a person, after the expiry
}

// ReportOf returns the report on a sign-in. If there is no sign-in, it returns nil.
func ReportOf(principal string, st oauth.Status) *Report {
	if !st.SignedIn {
		return nil
	}
	return &Report{Principal: principal, Issuer: st.Issuer, Scopes: st.Scopes, Until: st.Expiry, Renews: st.Renews}
}
