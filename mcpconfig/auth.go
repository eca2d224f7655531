package mcpconfig

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Auth is how clients of indus serve say who they are, as a file has it in "auth".
type Auth struct {
	// Methods are the ways: "none", "keys", "jwt", "introspect". nil: those that the other fields are about.
	Methods []string
	// URL is the scheme and host by which clients reach it. "": as they write it in Host.
	URL string
	// Scopes are what a token must have; "{view}" stands for the view.
	Scopes []string
	// Issuers are the authorization servers whose signed tokens are good.
	Issuers []AuthServer
	// Introspection is the one that is asked about tokens. nil: none is.
	Introspection *AuthServer
	// File and Line are where it begins.
	File string
	Line int
	// Broken: it cannot be read, or the user's own file that may have it, and so nobody may be let in by it. A note says why.
	Broken bool
}

// AuthServer is an authorization server.
type AuthServer struct {
	// Issuer is its identifier, exactly as its tokens have it.
	Issuer string
	// Keys is where its keys are. "": where its metadata say.
	Keys string
	// Audience are values of aud that are good for every view. nil: aud must be the URL of the view.
	Audience []string
	// Algorithms may sign. nil: the usual ones.
	Algorithms []string
	// Claim names the principal. "": sub.
	Claim string
	// Apps: tokens that an application has for itself, without a person, are good too.
	Apps bool
	// Endpoint is where to ask about a token, as whom ClientID and ClientSecret say.
	Endpoint, ClientID string
	ClientSecret       interop.Secret
}

// Equal reports whether two say the same, wherever they are written.
func (a *Auth) Equal(b *Auth) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.File, x.Line, y.File, y.Line = "", 0, "", 0
	return reflect.DeepEqual(x, y)
}

// readAuth reads the member "auth". In it nothing is only noted: what cannot be read lets nobody in.
func (f *configFile) readAuth(m *hujson.ObjectMember) {
	if f.scope == Project || !f.approved { // who trusts its servers has not said that it opens the door
		f.notes = append(f.notes, f.noteAt(m.Name.StartOffset, `"auth" is not heeded: a project's file does not say who may connect`, "write it into a file of your own, or name this one with --mcp"))
		return
	}
	r := f.newReading("auth cannot be used: ", m.Name.StartOffset)
	out := &Auth{File: f.path}
	out.Line, _ = f.doc.Position(r.at)
	r.object("auth", &m.Value, true,
		member{"methods", storeIn(&out.Methods, r.methods)},
		member{"publicUrl", storeIn(&out.URL, r.value)},
		member{"scopes", storeIn(&out.Scopes, r.strings)},
		member{"issuers", func(field string, v *hujson.Value) {
			seen := map[string]bool{}
			out.Issuers = listOf(r, "a list of objects", field, v, func(where string, e *hujson.Value) AuthServer {
				one := r.authServer(where, e, "jwksUri", "algorithms")
				if seen[one.Issuer] {
					r.skip(e.StartOffset, where+" has the issuer of another", "make one of the two: audience may be a list")
				}
				seen[one.Issuer] = true
				return one
			})
		}},
		member{"introspection", func(field string, v *hujson.Value) {
			one := r.authServer(field, v, "endpoint", "clientId", "clientSecret")
			out.Introspection = &one
		}},
	)
	if len(r.wants) > 0 {
		r.skip(m.Name.StartOffset, "${file:…} and ${cmd:…} are not read here", "take a variable, ${NAME}")
	}
	out.Broken = r.State == Skipped
	f.auth = out
}

// methods are the ways in which clients say who they are.
func (r *reading) methods(field string, v *hujson.Value) []string {
	known := []string{"none", "keys", "jwt", "introspect"}
	ways := r.strings(field, v)
	for _, way := range ways {
		if !slices.Contains(known, way) {
			r.skip(v.StartOffset, "unknown method "+tree.Quote(way), choices(way, "there are none, keys, jwt and introspect", known))
		}
	}
	return ways
}

// authServer is one authorization server, with the fields that all have and some of its own.
func (r *reading) authServer(where string, v *hujson.Value, own ...string) (out AuthServer) {
	all := []member{
		{"issuer", storeIn(&out.Issuer, r.value)},
		{"audience", storeIn(&out.Audience, r.strings)},
		{"claim", storeIn(&out.Claim, r.value)},
		{"apps", func(_ string, v *hujson.Value) {
			if out.Apps = tree.Has(v, 't'); !tree.Has(v, 't', 'f') {
				r.skip(v.StartOffset, where+`.apps is neither true nor false`, "")
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
	r.object(where, v, true, all...)
	if tree.Has(v, '{') && out.Issuer == "" {
		r.skip(v.StartOffset, where+" has no issuer", "write it as its tokens have it in iss")
	}
	return out
}

// resolveAuth is the one that counts: of the file that goes first for servers. nil: there is none.
func resolveAuth(sources []*source) *Auth {
	var of []*source
	for _, s := range sources {
		if s.auth != nil {
			of = append(of, s)
		}
	}
	if of == nil {
		return nil
	}
	first := slices.MaxFunc(of, func(a, b *source) int { return a.group - b.group })
	for _, s := range of {
		if s != first && !s.auth.Broken { // of which a note says more
			s.notes = append(s.notes, Note{
				File: s.path, Line: s.auth.Line, Column: 1, Hint: "remove one of the two",
				Reason: fmt.Sprintf("auth: that at %s:%d takes precedence", first.path, first.auth.Line),
			})
		}
	}
	return first.auth
}
