package oauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/text"
)

// SignInError is returned if a request needs a person to sign in, and no person can be asked now. A [Client.Transport]
// returns it at once if Options.Interact is nil.
type SignInError struct {
	Resource  string   // the server's URL
	Issuer    string   // the authorization server; "" if it is unknown
	Principal string   // the principal that signs in; "" is the user of this program
	Scopes    []string // the scopes that will be requested; nil: the authorization server's default
	Err       error    // why the present grant is not enough; nil if there is none
}

func (e *SignInError) Error() string {
	s := "a sign-in is needed"
	if e.Issuer != "" {
		s += " at " + bareURL(e.Issuer)
	}
	if len(e.Scopes) > 0 {
		s += " for " + text.Clip(strings.Join(e.Scopes, " "), maxShown)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *SignInError) Unwrap() error { return e.Err }

// SignIn returns the server's URL and the principal. Packages that do not import this one recognize the error by this
// method.
func (e *SignInError) SignIn() (resource, principal string) { return e.Resource, e.Principal }

// Step is a step of a sign-in.
type Step string

// The steps, in their order.
const (
	StepResource      Step = "protected resource metadata"   // RFC 9728
	StepServer        Step = "authorization server metadata" // RFC 8414, OpenID Connect Discovery 1.0
	StepRegistration  Step = "client registration"           // RFC 7591, or a replacement for it
	StepAuthorization Step = "authorization"                 // RFC 6749 section 4.1.1: the person's part
	StepToken         Step = "token request"                 // RFC 6749 section 3.2
)

// StepError is the failure of a step.
type StepError struct {
	Step Step
	URL  string // of the server; "" if no server was asked
	Err  error
}

func (e *StepError) Error() string {
	if e.URL == "" {
		return string(e.Step) + ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s: %s: %s", e.Step, bareURL(e.URL), e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// Unreachable reports whether URL does not answer, or answers that it cannot do so now.
func (e *StepError) Unreachable() bool { return isUnreachable(e.Err) }

// Refused reports whether URL refuses the request. If it neither refuses nor is unreachable, its answer cannot be used.
func (e *StepError) Refused() bool { return isRefused(e.Err) }

// Redirects reports whether URL redirects the request to an address that is not asked.
func (e *StepError) Redirects() bool { return errors.As(e.Err, new(*redirectError)) }

// ServerError is an authorization server's refusal (RFC 6749 sections 4.1.2.1 and 5.2).
type ServerError struct {
	Code        string // "invalid_grant"; "" if there is none
	Description string // safe to print, without the secrets that were sent; "" if there is none
	Status      int    // of HTTP; 0 for an authorization response
}

func (e *ServerError) Error() string {
	parts := slices.DeleteFunc([]string{e.Code, e.Description}, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return fmt.Sprintf("HTTP %d", e.Status)
	}
	return strings.Join(parts, ": ")
}

// maxShown bounds text of servers that is shown, in bytes.
const maxShown = 300

// bareURL returns a URL without user, query and fragment, which may hold secrets.
func bareURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "<unreadable URL>"
	}
	return text.Clip((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), maxShown)
}

// The answers of authorization servers have the effects below. An answer occurs in the redirect of a browser, or in the
// response to a code, a refresh token, client credentials, an exchange or a revocation.
//
//	answer                                     is            the sign-in                              the registration
//	2xx with "error", 4xx but 408 and 429      refused       ends with its access token               stays
//	... invalid_client, unauthorized_client    refused       ends with its access token               is discarded
//	no answer, 408, 429, 5xx, no JSON          unreachable   stays; discovery is read again           stays
//	3xx                                        neither       stays; discovery is read again           stays
//	404, 405, 410 without "error"              refused       discovery is read again, then as above   stays
//
// A registration is discarded only if this program made it. A sign-out discards it too. It is also discarded if a
// person begins a sign-in with an older registration and never comes back: the authorization server may have shown an
// error. A refresh token that is refused is kept, and tried again after [refusedTime].

// statusError is an HTTP status without an OAuth error.
type statusError struct{ status int }

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.status, http.StatusText(e.status)))
}

// redirectError is a redirect that is not followed.
type redirectError struct {
	to        string // without its query
	hasSecret bool   // the request has a secret, or asks for one
}

func (e *redirectError) Error() string {
	if e.hasSecret {
		return "it redirects to " + e.to + ", which is not followed: a secret would go there"
	}
	return "it redirects to " + e.to + ", which is not followed: another origin must not speak for it"
}

// errNoDocument is a 2xx without JSON. Some web servers answer every path with a page.
var errNoDocument = errors.New("the answer is no JSON document")

// isAbsent reports whether there is no document, so that another place may have it.
func isAbsent(err error) bool {
	return errors.Is(err, errNoDocument) || statusOf(err)/100 == 4
}

// statusOf returns the HTTP status of an answer without an OAuth error. It is 0 for other errors.
func statusOf(err error) int {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.status
	}
	return 0
}

// isRefused reports whether an authorization server refused the request.
func isRefused(err error) bool {
	status := statusOf(err)
	if refused, ok := errors.AsType[*ServerError](err); ok {
		status = refused.Status
		if status/100 == 2 || status == 0 {
			return true
		}
	}
	return status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests
}

// isUnreachable reports whether there is no answer, or an answer that does not decide the request.
func isUnreachable(err error) bool {
	_, unanswered := errors.AsType[*networkError](err)
	_, status := errors.AsType[*statusError](err)
	_, server := errors.AsType[*ServerError](err)
	return unanswered || (status || server) && !isRefused(err)
}

// mayHaveMoved reports whether the metadata may name another token endpoint after this answer.
func mayHaveMoved(err error) bool {
	switch statusOf(err) {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return true
	}
	return err != nil && !isRefused(err)
}

// isDiscarded reports whether the authorization server no longer knows the registration.
func (i identity) isDiscarded(err error) bool {
	return i.Dynamic && hasErrorCode(err, "invalid_client", "unauthorized_client")
}

// refusal returns the error in an answer. That is the error of RFC 6749 section 5.2, which some servers send with
// status 200, or else the status.
func refusal(status int, body []byte, secrets []string) error {
	var answer struct {
		Error       any `json:"error"`
		Description any `json:"error_description"`
	}
	_ = json.Unmarshal(body, &answer)
	code, _ := answer.Error.(string)
	description, _ := answer.Description.(string)
	switch {
	case status/100 == 2 && code == "":
		return nil
	case code == "" && description == "":
		return &statusError{status}
	}
	return newServerError(status, code, description, secrets)
}

func newServerError(status int, code, description string, secrets []string) *ServerError {
	mask := secret.New(secrets...)
	clean := func(s string) string { return protocol.Printable(mask.Mask(s[:min(len(s), 8*maxShown)]), maxShown) }
	return &ServerError{Code: clean(code), Description: clean(description), Status: status}
}
