package bridge

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/operation"
)

// FromMCP is the tools of one MCP server as operations. Set its fields, ask it by
// [operation.Registry.Import] or let it [FromMCP.Follow] the server, and change no field
// afterwards. It must not be copied.
//
// It speaks streamable HTTP, of 2026-07-28 and before, and nothing else: there is no
// command that it could start, it does not fall back to HTTP+SSE, goes through no proxy,
// and asks for no environment variable.
type FromMCP struct {
	// Endpoint is the server's URL. What is secret belongs into Token.
	Endpoint string
	// Namespace is what this program calls the server: the namespace of its operations.
	Namespace string
	// Prefix names operations "namespace/tool". false: as the server names its tools.
	Prefix bool
	// Token is the bearer token of Import, and a capability of what is registered: of
	// calls that bring none of their own. Empty: none is sent.
	Token operation.Secret
	// Capability is the name under which a call finds its token. "": "mcp:" and Namespace,
	// so that what is meant for one server never reaches another.
	Capability string
	// OwnTokens makes Token one for importing alone: a call that brings no token of its
	// own ends with [Unauthorized], and nothing goes out.
	OwnTokens bool
	// TrustAnnotations makes a tool whose server says that it only reads a Query. false:
	// every tool is a Mutation, because a hint is no permission.
	TrustAnnotations bool
	// Timeouts of each remote step; zero is the defaults of [interop.Timeouts].
	Timeouts interop.Timeouts
	// Sessions bounds how many sessions are open at once for tokens that calls bring, to
	// a server that has sessions; a call beyond that waits for one. 0: 32.
	Sessions int
	// Idle is how long such a session stays open without a call. 0: 5 minutes;
	// negative: it is closed after each call.
	Idle time.Duration
	// TLS is for https. nil: the system's roots, which Go looks for where SSL_CERT_FILE
	// and SSL_CERT_DIR say on some systems; with RootCAs set it does not.
	TLS *tls.Config
	// Logger hears of tools that are left out, and of the connection. nil: silent.
	Logger *slog.Logger

	mu   sync.Mutex
	link *link // the one that lives, or the last that did
}

var _ operation.Adapter = (*FromMCP)(nil)

const (
	defaultSessions = 32
	defaultIdle     = 5 * time.Minute
)

// Import connects, if nothing that was imported before keeps the connection, and gives
// an operation for each tool that the server lists: Internal, a leaf, open to whoever
// reaches it. The errors wrap [operation.Unauthorized] where the server wants a (better)
// token, [operation.DiscoveryFailed] where it cannot be reached or listed, and neither
// where the fields are wrong.
//
// The connection belongs to the registrations, and is closed by the Release of the
// last one.
func (f *FromMCP) Import(ctx context.Context) ([]operation.Registration, error) {
	l, err := f.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer l.release()
	tools, err := l.listed()
	if err != nil {
		return nil, err
	}
	return f.registrations(l, tools), nil
}

// Quarantined is what the server listed last and is no operation, with the reasons;
// nil where nothing is connected.
func (f *FromMCP) Quarantined() []interop.Quarantine {
	f.mu.Lock()
	l := f.link
	f.mu.Unlock()
	if l == nil || !l.take() {
		return nil
	}
	defer l.release()
	tools, err := l.listed()
	if err != nil {
		return nil
	}
	_, left := f.operations(l, tools)
	return append(l.fleet.Quarantined(), left...)
}

// hold is the link to the server, connected and held for the caller, who releases it.
func (f *FromMCP) hold(ctx context.Context) (*link, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	old := f.link != nil && f.link.take()
	if !old {
		f.link = newLink(f)
	}
	l := f.link
	f.mu.Unlock()
	if err := l.settle(ctx, old); err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// check says what is wrong with the fields. It shows nothing of the URL: all of it may
// be secret.
func (f *FromMCP) check() error {
	u, err := url.Parse(f.Endpoint)
	switch {
	case f.Namespace == "":
		return errors.New("bridge: FromMCP needs a namespace: what this program calls the server")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("bridge: %s: the endpoint is not the URL of a server: it begins with http:// or https://, and commands are never run", f.Namespace)
	case u.User != nil:
		return fmt.Errorf("bridge: %s: the endpoint has a user or a password in it: a token belongs into Token", f.Namespace)
	}
	return nil
}

// capability is the name of the token's.
func (f *FromMCP) capability() string { return cmp.Or(f.Capability, "mcp:"+f.Namespace) }

func (f *FromMCP) logger() *slog.Logger { return cmp.Or(f.Logger, slog.New(slog.DiscardHandler)) }

// String is the namespace, and the URL without what may be secret.
func (f *FromMCP) String() string {
	return f.Namespace + " (" + interop.HTTP{URL: f.Endpoint}.String() + ")"
}

// Format is what every verb of package fmt prints: [FromMCP.String].
func (f *FromMCP) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, f.String()) }

// LogValue is what slog prints: [FromMCP.String].
func (f *FromMCP) LogValue() slog.Value { return slog.StringValue(f.String()) }
