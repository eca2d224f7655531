package mcpconfig

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// oauth reads the sign-in of the server: an object, or false if there is none. If a value cannot be read, the row is
// skipped: a sign-in at another place, or as another user, would be wrong.
func (r *valuedRow) oauth(field string, v *hujson.Value) (o config.OAuth) {
	if tree.Has(v, 'f') {
		return config.OAuth{Off: true}
	}
	if !r.expect('{', "an object or false", field, v) {
		return o
	}
	has := tree.Fields(v)
	r.object(field, v, true,
		member{"clientId", storeIn(&o.ClientID, r.value)},
		member{"clientSecret", storeIn(&o.ClientSecret, r.secret)},
		member{"clientMetadataUrl", storeIn(&o.ClientMetadataURL, r.address)},
		member{"scopes", storeIn(&o.Scopes, r.scopes)},
		member{"redirectPort", storeIn(&o.RedirectURI, r.port)},
		member{"redirectUri", storeIn(&o.RedirectURI, r.redirect)},
		member{"account", storeIn(&o.Account, r.value)},
		member{"issuer", storeIn(&o.Issuer, r.address)},
		member{"grant", storeIn(&o.Grant, r.oneOf("authorization_code", "client_credentials", "token_exchange"))},
		member{"privateKey", storeIn(&o.PrivateKey, r.secret)},
		member{"privateKeyId", storeIn(&o.PrivateKeyID, r.value)},
		member{"subjectToken", storeIn(&o.SubjectToken, r.secret)},
		member{"subjectTokenType", storeIn(&o.SubjectTokenType, r.value)},
		member{"identityProvider", func(field string, v *hujson.Value) { r.provider(field, v, &o) }},
	)
	there := func(name string) bool { return has[name] != nil && !tree.Has(has[name], 'n') }
	if wrong := signInConflict(o.Grant, there); wrong != "" {
		r.skip(v.StartOffset, `"oauth" `+wrong, "")
	} else if o.Grant == "token_exchange" && r.fields["per"] != nil {
		r.skip(v.StartOffset, `"oauth" exchanges one token, and "per" is for callers with their own`, "remove one of the two")
	}
	return o
}

// signInConflict returns why the fields of "oauth" do not fit together, or "". If no person sees the authorization
// server of a sign-in, it must be named. Otherwise the secret could go to any authorization server that the server
// names.
func signInConflict(grant string, has func(name string) bool) string {
	proof := has("clientSecret") || has("privateKey")
	switch exchange := grant == "token_exchange"; {
	case has("clientSecret") && has("privateKey"):
		return `has a "clientSecret" and a "privateKey": remove one of them`
	case proof && !has("clientId"):
		return `has a "clientSecret" or a "privateKey", and no "clientId"`
	case has("redirectPort") && has("redirectUri"):
		return `has a "redirectPort" and a "redirectUri": remove one of them`
	case has("privateKeyId") && !has("privateKey"):
		return `has a "privateKeyId" and no "privateKey"`
	case grant == "client_credentials" && !proof:
		return `needs "clientId", and "clientSecret" or "privateKey", for the grant client_credentials`
	case exchange && !(has("clientId") && has("subjectToken")):
		return `needs "clientId" and "subjectToken" for the grant token_exchange`
	case !exchange && (has("subjectToken") || has("subjectTokenType") || has("identityProvider")):
		return `has a field that is only for "grant": "token_exchange"`
	case !has("issuer") && (exchange || grant == "client_credentials" && has("clientSecret")):
		return `needs "issuer", the address of the authorization server that gets the secret, for the grant ` + grant
	}
	return ""
}

// provider reads the identity provider of an enterprise.
func (r *valuedRow) provider(field string, v *hujson.Value, o *config.OAuth) {
	p := &o.Provider
	r.object(field, v, true,
		member{"issuer", storeIn(&p.Issuer, r.address)}, member{"clientId", storeIn(&p.ClientID, r.value)},
		member{"clientSecret", storeIn(&p.ClientSecret, r.secret)},
	)
	if tree.Has(v, '{') && (p.Issuer == "" || p.ClientSecret != (config.Secret{}) && p.ClientID == "") {
		r.skip(v.StartOffset, fmt.Sprintf(`%q needs "issuer", and "clientId" beside a "clientSecret"`, field), "")
	}
}

// redirect reads an address of this machine, at which indus can wait for the browser.
func (r *valuedRow) redirect(field string, v *hujson.Value) string {
	to := r.filled(field, v)
	u, err := url.Parse(to.text)
	fits := err == nil && u.Scheme == "http" && isLoopback(u.Hostname()) &&
		u.RawQuery == "" && u.Fragment == "" && u.User == nil
	if !r.skipped && !to.pending() && !fits {
		r.skip(v.StartOffset, fmt.Sprintf("%q is no address at which indus can wait for the browser", field),
			"write one of this machine that is known to the authorization server, such as http://localhost:8085/callback")
	}
	return to.text
}

// address reads an https URL, or an http URL of this machine.
func (r *valuedRow) address(field string, v *hujson.Value) string {
	to := r.filled(field, v)
	if u, err := url.Parse(to.text); !r.skipped && !to.pending() &&
		(err != nil || u.Hostname() == "" || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname()))) {
		r.skip(v.StartOffset, fmt.Sprintf("%q is no https:// address", field), "")
	}
	return to.text
}

func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

// scopes reads a list, or words in one string as in RFC 6749.
func (r *valuedRow) scopes(field string, v *hujson.Value) []string {
	if tree.Has(v, '"') {
		return strings.Fields(r.nonEmpty(field, v))
	}
	return listOf(&r.findings, "a list of scopes", field, v, func(where string, e *hujson.Value) string {
		s := r.nonEmpty(where, e)
		if strings.ContainsAny(s, " \t\r\n") {
			r.skip(e.StartOffset, where+" has a space", "write each scope by itself")
		}
		return s
	})
}

// port reads a port, and returns an address of this machine with it.
func (r *valuedRow) port(field string, v *hujson.Value) string {
	port, ok := tree.WholeNumber(v)
	if !ok || port < 1 || port > 65535 {
		r.skip(v.StartOffset, fmt.Sprintf("%q is no port", field), "write a number from 1 to 65535")
	}
	return fmt.Sprintf("http://127.0.0.1:%d/callback", port)
}

// tls reads the authorities for the server's certificate, and the client certificate.
func (r *valuedRow) tls(field string, v *hujson.Value) (t config.TLS) {
	r.object(field, v, true,
		member{"ca", storeIn(&t.CA, r.pem)}, member{"cert", storeIn(&t.Cert, r.pem)}, member{"key", storeIn(&t.Key, r.pem)})
	if (t.Cert == "") != (t.Key == "") && !r.skipped {
		r.skip(v.StartOffset, `"tls" has one of "cert" and "key"`, "a certificate is shown with its key: name both files")
	}
	return t
}

// pem reads the path of a file of certificates. If the file belongs to the project, an approval covers its content. The
// same holds for the authorities of a project's row: another authority would allow another server to take the place of
// this one.
func (r *valuedRow) pem(field string, v *hujson.Value) string {
	written := r.filled(field, v)
	if written.pending() {
		if r.scope == Project {
			reason := fmt.Sprintf(
				"%q of a project's file is written out, because values of ${file:…} and ${cmd:…} may change", field)
			r.skip(v.StartOffset, reason, "write the path itself")
		}
		return written.text
	}
	full := r.fullPath(written)
	path := full.text
	root := r.projectOf(full)
	if root == "" && (field != "tls.ca" || r.scope != Project) {
		return path
	}
	f := RowFile{Path: path}
	text, err := atomicfile.ReadPlain(path, maxFile)
	switch {
	case root != "" && !isWithin(root, atomicfile.Real(path)):
		r.skip(v.StartOffset, fmt.Sprintf("%q is a link that leads out of the project", field), "")
	case errors.Is(err, fs.ErrNotExist):
		f.Wrong = edit.Reason(err)
	case err != nil: // a connection may still be able to read it
		r.skip(v.StartOffset, fmt.Sprintf("%q cannot be approved: %s", field, edit.Reason(err)), "")
	default:
		f.Text = fmt.Sprintf("sha256 %x", sha256.Sum256(text))
	}
	r.files = append(r.files, f)
	return path
}

// forwarded reads the name of a header that is forwarded from a client's request.
func (r *valuedRow) forwarded(field string, v *hujson.Value) string {
	name := r.nonEmpty(field, v)
	switch one := (config.Forward{Headers: []string{name}}); {
	case name == "":
	case headerNameReason(name) != "":
		r.skip(v.StartOffset, field+": "+headerNameReason(name), "")
	case strings.EqualFold(name, "Authorization"):
		r.skip(v.StartOffset, `"forwardHeaders" never forwards Authorization`,
			`write "authorization": "forward" if this server accepts the tokens of the callers of indus`)
	case one.Names() == nil:
		r.skip(v.StartOffset, fmt.Sprintf("forwardHeaders: %s is never forwarded", tree.Quote(name)),
			"it is a credential, or belongs to the connection, the body or the protocol")
	}
	return name
}

// headerNameReason returns why a name is not a token of RFC 9110, section 5.6.2, or "".
func headerNameReason(name string) string {
	isSeparator := func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) }
	if name == "" || strings.ContainsFunc(name, isSeparator) {
		return "no header can have this name"
	}
	return ""
}
