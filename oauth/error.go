package oauth

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

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
