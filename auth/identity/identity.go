package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// Identity is the authenticated sender of a request with its rights. Callers that receive an Identity must not change
// it.
type Identity struct {
	// Principal is the sender: "key:ID" or "user:NAME" for an API key, and "token:…" for a plain token. For a token of
	// an authorization server, it is the issuer, "#" and the escaped subject. Principals of different kinds are never
	// equal.
	Principal toolbox.Principal
	// Scopes holds the granted scopes (RFC 6749, section 3.3). Nil means that scopes do not limit the identity, as for
	// an API key.
	Scopes []string
	// Groups holds the groups that the identity is in, sorted, for policies. An API key has the groups of its Key. A
	// token of an authorization server has the values of its claim groups as they are. It also has "role:NAME" for each
	// role and "scope:NAME" for each scope. Roles are in the claim roles, and in realm_access.roles of Keycloak. A plain
	// token has no groups.
	Groups []string
	// Views holds the names of the resources that it may use. Nil means all.
	Views []string
	// Audience holds the resources that the token was issued for, as URLs (RFC 8707). Nil means any.
	Audience []string
	// Expires is the time at which it expires. Zero means never.
	Expires time.Time
}

// Verifier verifies tokens of one kind. Its method may be called from any goroutine.
type Verifier interface {
	// Verify returns the identity of a bearer token. Its error is or wraps [ErrForeign] if another verifier may know
	// the token, and [ErrInvalid] if no verifier does. Any other error means that the token cannot be checked now. No
	// error contains the token.
	Verify(ctx context.Context, token string) (*Identity, error)
}

var (
	// ErrForeign means that the token is of a kind that the verifier does not know.
	ErrForeign = errors.New("a token of another kind")
	// ErrInvalid means that a token is refused: it is altered, expired, revoked, or for another purpose.
	ErrInvalid = errors.New("the token is not valid")
	// ErrBusy means that too many tokens are being checked.
	ErrBusy = errors.New("too many tokens are being checked")
)

// invalidf returns ErrInvalid with a reason for logs.
func invalidf(format string, a ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, a...)...)
}

// invalidReason is an ErrInvalid with a reason that the sender of the token may see too. Apart from this reason the
// token was valid, so that the text helps no attacker.
type invalidReason struct{ reason string }

func (t *invalidReason) Error() string { return ErrInvalid.Error() + ": " + t.reason }

func (t *invalidReason) Unwrap() error { return ErrInvalid }

// Refusal describes how a request is refused.
type Refusal struct {
	// Status is 401, 403 or 503.
	Status int
	// Header has the challenge (RFC 6750, section 3), or Retry-After.
	Header http.Header
	// Reason is the text for the sender of the request.
	Reason string
	// Err is the cause, for logs. Nil means that there is none.
	Err error
}

func (r *Refusal) Error() string {
	if r.Err != nil {
		return r.Reason + ": " + r.Err.Error()
	}
	return r.Reason
}

func (r *Refusal) Unwrap() error { return r.Err }

// Refuse returns the response. Package host calls it on an error of its Options.Authenticate.
func (r *Refusal) Refuse() (status int, header http.Header, reason string) {
	return r.Status, r.Header, r.Reason
}

// permits reports whether the identity may use the resource of this name.
func (id *Identity) permits(view string) bool {
	return id.Views == nil || slices.Contains(id.Views, view)
}

// issuedFor reports whether the audience contains a resource. A slash at the end makes no difference.
func (id *Identity) issuedFor(resource string) bool {
	if id.Audience == nil {
		return true
	}
	resource = strings.TrimSuffix(resource, "/")
	return resource != "" && slices.ContainsFunc(id.Audience, func(audience string) bool {
		return strings.TrimSuffix(audience, "/") == resource
	})
}

// granted reports whether the identity has all required scopes. Clients of Entra request a scope with the address of
// the API (api://API/NAME). A token for that API has only the name.
func (id *Identity) granted(required []string) bool {
	return id.Scopes == nil || !slices.ContainsFunc(required, func(s string) bool {
		name := s[strings.LastIndex(s, "/")+1:]
		return !slices.Contains(id.Scopes, s) && !(strings.HasPrefix(s, "api://") && slices.Contains(id.Scopes, name))
	})
}
