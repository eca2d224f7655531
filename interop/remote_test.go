package interop_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// authority issues certificates for a test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	der := a.issue(name, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.cert, _ = x509.ParseCertificate(der)
	return a
}

// issue writes NAME.pem and NAME.key. The first certificate is the authority's own.
func (a *authority) issue(name string, c *x509.Certificate) []byte {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer, a.key = c, key, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	private, _ := x509.MarshalPKCS8PrivateKey(key)
	for ext, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(a.file(name+ext), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return der
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func TestTLS(t *testing.T) {
	trusted, stranger := newAuthority(t, "ours"), newAuthority(t, "others")
	trusted.issue("server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	for _, a := range []*authority{trusted, stranger} {
		a.issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	}
	pair, err := tls.LoadX509KeyPair(trusted.file("server.pem"), trusted.file("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(trusted.cert)
	server := mcp.NewServer(&mcp.Implementation{Name: "tls", Version: "1"}, nil)
	serve := func(ask tls.ClientAuthType) string {
		web := httptest.NewUnstartedServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
		web.Config.ErrorLog = log.New(io.Discard, "", 0)
		web.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: ask}
		web.StartTLS()
		t.Cleanup(web.Close)
		return web.URL
	}
	plain, mutual := serve(tls.NoClientCert), serve(tls.RequireAndVerifyClientCert)
	client := func(a *authority, ca *authority) config.TLS {
		return config.TLS{CA: ca.file(ca.cert.Subject.CommonName + ".pem"), Cert: a.file("client.pem"), Key: a.file("client.key")}
	}
	junk := stranger.file("junk.pem")
	if err := os.WriteFile(junk, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url  string
		tls  config.TLS
		want string // the text of the fault; "" if it connects
	}{
		"the system's authorities":   {plain, config.TLS{}, "unknown authority"},
		"an authority of one's own":  {plain, config.TLS{CA: trusted.file("ours.pem")}, ""},
		"another authority":          {plain, config.TLS{CA: stranger.file("others.pem")}, "unknown authority"},
		"no certificate where asked": {mutual, config.TLS{CA: trusted.file("ours.pem")}, "certificate required"},
		"a certificate":              {mutual, client(trusted, trusted), ""},
		"a stranger's certificate":   {mutual, client(stranger, trusted), "certificate"},
		"no such file":               {plain, config.TLS{CA: trusted.file("none.pem")}, "tls.ca: open "},
		"a file of something else":   {plain, config.TLS{CA: junk}, "tls.ca: " + junk + ": no certificate"},
		"a key of another":           {mutual, config.TLS{CA: trusted.file("ours.pem"), Cert: trusted.file("client.pem"), Key: stranger.file("client.key")}, "tls.cert: "},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, config.Server{ID: "s", Transport: config.HTTP{URL: c.url}, TLS: c.tls}, nil)
			err := e.Open(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The error of a RoundTripper is in the fault's chain, and NeedsSignIn recognises an error that asks for a
// person.
func TestRoundTripperThatNeedsASignIn(t *testing.T) {
	var gave []string
	e := newEndpoint(t, config.Server{ID: "s", Transport: config.HTTP{URL: "http://127.0.0.1:1"}}, &interop.EndpointOptions{
		RoundTripper: func(s config.Server, _ toolbox.Principal, base http.RoundTripper) http.RoundTripper {
			gave = append(gave, s.ID)
			return noEntry{}
		},
	})
	err := e.Open(t.Context())
	fault, ok := errors.AsType[*interop.Fault](err)
	if !ok || !errors.Is(err, errSignIn) || !fault.NeedsSignIn() || !strings.Contains(fault.Advice(), "indus mcp login s") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]string{"s"}, gave); diff != "" {
		t.Error(diff)
	}
}

// noToken sends requests until the first call, which fails without a token.
type noToken struct{ base http.RoundTripper }

func (n noToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		return n.base.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || !bytes.Contains(body, []byte(`"tools/call"`)) {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return n.base.RoundTrip(r)
	}
	return nil, errNoToken{}
}

type errNoToken struct{}

func (errNoToken) Error() string { return "the authorization server is down" }
func (errNoToken) Unsent()       {}

// The advice for a call that was not sent for lack of a token never claims that it may have run.
func TestCallWithoutAToken(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "run"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		t.Error("it ran")
		return &mcp.CallToolResult{}, nil, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close) // after the endpoints, which have open streams
	e := newEndpoint(t, config.Server{ID: "s", Transport: config.HTTP{URL: web.URL}}, &interop.EndpointOptions{
		RoundTripper: func(_ config.Server, _ toolbox.Principal, base http.RoundTripper) http.RoundTripper {
			return noToken{base}
		},
	})
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := e.Do(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"run","arguments":{}}`)})
	fault, ok := errors.AsType[*interop.Fault](err)
	if !ok || !strings.Contains(err.Error(), "is down") || !strings.HasPrefix(fault.Advice(), "the tool did not run") {
		t.Errorf("%v; %s", err, fault.Advice())
	}
}

// renewing signs in with another token each time.
type renewing struct {
	base http.RoundTripper
	n    atomic.Int64
}

func (s *renewing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", fmt.Sprintf("Bearer token-of-a-sign-in-%d", s.n.Add(1)))
	return s.base.RoundTrip(r)
}

// If a server repeats the token of a sign-in, the token appears in no message of the server, no result and
// no tap.
func TestTokenOfASignInThatIsRepeated(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "repeat"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		token := r.Extra.Header.Get("Authorization")
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: url.QueryEscape(token)})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: token}}}, nil, err
	})
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: era == interop.Modern})
		web := httptest.NewServer(handler)
		defer web.Close()
		var heard []string
		hear := func(raw json.RawMessage) { heard = append(heard, string(raw)) }
		e := newEndpoint(t, config.Server{ID: "s", Era: era, Transport: config.HTTP{URL: web.URL}}, &interop.EndpointOptions{
			RoundTripper: func(_ config.Server, _ toolbox.Principal, base http.RoundTripper) http.RoundTripper {
				return &renewing{base: base}
			},
			Receive: func(_ context.Context, m interop.Message) (json.RawMessage, error) { hear(m.Params); return nil, nil },
			Tap: func(_ bool, m interop.Message) func(json.RawMessage, error) {
				if m.Method != "notifications/progress" && m.Method != "tools/call" {
					return func(json.RawMessage, error) {}
				}
				hear(m.Params)
				return func(result json.RawMessage, _ error) { hear(result) }
			},
		})
		mustOpen(t, e)
		if _, err := e.Do(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"repeat","arguments":{}}`)}); err != nil {
			t.Fatal(err)
		}
		e.Close()
		all := strings.Join(heard, "\n")
		if strings.Contains(all, "token-of") || strings.Count(all, "<secret: ") != 3 {
			t.Errorf("%s: %s", era, all)
		}
	}
}

type signInError struct{}

func (signInError) Error() string                  { return "sign in" }
func (signInError) SignIn() (resource, who string) { return "http://127.0.0.1:1", "" }

var errSignIn error = signInError{}

type noEntry struct{}

func (noEntry) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return nil, errSignIn
}

func TestHeadersThatAreNeverForwarded(t *testing.T) {
	for _, name := range []string{"", "Authorization", "cookie", "Set-Cookie", "HOST", "Connection", "Transfer-Encoding", "TE", "Upgrade",
		"Mcp-Session-Id", "mcp-param-x", "Content-Type", "Content-Length", "Proxy-Authorization", "Origin", "Sec-Fetch-Site", "Last-Event-ID", "Accept"} {
		if got := (config.Forward{Headers: []string{name}}).Names(); got != nil {
			t.Errorf("%q is forwarded: %v", name, got)
		}
	}
	got := config.Forward{Headers: []string{"x-request-id", "Authorization"}, Authorization: true}.Names()
	if diff := cmp.Diff([]string{"X-Request-Id", "Authorization"}, got); diff != "" {
		t.Error(diff)
	}
}

// A client's headers are sent only with its own request. They are not sent with the connection's requests
// or with any other.
func TestForwardedHeadersGoWithOneRequest(t *testing.T) {
	type seen struct{ Method, ID, Token string }
	requests := make(chan seen, 100)
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x"}}}, nil, nil
	})
	mcpHandler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	sseHandler := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)
	for name, handler := range map[string]http.Handler{"streamable": mcpHandler, "SSE": sseHandler} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			if id, token := r.Header.Get("X-Request-Id"), r.Header.Get("Authorization"); id+token != "" {
				requests <- seen{methodIn(string(body)), id, token}
			}
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(web.Close)
		s := config.Server{ID: "s", Forward: config.Forward{Headers: []string{"x-request-id"}}}
		s.Transport = (config.HTTP{URL: web.URL})
		if name == "SSE" {
			s.Transport = config.SSE{URL: web.URL}
		}
		e := newEndpoint(t, s, nil)
		ctx := interop.WithClient(t.Context(), &interop.Client{Era: interop.Modern, Header: http.Header{"X-Request-Id": {"one"}, "Authorization": {"Bearer t"}}})
		if err := e.Open(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Tools(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Invoke(ctx, "t", []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Invoke(t.Context(), "t", []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		e.Close()
		var got []seen
		for len(requests) > 0 {
			got = append(got, <-requests)
		}
		if diff := cmp.Diff([]seen{{"tools/call", "one", ""}}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func methodIn(body string) string {
	_, rest, _ := strings.Cut(body, `"method":"`)
	method, _, _ := strings.Cut(rest, `"`)
	return method
}
