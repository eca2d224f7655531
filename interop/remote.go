package interop

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

// TLS says how a server at an https:// URL is known, and what it is shown of us. The files are
// PEM, and read whenever the server is connected.
type TLS struct {
	// CA is a file of the authorities that the server's certificate must come from, in the place of the
	// system's. "": the system's.
	CA string
	// Cert and Key are files of the certificate, with its chain, that the server gets where it asks for
	// one, and of its private key. "": it gets none.
	Cert, Key string
}

// config is nil where nothing is configured.
func (t TLS) config() (*tls.Config, error) {
	if t == (TLS{}) {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, &tlsError{"ca", err}
		}
		if out.RootCAs = x509.NewCertPool(); !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &tlsError{"ca", fmt.Errorf("%s: no certificate in PEM", t.CA)}
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key) // whose errors show nothing of the files
		if err != nil {
			return nil, &tlsError{"cert", err}
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// tlsError is a file of [TLS] that cannot be used.
type tlsError struct {
	field string
	cause error
}

func (e *tlsError) Error() string { return "tls." + e.field + ": " + e.cause.Error() }
func (e *tlsError) Unwrap() error { return e.cause }

// OAuth is what is configured about signing in to a server. This package only carries it to who
// does: see EndpointOptions.RoundTripper. The zero value is the defaults.
type OAuth struct {
	// Off: nobody signs in to this server.
	Off bool
	// ClientID and ClientSecret are those of a client that was registered by hand. "": it is found out
	// who we are, by ClientMetadataURL or by registration.
	ClientID     string
	ClientSecret Secret
	// ClientMetadataURL is the URL of a client ID metadata document, which is then our client id. "": none.
	ClientMetadataURL string
	// Scopes are asked for in the place of those that the server names. nil: the server's.
	Scopes []string
	// RedirectURI is the address of this machine to which the browser comes back, such as http://localhost:8085/callback.
	// Without a port it is any. "": http://127.0.0.1/callback.
	RedirectURI string
	// Account tells the sign-ins of several rows at one URL apart: those with one account share it. "": the server's ID.
	Account string
	// Issuer is the only authorization server that is asked. "": those that the server names.
	Issuer string
	// Grant is "authorization_code", where a person signs in, "client_credentials", where the client does it with
	// its secret or key, or "token_exchange", where it shows SubjectToken. "": the first.
	Grant string
	// PrivateKey is a key in PEM in the place of ClientSecret (private_key_jwt), and PrivateKeyID what it is called. Zero: none.
	PrivateKey   Secret
	PrivateKeyID string
	// SubjectToken is exchanged for a token of the server's (RFC 8693), and SubjectTokenType its type: a URN, or the
	// last word of one of that RFC. "": id_token.
	SubjectToken     Secret
	SubjectTokenType string
	// Provider is the identity provider that makes an assertion of SubjectToken, which Issuer takes
	// (enterprise-managed authorization, SEP-990). Zero: Issuer takes the token itself.
	Provider struct {
		Issuer string
		// ClientID and ClientSecret are who we are there. "": as at the server's own authorization server.
		ClientID     string
		ClientSecret Secret
	}
}

// Secrets are the fields that nobody is to see.
func (o *OAuth) Secrets() []*Secret {
	return []*Secret{&o.ClientSecret, &o.PrivateKey, &o.SubjectToken, &o.Provider.ClientSecret}
}

// Equal reports whether both say the same.
func (o OAuth) Equal(b OAuth) bool { return reflect.DeepEqual(o, b) }

// Forward says which headers of a client's request go to the server with what is asked of it for that
// request, and with nothing else.
type Forward struct {
	// Headers are their names, without case. Those of credentials, of one connection or its body, and of the protocol are not
	// forwarded: see [Forward.Names]. nil: none.
	Headers []string
	// Authorization forwards that header too: the client's token goes to a server that it may not
	// have been issued for. Only for servers that take the same tokens as whoever lets clients in here.
	Authorization bool
}

func (f Forward) equal(b Forward) bool {
	return f.Authorization == b.Authorization && slices.Equal(f.Headers, b.Headers)
}

// Names are the headers that are forwarded, as [http.CanonicalHeaderKey] writes them.
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

// mayForward reports whether a header can be passed on at all: none that is a credential, that belongs
// to one connection or its body (RFC 9110, section 7.6.1), or to the protocol.
func mayForward(name string) bool {
	name = strings.ToLower(name)
	return name != "" && !slices.Contains(notForwarded, name) && !strings.HasPrefix(name, "mcp-") && !strings.HasPrefix(name, "proxy-") &&
		!strings.HasPrefix(name, "sec-") && !strings.HasPrefix(name, "content-") && !strings.HasPrefix(name, "access-control-")
}

var notForwarded = []string{
	"authorization", "cookie", "cookie2", "set-cookie", "host", "origin", "referer",
	"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect", "http2-settings",
	"accept", "accept-encoding", "accept-charset", "date", "via", "last-event-id", "user-agent", "range",
}
