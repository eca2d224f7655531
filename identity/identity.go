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

// Identity is who sends a request, and what they may do. It is not changed by who gets it.
type Identity struct {
	// Principal is who: "key:ID" or "user:NAME" of an API key, "token:…" of a plain token, and of an authorization
	// server's token its issuer, "#" and the escaped subject. No two kinds can have one in common.
	Principal toolbox.Principal
	// Scopes are what was granted (RFC 6749, section 3.3). nil: it is not bounded by scopes, as of an API key.
	Scopes []string
	// Views are the names of the resources that it is good for. nil: all.
	Views []string
	// Audience are the resources that it was issued for, as URLs (RFC 8707). nil: any.
	Audience []string
	// Expires is when it ends. Zero: never.
	Expires time.Time
}

// Verifier knows the tokens of one kind. Its method may be called from any goroutine.
type Verifier interface {
	// Verify says whose a bearer token is. Its error is or wraps [ErrForeign] where another
	// verifier may know it, and [ErrInvalid] where nobody does; any other means that nobody can say now. No error
	// contains the token.
	Verify(ctx context.Context, token string) (*Identity, error)
}

var (
	// ErrForeign means that a token is none of a verifier's.
	ErrForeign = errors.New("a token of another kind")
	// ErrInvalid means that a token is refused: altered, expired, revoked, or for somebody else.
	ErrInvalid = errors.New("the token is not valid")
	// ErrBusy means that too many tokens are being asked about.
	ErrBusy = errors.New("too many tokens are being checked")
)

// invalidf is ErrInvalid with its reason, which is for logs.
func invalidf(format string, a ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, a...)...)
}

// told is a reason of ErrInvalid that is for who sent the token, too: it was good in all else, so that nobody learns from it.
type told struct{ reason string }

func (t *told) Error() string { return ErrInvalid.Error() + ": " + t.reason }

func (t *told) Unwrap() error { return ErrInvalid }

// Refusal is how a request is refused.
type Refusal struct {
	// Status is 401, 403 or 503.
	Status int
	// Header has the challenge (RFC 6750, section 3), or Retry-After.
	Header http.Header
	// Reason is for who sent it.
	Reason string
	// Err is the cause, for logs. nil: there is none.
	Err error
}

func (r *Refusal) Error() string {
	if r.Err != nil {
		return r.Reason + ": " + r.Err.Error()
	}
	return r.Reason
}

func (r *Refusal) Unwrap() error { return r.Err }

// Refuse is how to answer: what package host asks of an error of its Options.Authenticate.
func (r *Refusal) Refuse() (status int, header http.Header, reason string) {
	return r.Status, r.Header, r.Reason
}

// permits reports a resource by its name.
func (id *Identity) permits(view string) bool {
	return id.Views == nil || slices.Contains(id.Views, view)
}

// issuedFor reports whether the audience has a resource; a slash at the end makes no difference.
func (id *Identity) issuedFor(resource string) bool {
	if id.Audience == nil {
		return true
	}
	resource = strings.TrimSuffix(resource, "/")
	return resource != "" && slices.ContainsFunc(id.Audience, func(a string) bool { return strings.TrimSuffix(a, "/") == resource })
}

// granted reports whether the scopes have all that are required. A scope that clients ask for with the address of an API in
// front, as Entra has it (api://API/NAME), stands in a token for that API by its name alone.
func (id *Identity) granted(required []string) bool {
	return id.Scopes == nil || !slices.ContainsFunc(required, func(s string) bool {
		name := s[strings.LastIndex(s, "/")+1:]
		return !slices.Contains(id.Scopes, s) && !(strings.HasPrefix(s, "api://") && slices.Contains(id.Scopes, name))
	})
}

type identityKey struct{}

// FromContext is the identity of a request that [Guard.Handler] has let in; nil where there is none.
func FromContext(ctx context.Context) *Identity {
	id, _ := ctx.Value(identityKey{}).(*Identity)
	return id
}
