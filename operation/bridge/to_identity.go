package bridge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
)

// ErrNobody is the error of an [Identities] for a token or a principal that it does not know.
var ErrNobody = errors.New("nobody is known by that name")

// Identities says who callers are: a list of tokens, an authorization server, a directory.
//
// Users may call all methods from any goroutine.
type Identities interface {
	// Authenticate is the principal whose bearer token it is; "" is refused, as that is
	// the local user. Sessions belong to principals: two tokens that grant
	// different things are two principals. The error is ErrNobody, or one that is not
	// shown to whoever sent the token, except for an [*interop.HTTPError] in its chain.
	Authenticate(ctx context.Context, token operation.Secret) (toolbox.Principal, error)
	// Identity is who a principal is to operations, and with which rights. It is asked
	// before every search and call, so that rights that are taken away are gone at once.
	// Its Principal may be another name, which several principals of the host share.
	Identity(ctx context.Context, p toolbox.Principal) (operation.Identity, error)
}

// maxToken bounds a bearer token.
const maxToken = 16 << 10

// Bearer is for host.Options.Authenticate: every request has to carry a bearer token that ids
// knows (RFC 6750), in its Authorization header and nowhere else.
func Bearer(ids Identities) func(*http.Request) (toolbox.Principal, error) {
	return func(r *http.Request) (toolbox.Principal, error) {
		headers := r.Header.Values("Authorization")
		if len(headers) == 0 {
			return "", unauthorized("Bearer", "a bearer token is needed")
		}
		scheme, token, _ := strings.Cut(headers[0], " ")
		if token = strings.Trim(token, " "); len(headers) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
			return "", unauthorized(`Bearer error="invalid_request"`, "a bearer token is needed")
		}
		p, err := ids.Authenticate(r.Context(), operation.NewSecret(token))
		switch {
		case err == nil && p != "":
			return p, nil
		case err == nil || errors.Is(err, ErrNobody):
			return "", unauthorized(`Bearer error="invalid_token"`, "the bearer token is not valid")
		}
		if own, ok := errors.AsType[*interop.HTTPError](err); ok {
			return "", own
		}
		return "", &interop.HTTPError{Status: http.StatusServiceUnavailable, Body: "bearer tokens cannot be checked now"}
	}
}

func unauthorized(how, body string) error {
	return &interop.HTTPError{
		Status: http.StatusUnauthorized, Body: body,
		Header: http.Header{"Www-Authenticate": {how}},
	}
}

// Tokens is an [Identities] of a fixed list. It keeps no token, only what it needs to know
// one again.
type Tokens struct {
	principals map[[sha256.Size]byte]toolbox.Principal
	identities map[toolbox.Principal]operation.Identity
}

var _ Identities = (*Tokens)(nil)

// NewTokens is the identities of tokens. Each has a principal; one that several tokens
// have has the same rights with each.
func NewTokens(list map[string]operation.Identity) (*Tokens, error) {
	t := &Tokens{map[[sha256.Size]byte]toolbox.Principal{}, map[toolbox.Principal]operation.Identity{}}
	for token, who := range list {
		p := toolbox.Principal(who.Principal)
		known, twice := t.identities[p]
		switch {
		case token == "":
			return nil, fmt.Errorf("bridge: the token of %q is empty", p)
		case p == "":
			return nil, errors.New("bridge: a token has no principal")
		case twice && !reflect.DeepEqual(known, who):
			return nil, fmt.Errorf("bridge: two tokens give %q different rights: let each have its own principal", p)
		}
		t.principals[sha256.Sum256([]byte(token))] = p
		t.identities[p] = who
	}
	return t, nil
}

// Authenticate implements [Identities].
func (t *Tokens) Authenticate(_ context.Context, token operation.Secret) (toolbox.Principal, error) {
	// The sum of a token says nothing of it to who measures how long this takes.
	if p, ok := t.principals[sha256.Sum256([]byte(token.Reveal()))]; ok {
		return p, nil
	}
	return "", ErrNobody
}

// Identity implements [Identities].
func (t *Tokens) Identity(_ context.Context, p toolbox.Principal) (operation.Identity, error) {
	if who, ok := t.identities[p]; ok {
		return who, nil
	}
	return operation.Identity{}, ErrNobody
}
