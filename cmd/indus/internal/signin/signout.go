package signin

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/oauth"
)

// SignOut forgets the sign-in of who to a server. It reports whether there was one; the error may be of the
// authorization server alone, and then it is forgotten here all the same.
func (t *Tokens) SignOut(ctx context.Context, s interop.Server, k SignedIn) (had bool, err error) {
	if t.store == nil {
		return false, nil
	}
	s.OAuth.Account = cmp.Or(k.Account, s.OAuth.Account)
	c, err := t.client(s)
	if err != nil {
		return false, err
	}
	st, err := c.Status(ctx, k.Resource, k.Principal)
	if err != nil {
		return false, err
	}
	return st.Issuer != "", c.SignOut(ctx, k.Resource, k.Principal)
}

// ForgetRegistrations forgets as what this program is known to authorization servers.
func (t *Tokens) ForgetRegistrations(ctx context.Context) error {
	if t.store == nil {
		return nil
	}
	keys, err := t.store.Keys(ctx)
	for _, k := range keys {
		if k.Resource == "" {
			err = errors.Join(err, t.store.Delete(ctx, k))
		}
	}
	return err
}

// SignedIn is a sign-in that is kept.
type SignedIn struct {
	Resource, Principal, Account string
	oauth.Status
}

// All are the sign-ins that are kept.
func (t *Tokens) All(ctx context.Context) (out []SignedIn, err error) {
	if t.store == nil {
		return nil, nil
	}
	keys, err := t.store.Keys(ctx)
	for _, k := range keys {
		if k.Resource == "" || k.Client != "" {
			continue
		}
		value, err := t.store.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		out = append(out, SignedIn{k.Resource, k.Principal, k.Account, oauth.StatusOf(value)})
	}
	return out, err
}

// Principals are the sign-ins of callers to a server that is called with theirs; nil where it is not.
func (t *Tokens) Principals(ctx context.Context, s interop.Server) ([]SignedIn, error) {
	if s.Pool.Per != interop.PerPrincipal {
		return nil, nil
	}
	all, err := t.All(ctx)
	return slices.DeleteFunc(all, func(o SignedIn) bool { return o.Principal == "" || !o.IsOf(s) }), err
}

// IsOf reports a server whose sign-in it is. One that was kept before there were accounts is that of each row with its address.
func (o SignedIn) IsOf(s interop.Server) bool {
	address, ok := Address(s)
	own, err := oauth.Resource(address)
	return ok && err == nil && own == o.Resource && (o.Account == "" || o.Account == accountOf(s))
}

// IsNone reports an error of a server at which nobody signs in.
func IsNone(err error) bool { return errors.Is(err, oauth.ErrNoOAuth) }

// Wants asks a server whether it leads to a sign-in.
func (t *Tokens) Wants(ctx context.Context, s interop.Server) (bool, error) {
	address, _ := Address(s)
	c, err := t.client(s)
	if err != nil {
		return false, err
	}
	d, err := c.Discover(ctx, address)
	return err == nil && !(d.Legacy && d.Assumed), err
}
