package mcpconfig

import (
	"slices"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Auth holds how clients of indus serve authenticate: the member "auth" of a file. If it is Broken, no client may be
// admitted.
type Auth struct {
	Setting
	// Methods are the accepted methods: "none", "keys", "jwt", "introspect". If it is nil, the other fields decide.
	Methods []string
	// URL is the scheme and host under which clients reach the server. If it is "", the Host header of the request is
	// used.
	URL string
	// Scopes are the scopes that a token must have. "{view}" stands for the name of the view.
	Scopes []string
	// Issuers are the authorization servers that sign accepted tokens.
	Issuers []AuthServer
	// Introspection is the authorization server that checks tokens by introspection. If it is nil, there is none.
	Introspection *AuthServer
}

// AuthServer is an authorization server.
type AuthServer struct {
	// Issuer is its identifier, exactly as its tokens have it.
	Issuer string
	// Keys is the URL of its keys. If it is "", its metadata has the URL.
	Keys string
	// Audience holds values of aud that are accepted for every view. If it is nil, aud must be the URL of the view.
	Audience []string
	// Algorithms are the accepted signature algorithms. If it is nil, the usual algorithms are accepted.
	Algorithms []string
	// Claim is the claim that names the principal. If it is "", it is sub.
	Claim string
	// Apps accepts tokens that an application has for itself, without a person.
	Apps bool
	// Endpoint is the URL that checks tokens. ClientID and ClientSecret authenticate to it.
	Endpoint, ClientID string
	ClientSecret       config.Secret
}

// Equal reports whether a and b have the same settings. File and Line do not count.
func (a *Auth) Equal(b *Auth) bool { return equalSettings(a, b) }

// readAuth reads the member "auth". With a mistake in it, no client is admitted.
func readAuth(r *valuedRow, v *hujson.Value, out *Auth) {
	r.object("auth", v, true,
		member{"methods", storeIn(&out.Methods, r.methods)},
		member{"publicUrl", storeIn(&out.URL, r.value)},
		member{"scopes", storeIn(&out.Scopes, r.strings)},
		member{"issuers", storeIn(&out.Issuers, r.issuers)},
		member{"introspection", func(field string, v *hujson.Value) {
			out.Introspection = new(r.authServer(field, v, "endpoint", "clientId", "clientSecret"))
		}},
	)
}

// issuers reads a list of authorization servers, each of which has another issuer.
func (r *valuedRow) issuers(field string, v *hujson.Value) []AuthServer {
	seen := map[string]bool{}
	return listOf(&r.findings, "a list of objects", field, v, func(field string, e *hujson.Value) AuthServer {
		one := r.authServer(field, e, "jwksUri", "algorithms")
		if seen[one.Issuer] {
			r.skip(e.StartOffset, field+" has the issuer of another", "make one of the two: audience may be a list")
		}
		seen[one.Issuer] = true
		return one
	})
}

// methods reads a list of authentication methods.
func (r *valuedRow) methods(field string, v *hujson.Value) []string {
	known := []string{"none", "keys", "jwt", "introspect"}
	methods := r.strings(field, v)
	for _, method := range methods {
		if !slices.Contains(known, method) {
			r.skip(v.StartOffset, "unknown method "+tree.Quote(method),
				choices(method, "there are none, keys, jwt and introspect", known))
		}
	}
	return methods
}

// authServer reads one authorization server. It has the common fields and some of the others: the fields in own.
func (r *valuedRow) authServer(field string, v *hujson.Value, own ...string) (out AuthServer) {
	all := []member{
		{"issuer", storeIn(&out.Issuer, r.value)},
		{"audience", storeIn(&out.Audience, r.strings)},
		{"claim", storeIn(&out.Claim, r.value)},
		{"apps", func(_ string, v *hujson.Value) {
			out.Apps = tree.Has(v, 't')
			if !tree.Has(v, 't', 'f') {
				r.skip(v.StartOffset, field+`.apps is neither true nor false`, "")
			}
		}},
	}
	for _, m := range []member{
		{"jwksUri", storeIn(&out.Keys, r.value)},
		{"algorithms", storeIn(&out.Algorithms, r.strings)},
		{"endpoint", storeIn(&out.Endpoint, r.value)},
		{"clientId", storeIn(&out.ClientID, r.value)},
		{"clientSecret", storeIn(&out.ClientSecret, r.secret)},
	} {
		if slices.Contains(own, m.name) {
			all = append(all, m)
		}
	}
	r.object(field, v, true, all...)
	if tree.Has(v, '{') && out.Issuer == "" {
		r.skip(v.StartOffset, field+" has no issuer", "write it as its tokens have it in iss")
	}
	return out
}
