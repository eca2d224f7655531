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

// SignInError says that a request needs a person to sign in, and that nobody can be asked now.
// It is what a [Client.Transport] returns at once, where Options.Interact is nil.
type SignInError struct {
	Resource  string   // the server's URL
	Issuer    string   // the authorization server; "" where it is not known
	Principal string   // whose sign-in it is; "" of who runs this program
	Scopes    []string // what will be asked for; nil: the authorization server's default
	Err       error    // why what was granted no longer serves; nil: nothing was
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

// SignIn is the server's URL, and whose sign-in it is. Packages that do not import this one recognise the error by it.
func (e *SignInError) SignIn() (resource, who string) { return e.Resource, e.Principal }

// Step is one of those that a sign-in consists of.
type Step string

// The steps, in their order.
const (
	StepResource      Step = "protected resource metadata"   // RFC 9728
	StepServer        Step = "authorization server metadata" // RFC 8414, OpenID Connect Discovery 1.0
	StepRegistration  Step = "client registration"           // RFC 7591, and what stands for it
	StepAuthorization Step = "authorization"                 // RFC 6749 section 4.1.1: what the person does
	StepToken         Step = "token request"                 // RFC 6749 section 3.2
)

// StepError says which step failed.
type StepError struct {
	Step Step
	URL  string // of whom; "" where nobody was asked
	Err  error
}

func (e *StepError) Error() string {
	if e.URL == "" {
		return string(e.Step) + ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s: %s: %s", e.Step, bareURL(e.URL), e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// Unreachable reports that URL does not answer, or answers that it cannot do so now. Else it refuses, or says what cannot be used.
func (e *StepError) Unreachable() bool { return isUnreachable(e.Err) }

// ServerError is an authorization server's refusal (RFC 6749 sections 4.1.2.1 and 5.2).
type ServerError struct {
	Code        string // "invalid_grant"; "" where it gave none
	Description string // made safe to print, without the secrets that were sent; "" where there is none
	Status      int    // of HTTP; 0 of an authorization response
}

func (e *ServerError) Error() string {
	said := slices.DeleteFunc([]string{e.Code, e.Description}, func(s string) bool { return s == "" })
	if len(said) == 0 {
		return fmt.Sprintf("HTTP %d", e.Status)
	}
	return strings.Join(said, ": ")
}

// maxShown is how much is shown of what others wrote, in bytes.
const maxShown = 300

// bareURL is a URL without user, query and fragment, which may hold secrets.
func bareURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "<unreadable URL>"
	}
	return text.Clip((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), maxShown)
}

// The answers of authorization servers, and what follows from each. An answer occurs in the redirect of a browser, and in
// the response to a code, a refresh token, client credentials, an exchange or a revocation.
//
//	answer                                     is            the sign-in                              the registration
//	2xx with "error", 4xx but 408 and 429      refused       ends with its access token               stays
//	... invalid_client, unauthorized_client    refused       ends with its access token               is discarded
//	no answer, 408, 429, 5xx, 3xx, no JSON     unreachable   stays; discovery is read again           stays
//	404, 405, 410 without "error"              refused       discovery is read again, then as above   stays
//
// A registration is discarded only if this program made it. It is discarded as well by a sign-out, and if a person who
// signs in with a registration of before never comes back: the authorization server may have shown them an error.
// A refresh token is kept when it is refused. It is tried again after [refusedTime].

// statusError is an HTTP status without an OAuth error.
type statusError struct{ status int }

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.status, http.StatusText(e.status)))
}

// errNoDocument is a 2xx without JSON: pages of the web answer to every path.
var errNoDocument = errors.New("the answer is no JSON document")

// isAbsent reports that there is no document, and that another place may have it.
func isAbsent(err error) bool {
	return errors.Is(err, errNoDocument) || statusOf(err)/100 == 4
}

// statusOf is the HTTP status of an answer without an OAuth error; 0 of other errors.
func statusOf(err error) int {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.status
	}
	return 0
}

// isRefused reports an answer by which an authorization server refuses what it was asked.
func isRefused(err error) bool {
	status := statusOf(err)
	if refused, ok := errors.AsType[*ServerError](err); ok {
		if status = refused.Status; status/100 == 2 || status == 0 {
			return true
		}
	}
	return status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests
}

// isUnreachable reports that there is no answer, or one that says nothing of what was asked.
func isUnreachable(err error) bool {
	_, silent := errors.AsType[*networkError](err)
	_, status := errors.AsType[*statusError](err)
	_, server := errors.AsType[*ServerError](err)
	return silent || (status || server) && !isRefused(err)
}

// mayHaveMoved reports an answer after which the metadata may name another token endpoint.
func mayHaveMoved(err error) bool {
	switch statusOf(err) {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return true
	}
	return err != nil && !isRefused(err)
}

// isDiscarded reports an answer by which an authorization server no longer knows the registration.
func (i identity) isDiscarded(err error) bool {
	refused, ok := errors.AsType[*ServerError](err)
	return ok && i.Dynamic && (refused.Code == "invalid_client" || refused.Code == "unauthorized_client")
}

// refusal is the error in an answer: that of RFC 6749 section 5.2, which some send with status 200, or the status.
func refusal(status int, body []byte, secrets []string) error {
	var said struct {
		Error       any `json:"error"`
		Description any `json:"error_description"`
	}
	_ = json.Unmarshal(body, &said)
	code, _ := said.Error.(string)
	description, _ := said.Description.(string)
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
	shown := func(s string) string { return protocol.Printable(mask.Mask(s[:min(len(s), 8*maxShown)]), maxShown) }
	return &ServerError{Code: shown(code), Description: shown(description), Status: status}
}
