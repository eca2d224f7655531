package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
)

// TLS configures how the certificate of a server at an https:// URL is checked, and our own certificate. The files are
// in PEM format. They are read at each connection.
type TLS struct {
	// CA is a file with the authorities that may sign the server's certificate. It replaces the system's authorities.
	// If it is empty, the system's are used.
	CA string
	// Cert and Key are files. Cert has the certificate, with its chain, for a server that requests one. Key has its
	// private key. If they are empty, no certificate is sent.
	Cert, Key string
}

// Config returns the TLS configuration, or nil if no field is set. Its error names the field.
func (t TLS) Config() (*tls.Config, error) {
	if t == (TLS{}) {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.ca: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca: %s: no certificate in PEM", t.CA)
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key) // its errors do not reveal the content of the files
		if err != nil {
			return nil, fmt.Errorf("tls.cert: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// OAuth configures how to sign in to a server. This package only passes it on: see
// interop.EndpointOptions.RoundTripper. The zero value means the defaults.
type OAuth struct {
	// Off disables signing in to this server.
	Off bool
	// ClientID and ClientSecret belong to a client that was registered by hand. If ClientID is empty, the client is
	// identified by ClientMetadataURL or by registration.
	ClientID     string
	ClientSecret Secret
	// ClientMetadataURL is the URL of a client ID metadata document, which is then our client id. It may be empty.
	ClientMetadataURL string
	// Scopes are requested in place of the scopes that the server names. If it is nil, the server's scopes are
	// requested.
	Scopes []string
	// RedirectURI is the address of this machine to which the browser returns, such as http://localhost:8085/callback.
	// Without a port, any port is used. If it is empty, it is http://127.0.0.1/callback.
	RedirectURI string
	// Account separates the sign-ins of several rows with one URL. Rows with the same account share a sign-in. If it is
	// empty, the account is the server's ID.
	Account string
	// Issuer is the only authorization server that is used. If it is empty, the authorization servers that the server
	// names are used.
	Issuer string
	// Grant is "authorization_code" if a person signs in, "client_credentials" if the client signs in with its secret
	// or key, or "token_exchange" if the client presents SubjectToken. If it is empty, it is the first.
	Grant string
	// PrivateKey is a key in PEM that replaces ClientSecret (private_key_jwt), and PrivateKeyID is its key id. The zero
	// value means no key.
	PrivateKey   Secret
	PrivateKeyID string
	// SubjectToken is exchanged for a token of the server (RFC 8693). SubjectTokenType is its type: a URN, or the last
	// word of a URN of that RFC. If it is empty, it is id_token.
	SubjectToken     Secret
	SubjectTokenType string
	// Provider is the identity provider that makes an assertion from SubjectToken. Issuer accepts that assertion
	// (enterprise-managed authorization, SEP-990). If it is zero, Issuer accepts the token itself.
	Provider struct {
		Issuer string
		// ClientID and ClientSecret identify us at the provider. If they are empty, they are the same as at the
		// server's own authorization server.
		ClientID     string
		ClientSecret Secret
	}
}

// Secrets returns the fields that must not be shown.
func (o *OAuth) Secrets() []*Secret {
	return []*Secret{&o.ClientSecret, &o.PrivateKey, &o.SubjectToken, &o.Provider.ClientSecret}
}

// Equal reports whether both have the same values.
func (o OAuth) Equal(b OAuth) bool { return reflect.DeepEqual(o, b) }

// Forward selects the headers of a client's request that the server receives with that request. They are sent with no
// other request.
type Forward struct {
	// Headers are the names, case-insensitive. Headers of credentials, of one connection or its body, and of the
	// protocol are not forwarded: see [Forward.Names]. It may be nil.
	Headers []string
	// Authorization also forwards that header. The client's token then reaches a server that it may not have been
	// issued for. Set it only for servers that accept the same tokens as this program accepts from its clients.
	Authorization bool
}

// Names returns the headers that are forwarded, as [http.CanonicalHeaderKey] writes them.
func (f Forward) Names() (out []string) {
	for _, name := range f.Headers {
		if mayForward(name) {
			out = append(out, http.CanonicalHeaderKey(name))
		}
	}
	if f.Authorization {
		out = append(out, "Authorization")
	}
	return out
}

// mayForward reports whether a header can be passed on at all. Credentials, headers of one connection or its body (RFC
// 9110, section 7.6.1) and headers of the protocol cannot.
func mayForward(name string) bool {
	name = strings.ToLower(name)
	if name == "" || slices.Contains(notForwarded, name) {
		return false
	}
	for _, prefix := range []string{"mcp-", "proxy-", "sec-", "content-", "access-control-"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

var notForwarded = []string{
	"authorization", "cookie", "cookie2", "set-cookie", "host", "origin", "referer",
	"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect", "http2-settings",
	"accept", "accept-encoding", "accept-charset", "date", "via", "last-event-id", "user-agent", "range",
}
