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
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/operation"
)

// FromMCP imports the tools of one MCP server as operations. Set the fields, then call [operation.Registry.Import] or
// [FromMCP.Follow]. Do not change the fields afterwards, and do not copy the value.
//
// It uses only streamable HTTP, of 2026-07-28 and earlier versions. It starts no commands, does not fall back to
// HTTP+SSE, uses no proxy, and reads no environment variables.
type FromMCP struct {
	// Endpoint is the server's URL. Secrets belong in Token.
	Endpoint string
	// Namespace is the program's name for the server. It is the namespace of the operations.
	Namespace string
	// Prefix names the operations "namespace/tool". If it is false, they have the tools' names.
	Prefix bool
	// Token is the bearer token of Import. Calls without a token of their own use it too. If it is empty, no token is
	// sent.
	Token operation.Secret
	// Capability is the name of the capability that holds a call's token. If it is empty, it is "mcp:" and Namespace,
	// so that a token for one server never reaches another.
	Capability string
	// OwnTokens restricts Token to imports. A call without a token of its own then ends with [Unauthorized], and
	// nothing is sent.
	OwnTokens bool
	// TrustAnnotations makes a tool with a read-only hint a Query. If it is false, every tool is a Mutation, because a
	// hint is not permission.
	TrustAnnotations bool
	// Timeouts limit each remote step. Zero values mean the defaults of [config.Timeouts].
	Timeouts config.Timeouts
	// Sessions limits the open sessions for tokens of calls, on a server with sessions. A call above the limit waits.
	// If it is 0, the limit is 32.
	Sessions int
	// Idle is the time that such a session stays open without a call. If it is 0, it is 5 minutes. If it is negative,
	// the session is closed after each call.
	Idle time.Duration
	// TLS is the configuration for https. If it is nil, the system's roots apply. On some systems Go finds them with
	// SSL_CERT_FILE and SSL_CERT_DIR. If RootCAs is set, Go does not read these variables.
	TLS *tls.Config
	// Logger receives records about tools that are left out and about the connection. If it is nil, nothing is logged.
	Logger *slog.Logger

	mu   sync.Mutex
	link *link // the current link, or the last one
}

var _ operation.Adapter = (*FromMCP)(nil)

const (
	defaultSessions = 32
	defaultIdle     = 5 * time.Minute
)

// Import connects to the server, unless an earlier import keeps the connection open. It returns an operation for each
// listed tool: Internal, a leaf, and without access rules. If the server requires a token or a better one, the error
// wraps [operation.Unauthorized]. If the server cannot be reached or listed, it wraps [operation.DiscoveryFailed]. If
// the fields are invalid, it wraps neither.
//
// The registrations own the connection. The Release of the last registration closes it.
func (f *FromMCP) Import(ctx context.Context) ([]operation.Registration, error) {
	l, err := f.acquireLink(ctx)
	if err != nil {
		return nil, err
	}
	defer l.release()
	tools, err := l.tools()
	if err != nil {
		return nil, err
	}
	return f.registrations(l, tools), nil
}

// Quarantined returns the tools of the last list that are not operations, with reasons. If nothing is connected, it
// returns nil.
func (f *FromMCP) Quarantined() []interop.Quarantine {
	f.mu.Lock()
	l := f.link
	f.mu.Unlock()
	if l == nil || !l.acquire() {
		return nil
	}
	defer l.release()
	tools, err := l.tools()
	if err != nil {
		return nil
	}
	_, quarantined := f.operations(l, tools)
	return append(l.fleet.Quarantined(), quarantined...)
}

// acquireLink returns the connected link to the server. The caller must release it.
func (f *FromMCP) acquireLink(ctx context.Context) (*link, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	reused := f.link != nil && f.link.acquire()
	if !reused {
		f.link = newLink(f)
	}
	l := f.link
	f.mu.Unlock()
	if err := l.connect(ctx, reused); err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// check validates the fields. Its errors do not contain the URL, because any part of it may be secret.
func (f *FromMCP) check() error {
	endpoint, err := url.Parse(f.Endpoint)
	switch {
	case f.Namespace == "":
		return errors.New("bridge: FromMCP needs a namespace: what this program calls the server")
	case err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "":
		return fmt.Errorf("bridge: %s: the endpoint is not the URL of a server: "+
			"it begins with http:// or https://, and commands are never run", f.Namespace)
	case endpoint.User != nil:
		return fmt.Errorf("bridge: %s: the endpoint has a user or a password in it: a token belongs into Token", f.Namespace)
	}
	return nil
}

// capability returns the name of the token's capability.
func (f *FromMCP) capability() string { return cmp.Or(f.Capability, "mcp:"+f.Namespace) }

func (f *FromMCP) logger() *slog.Logger { return cmp.Or(f.Logger, slog.New(slog.DiscardHandler)) }

// String returns the namespace and the URL without parts that may be secret.
func (f *FromMCP) String() string {
	return f.Namespace + " (" + config.HTTP{URL: f.Endpoint}.String() + ")"
}

// Format implements fmt.Formatter: every verb prints [FromMCP.String].
func (f *FromMCP) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, f.String()) }

// LogValue implements slog.LogValuer with [FromMCP.String].
func (f *FromMCP) LogValue() slog.Value { return slog.StringValue(f.String()) }
