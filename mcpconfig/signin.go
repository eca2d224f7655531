package mcpconfig

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// remoteKeys are those of a server at a URL alone.
func remoteKeys() []string {
	return []string{"headers", "oauth", "tls", "forwardHeaders", "authorization"}
}

// covered adds a text to what an approval is for.
func (r *reading) covered(field, name, text string) {
	r.written = append(r.written, writtenPart{field, name, text})
}

// oauth is how one signs in to the server: an object, or false where nobody does. What cannot be read gives
// the row up: a sign-in elsewhere, or as somebody else, is not what was meant.
func (r *reading) oauth() (o interop.OAuth) {
	v := r.fields["oauth"]
	switch {
	case v == nil:
		return o
	case tree.Has(v, 'f'):
		r.covered("oauth", "", "false")
		return interop.OAuth{Off: true}
	case !r.expect('{', "an object or false", "oauth", v):
		return o
	}
	known := []string{
		"clientId", "clientSecret", "clientMetadataUrl", "scopes", "redirectPort", "redirectUri", "account", "issuer", "grant", "privateKey", "privateKeyId",
		"subjectToken", "subjectTokenType", "identityProvider",
	}
	at := map[string]bool{}
	r.members("oauth", v, known, true, func(name string, v *hujson.Value) {
		at[name] = true
		field := "oauth." + name
		r.covered("oauth", name, v.String())
		switch name {
		case "clientId":
			o.ClientID = r.value(field, v)
		case "clientSecret":
			o.ClientSecret = r.secret(field, v)
		case "clientMetadataUrl":
			o.ClientMetadataURL = r.address(field, v)
		case "issuer":
			o.Issuer = r.address(field, v)
		case "scopes":
			o.Scopes = r.scopes(field, v)
		case "redirectPort":
			if port := r.port(field, v); port != 0 {
				o.RedirectURI = fmt.Sprintf("http://127.0.0.1:%d/callback", port)
			}
		case "redirectUri":
			o.RedirectURI = r.redirect(field, v)
		case "account":
			o.Account = r.value(field, v)
		case "grant":
			o.Grant = r.oneOf(field, v, []string{"authorization_code", "client_credentials", "token_exchange"})
		case "privateKey":
			o.PrivateKey = r.secret(field, v)
		case "privateKeyId":
			o.PrivateKeyID = r.value(field, v)
		case "subjectToken":
			o.SubjectToken = r.secret(field, v)
		case "subjectTokenType":
			o.SubjectTokenType = r.value(field, v)
		case "identityProvider":
			r.provider(field, v, &o)
		}
	})
	if wrong := oddSignIn(o.Grant, at); wrong != "" {
		r.skip(v.StartOffset, `"oauth" `+wrong, "")
	} else if o.Grant == "token_exchange" && r.fields["per"] != nil {
		r.skip(v.StartOffset, `"oauth" exchanges one token, and "per" is for callers with their own`, "remove one of the two")
	}
	return o
}

// oddSignIn says what is wrong with the fields that "oauth" has, beside each other. Where nobody sees at which
// authorization server one signs in, it has to be named: else whoever the server names gets a secret.
func oddSignIn(grant string, has map[string]bool) string {
	proof := has["clientSecret"] || has["privateKey"]
	switch exchange := grant == "token_exchange"; {
	case has["clientSecret"] && has["privateKey"]:
		return `has a "clientSecret" and a "privateKey": remove one of them`
	case proof && !has["clientId"]:
		return `has a "clientSecret" or a "privateKey", and no "clientId"`
	case has["redirectPort"] && has["redirectUri"]:
		return `has a "redirectPort" and a "redirectUri": remove one of them`
	case has["privateKeyId"] && !has["privateKey"]:
		return `has a "privateKeyId" and no "privateKey"`
	case grant == "client_credentials" && !proof:
		return `needs "clientId", and "clientSecret" or "privateKey", for the grant client_credentials`
	case exchange && !(has["clientId"] && has["subjectToken"]):
		return `needs "clientId" and "subjectToken" for the grant token_exchange`
	case !exchange && (has["subjectToken"] || has["subjectTokenType"] || has["identityProvider"]):
		return `has what is for "grant": "token_exchange" alone`
	case !has["issuer"] && (exchange || grant == "client_credentials" && has["clientSecret"]):
		return `needs "issuer", the address of the authorization server that gets the secret, for the grant ` + grant
	}
	return ""
}

// provider is the identity provider of an enterprise.
func (r *reading) provider(field string, v *hujson.Value, o *interop.OAuth) {
	if !r.expect('{', "an object", field, v) {
		return
	}
	p := &o.Provider
	r.members(field, v, []string{"issuer", "clientId", "clientSecret"}, true, func(name string, v *hujson.Value) {
		switch at := field + "." + name; name {
		case "issuer":
			p.Issuer = r.address(at, v)
		case "clientId":
			p.ClientID = r.value(at, v)
		default:
			p.ClientSecret = r.secret(at, v)
		}
	})
	if p.Issuer == "" || p.ClientSecret != (interop.Secret{}) && p.ClientID == "" {
		r.skip(v.StartOffset, fmt.Sprintf(`%q needs "issuer", and "clientId" beside a "clientSecret"`, field), "")
	}
}

// secret is a value that is never shown.
func (r *reading) secret(field string, v *hujson.Value) interop.Secret {
	return interop.NewSecret(strings.TrimSpace(r.value(field, v)))
}

// value is a string that must not be empty, with its variables replaced.
func (r *reading) value(field string, v *hujson.Value) string {
	return r.expand(r.filled(v, field), v.StartOffset, field)
}

// redirect is an address of this machine, at which indus can wait for the browser.
func (r *reading) redirect(field string, v *hujson.Value) string {
	s := r.value(field, v)
	u, err := url.Parse(s)
	if r.State == Active && !isMarked(s) && (err != nil || u.Scheme != "http" || !isLoopback(u.Hostname()) || u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
		r.skip(v.StartOffset, fmt.Sprintf("%q is no address at which indus can wait for the browser", field),
			"write one of this machine that is known to the authorization server, such as http://localhost:8085/callback")
	}
	return s
}

// address is a URL by https, or by http on this machine.
func (r *reading) address(field string, v *hujson.Value) string {
	s := r.value(field, v)
	if u, err := url.Parse(s); r.State == Active && !isMarked(s) &&
		(err != nil || u.Hostname() == "" || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname()))) {
		r.skip(v.StartOffset, fmt.Sprintf("%q is no https:// address", field), "")
	}
	r.covered("oauth", field, s) // like a url, with its variables replaced
	return s
}

func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

// scopes are a list, or words in one string as RFC 6749 has them.
func (r *reading) scopes(field string, v *hujson.Value) (out []string) {
	if tree.Has(v, '"') {
		return strings.Fields(r.filled(v, field))
	}
	if !r.expect('[', "a list of scopes", field, v) {
		return nil
	}
	for i, e := range tree.Elements(v) {
		where := fmt.Sprintf("%s[%d]", field, i)
		if s := r.filled(e, where); strings.ContainsAny(s, " \t\r\n") {
			r.skip(e.StartOffset, where+" has a space", "write each scope by itself")
		} else if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (r *reading) port(field string, v *hujson.Value) int {
	if l, ok := v.Value.(hujson.Literal); ok && l.Kind() == '0' {
		if n := l.Float(); n == float64(int(n)) && n >= 1 && n <= 65535 {
			return int(n)
		}
	}
	r.skip(v.StartOffset, fmt.Sprintf("%q is no port", field), "write a number from 1 to 65535")
	return 0
}

// tls is whom the server's certificate must come from, and which one it is shown.
func (r *reading) tls() (t interop.TLS) {
	v := r.fields["tls"]
	if v == nil || !r.expect('{', "an object", "tls", v) {
		return t
	}
	files := map[string]*string{"ca": &t.CA, "cert": &t.Cert, "key": &t.Key}
	r.members("tls", v, []string{"ca", "cert", "key"}, true, func(name string, v *hujson.Value) {
		path := r.tilde(r.value("tls."+name, v))
		if path != "" && !isMarked(path) && !filepath.IsAbs(path) {
			path = filepath.Join(r.base(), path)
		}
		*files[name] = path
		r.covered("tls", name, path)
		r.holdPEM(name, path, v.StartOffset)
	})
	if (t.Cert == "") != (t.Key == "") && r.State == Active {
		r.skip(v.StartOffset, `"tls" has one of "cert" and "key"`, "a certificate is shown with its key: name both files")
	}
	return t
}

// holdPEM has an approval cover what a file of certificates holds, if it is the project's or names the authorities of a
// project's row: another authority lets another server take the place of this one.
func (r *reading) holdPEM(name, path string, at int) {
	if isMarked(path) && r.scope == Project {
		r.skip(at, fmt.Sprintf("%q of a project's file is written out: what ${file:…} and ${cmd:…} give may change", "tls."+name), "write the path itself")
	}
	root := r.rootOf(path)
	if isMarked(path) || root == "" && (name != "ca" || r.scope != Project) {
		return
	}
	f := RowFile{Path: path}
	text, err := atomicfile.ReadPlain(path, maxFile)
	switch {
	case root != "" && !isWithin(root, atomicfile.Real(path)):
		r.skip(at, fmt.Sprintf("%q is a link that leads out of the project", "tls."+name), "")
	case errors.Is(err, fs.ErrNotExist):
		f.Wrong = edit.Reason(err)
	case err != nil: // who connects may read it all the same
		r.skip(at, fmt.Sprintf("%q cannot be approved: %s", "tls."+name, edit.Reason(err)), "")
	default:
		f.Text = fmt.Sprintf("sha256 %x", sha256.Sum256(text))
	}
	r.Files = append(r.Files, f)
}

// forward is what goes up of the headers of a client's request.
func (r *reading) forward() (f interop.Forward) {
	if v := r.fields["forwardHeaders"]; v != nil && r.expect('[', "a list of headers", "forwardHeaders", v) {
		for i, e := range tree.Elements(v) {
			name := r.filled(e, fmt.Sprintf("forwardHeaders[%d]", i))
			switch one := (interop.Forward{Headers: []string{name}}); {
			case name == "":
			case badHeader(name) != "":
				r.skip(e.StartOffset, fmt.Sprintf("forwardHeaders[%d]: %s", i, badHeader(name)), "")
			case strings.EqualFold(name, "Authorization"):
				r.skip(e.StartOffset, `"forwardHeaders" never forwards Authorization`, `write "authorization": "forward" if this server takes the tokens of those who call here`)
			case one.Names() == nil:
				r.skip(e.StartOffset, fmt.Sprintf("forwardHeaders: %s is never forwarded", tree.Quote(name)), "it is a credential, or belongs to the connection, the body or the protocol")
			default:
				f.Headers = append(f.Headers, name)
				r.covered("forward", name, "")
			}
		}
	}
	if v := r.fields["authorization"]; v != nil && r.oneOf("authorization", v, []string{"forward"}) != "" {
		f.Authorization = true
		r.covered("forward", "", "authorization")
	}
	return f
}

// signIn fills in what a server at a URL has beside its headers.
func (r *reading) signIn() {
	s := &r.Server
	s.OAuth, s.TLS, s.Forward = r.oauth(), r.tls(), r.forward()
	if v := r.fields["oauth"]; s.Forward.Authorization {
		if v != nil && !s.OAuth.Off {
			r.note(v.StartOffset, `"oauth" is not used, because "authorization" is "forward"`, "remove one of the two")
		}
		s.OAuth = interop.OAuth{Off: true}
	}
}
