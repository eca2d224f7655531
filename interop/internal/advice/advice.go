// Package advice has the sentences that tell a person what to try after a fault of package interop. They are a table,
// and [For] selects the first row that matches the cause. The package also has the causes that only advice and
// interop know. Its functions are pure, and may be called from any goroutine. They return no errors.
package advice

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/indusagi/indus/internal/box"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/proxied"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/lane"
)

// Failure is a fault of package interop.
type Failure struct {
	Err     error  // with the whole chain
	Kind    string // the kind of the fault
	Server  string // its id, or ""
	Calling bool   // a tool was called; otherwise the fault concerns connecting or listing
}

// DeniedError is the reason why a tool is left out.
type DeniedError struct{ Why string }

func (e *DeniedError) Error() string { return e.Why }

// LockError is why a server with a locked package did not start.
type LockError struct{ Err error }

func (e *LockError) Error() string { return e.Err.Error() }
func (e *LockError) Unwrap() error { return e.Err }

var (
	// ErrInputRequired is returned for a result that asks a question.
	ErrInputRequired = &conn.ProtocolError{What: "the server asks for input, and no client here can answer"}
	// ErrSingle is returned for a server that other programs run, too.
	ErrSingle = errors.New(`it is "single" and runs once in a cluster, and this program is no replica of it`)
	// ErrNowhere is returned if no program that runs the server can be reached.
	ErrNowhere = errors.New("no replica that runs it can be reached")
)

// For returns one sentence for a person: the next step to try after the failure.
func For(f Failure) string {
	f.Err = conn.Decisive(f.Err)
	c := &circumstance{Failure: f}
	errors.As(f.Err, &c.rpc)
	errors.As(f.Err, &c.http)
	errors.As(f.Err, &c.exit)
	if answered, ok := errors.AsType[*conn.AnsweredError](f.Err); ok && answered.HTTP == c.http {
		c.http = nil // the server's own reply counts, not its HTTP status
	} else if c.http != nil {
		c.rpc = nil
	}
	for _, row := range Rows {
		if row.when(c) {
			advice := strings.ReplaceAll(row.Advice, "SERVER", shellWord(f.Server, "-_.", "SERVER"))
			if _, principal, _ := SignIn(f.Err); principal != "" {
				advice += " --as " + shellWord(principal, "-_.:/@#", "PRINCIPAL")
			}
			return advice
		}
	}
	return ""
}

// SignIn returns the server that needs a sign-in, and the principal to sign in, if an error in the chain has a method
// SignIn() (resource, who string). An empty principal is the user of this program.
func SignIn(err error) (resource, principal string, needed bool) {
	e, needed := errors.AsType[interface {
		error
		SignIn() (resource, principal string)
	}](err)
	if needed {
		resource, principal = e.SignIn()
	}
	return resource, principal, needed
}

// circumstance is a failure with the errors that its chain contains.
type circumstance struct {
	Failure
	rpc  *protocol.RPCError // nil if there is none
	http *conn.HTTPError    // nil if there is none
	exit *exec.ExitError
}

// shellWord returns name if it has only letters, digits and the characters of allowed, so that a person can type it
// without quotes.
func shellWord(name, allowed, placeholder string) string {
	for _, c := range name {
		if !strings.ContainsRune(allowed, c) && (c < '0' || c > 'z' || c > '9' && c < 'A' || c > 'Z' && c < 'a') {
			return placeholder
		}
	}
	return cmp.Or(name, placeholder)
}

// condition selects the failures of a row.
type condition func(*circumstance) bool

func hasCause[E error](c *circumstance) bool { _, ok := errors.AsType[E](c.Err); return ok }

// causeThat is hasCause for an error with a property.
func causeThat[E error](holds func(E) bool) condition {
	return func(c *circumstance) bool { e, ok := errors.AsType[E](c.Err); return ok && holds(e) }
}

func isAny(targets ...error) condition {
	return func(c *circumstance) bool {
		return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(c.Err, t) })
	}
}

func hasStatus(list ...int) condition {
	return func(c *circumstance) bool { return c.http != nil && slices.Contains(list, c.http.Status) }
}

func hasCode(list ...int64) condition {
	return func(c *circumstance) bool { return c.rpc != nil && slices.Contains(list, c.rpc.Code) }
}

func hasKind(k string) condition { return func(c *circumstance) bool { return c.Kind == k } }

func isCalling(c *circumstance) bool { return c.Calling }

func allOf(conditions ...condition) condition {
	return func(c *circumstance) bool {
		return !slices.ContainsFunc(conditions, func(holds condition) bool { return !holds(c) })
	}
}

func anyOf(conditions ...condition) condition {
	return func(c *circumstance) bool {
		return slices.ContainsFunc(conditions, func(holds condition) bool { return holds(c) })
	}
}

func (c *circumstance) needsSignIn() bool {
	_, _, needed := SignIn(c.Err)
	return needed
}

// hungUp reports whether the connection ended before the reply.
func (c *circumstance) hungUp() bool {
	return hasCause[*conn.LostError](c) || hasCause[*conn.CutError](c) ||
		isAny(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE)(c)
}

// isUnsent reports whether a request was not sent because its RoundTripper has no token: see
// interop.EndpointOptions.RoundTripper.
func (c *circumstance) isUnsent() bool {
	return hasCause[interface {
		error
		Unsent()
	}](c)
}

const (
	unknownOutcome = "the tool may have run: check before you call it again"
	notMCP         = "the server's stdout is not MCP, which is one JSON message per line, in UTF-8, " +
		"without colors and headers, and each reply with the id of its request: " +
		"start the server in its stdio mode, update it, or report this to its authors"
)

// Row is the advice after a failure with a cause.
type Row struct {
	Cause  string
	when   condition
	Advice string
}

// Rows is the table of all advice. The first row that matches is used. The last rows match by kind alone.
var Rows = []Row{
	// faults of a call
	{"the configuration leaves the tool out", hasCause[*DeniedError],
		`the configuration excludes this tool: to use it, change "tools" in the server's entry`},
	{"input_required", isAny(ErrInputRequired),
		"the tool asks the user a question, and this client cannot ask it: give the answer in the arguments, " +
			"or call the tool through indus serve from a client that supports elicitation"},
	{"an answer beyond the limit", hasCause[*wire.TooLong],
		"the reply is larger than indus accepts: request less at once"},
	{"the session is gone", hasCause[*conn.SessionError], "the server restarted or dropped the session: call again"},
	{"a server that runs once in a cluster, and no replica that runs it", isAny(ErrNowhere),
		"the request was not sent: try again; if it fails again, read the logs of the replicas"},
	{"a locked package that is missing or has changed", hasCause[*LockError],
		"install the locked version again: indus mcp lock SERVER"},
	{"a server that runs once in a cluster, in another command", isAny(ErrSingle), "use it through indus serve"},
	{"the connection ended before the call went out", allOf(isCalling, hasCause[*conn.UnsentError],
		func(c *circumstance) bool { return c.http == nil && c.rpc == nil && !isAny(syscall.ECONNREFUSED)(c) }),
		"the call was not sent: call again"},
	{"the process ended during the call", allOf(isCalling, hasCause[*conn.ExitError]),
		"the server's process ended; " + unknownOutcome},

	{"HTTP 4xx to HTTP+SSE", hasCause[*conn.NotSSEError],
		`the server does not support HTTP+SSE at this path: remove "transport": "sse", ` +
			`and indus detects the transport`},

	{"a sign-in that a person must do", (*circumstance).needsSignIn, "sign in: indus mcp login SERVER"},
	{"a call, and indus cannot get a token by itself", allOf(isCalling, (*circumstance).isUnsent),
		"the tool did not run, because indus has no token for its server: indus mcp doctor SERVER shows which step of " +
			"the sign-in fails"},
	{"another request, and indus cannot get a token by itself", (*circumstance).isUnsent,
		"indus has no token for the server: indus mcp doctor SERVER shows which step of the sign-in fails"},

	// JSON-RPC errors
	{"-32602", allOf(isCalling, hasCode(protocol.CodeInvalidParams)),
		"check the arguments against the tool's schema, then try again"},
	{"-32601", hasCode(protocol.CodeMethodNotFound),
		"the server does not know this method: is it an MCP server, and does it still have this tool?"},
	{"-32700, -32600, -32020, -32021", hasCode(protocol.CodeParse, protocol.CodeInvalidRequest,
		protocol.CodeHeaderMismatch, protocol.CodeMissingCapability),
		"the server rejects the request as malformed: update the server or indus, and check any proxy between them"},
	{"no version of the protocol in common", anyOf(hasCode(protocol.CodeUnsupportedVersion), hasCause[*conn.VersionError]),
		"the server supports another version of MCP: update the server or indus"},
	{"any other JSON-RPC code", func(c *circumstance) bool { return c.rpc != nil },
		`the server returned an error: read its log, and check that "env" has everything it needs`},

	// HTTP errors
	{"HTTP 401, with the Authorization that is configured", allOf(hasStatus(401),
		func(c *circumstance) bool { return c.http.Authorized }),
		"the server rejects the Authorization header: is the token still valid, and for this server?"},
	{"HTTP 401 that names where to sign in", func(c *circumstance) bool {
		return hasStatus(401)(c) && strings.Contains(c.http.Header.Get("WWW-Authenticate"), "resource_metadata")
	}, `the server requires an OAuth sign-in: indus mcp login SERVER; or get a token from its provider, and write ` +
		`"headers": {"Authorization": "Bearer ${TOKEN}"}`},
	{"HTTP 401", hasStatus(401),
		`the server requires authorization: write "headers": {"Authorization": "Bearer ${TOKEN}"}, or the header that its ` +
			`documentation names`},
	{"HTTP 403", hasStatus(403),
		"the server denies access: check the permissions of the token or key, and whether the server admits this address"},
	{"HTTP 407", anyOf(hasStatus(407), causeThat(func(e *proxied.Error) bool { return e.Status == 407 })),
		"the proxy requires a password: add it to the URL in HTTPS_PROXY, or add the host to NO_PROXY"},
	{"notifications/initialized fails", func(c *circumstance) bool {
		return hasCause[*conn.InitializedError](c) && !hasCause[*conn.ExitError](c)
	},
		"the server answers initialize, and not the notification after it: update the server, and check any proxy in " +
			"front of it"},
	{"HTTP 3xx", func(c *circumstance) bool { return c.http != nil && c.http.Status/100 == 3 },
		"the server has moved: write the URL that it redirects to"},
	{"HTTP 400 of a server that speaks TLS", allOf(hasStatus(400),
		func(c *circumstance) bool { return strings.Contains(c.http.Body, "HTTPS") }),
		"the server expects TLS: replace http:// with https://"},
	{"HTTP+SSE with an endpoint event that leads to no server", hasCause[*conn.EndpointError],
		"the stream of events works, and the path for messages does not: a proxy in front of the server may take away " +
			"a prefix of the path: configure that prefix at the server (root_path, --base-path), or use /mcp"},
	{"HTTP+SSE with an endpoint event of another origin", hasCause[*conn.OriginError],
		"the endpoint event names another scheme, host or port than the URL, and headers are not sent there: if a proxy " +
			"ends TLS or renames the host, configure the server's public URL (X-Forwarded-Proto), or use /mcp"},
	{"HTTP 404, 410, or a web page", func(c *circumstance) bool {
		return hasStatus(404, 410)(c) || c.http != nil && c.http.Status/100 == 2 &&
			strings.HasPrefix(c.http.Header.Get("Content-Type"), "text/html")
	}, "there is no MCP server at this path: the usual paths are /mcp and, for older servers, /sse"},
	{"HTTP 413", hasStatus(413), "the arguments are larger than the server accepts: send less at once"},
	{"HTTP 429", hasStatus(429), "the server received too many requests: wait, then try again"},
	{"HTTP 408, 502, 503, 504", hasStatus(408, 502, 503, 504),
		"a proxy answers, but the server behind it does not: is the server running?"},
	{"HTTP 5xx", func(c *circumstance) bool { return c.http != nil && c.http.Status/100 == 5 },
		"the server has an internal error: read its log"},
	{"any other status", func(c *circumstance) bool { return c.http != nil },
		`the reply is not MCP, or the server uses the other HTTP transport: check the path, and try ` +
			`"transport": "sse" or "http"`},

	// network errors
	{"a proxy that answers CONNECT with HTTP 502, 503 or 504",
		causeThat(func(e *proxied.Error) bool { return e.Status == 502 || e.Status == 503 || e.Status == 504 }),
		"the proxy cannot reach the server: check the host in the URL, or add it to NO_PROXY"},
	{"a proxy that refuses to connect", hasCause[*proxied.Error],
		"the proxy refuses connections to this server: ask for its permission, or add the host to NO_PROXY"},
	{"a proxy that cannot be reached", causeThat(func(e *net.OpError) bool { return e.Op == "proxyconnect" }),
		"the proxy cannot be reached: check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or add the host to NO_PROXY"},
	{"no such host", causeThat(func(e *net.DNSError) bool { return e.IsNotFound }),
		`check the name of the host in "url", and whether a VPN is needed`},
	{"DNS", hasCause[*net.DNSError], "host names cannot be resolved: check the network and its DNS"},
	{"a certificate of an unknown authority", hasCause[x509.UnknownAuthorityError],
		"an unknown authority signed the certificate: if the authority is your own, set SSL_CERT_FILE to " +
			"its certificate file"},
	{"a certificate of another host", hasCause[x509.HostnameError],
		"the certificate is for another host: use the name in the certificate"},
	{"an expired certificate", causeThat(func(e x509.CertificateInvalidError) bool { return e.Reason == x509.Expired }),
		"the certificate has expired, or this machine's clock is wrong"},
	{"no TLS", anyOf(hasCause[tls.RecordHeaderError], isAny(http.ErrSchemeMismatch)),
		"the server does not use TLS at this address: replace https:// with http://"},
	{"TLS", anyOf(hasCause[x509.CertificateInvalidError], hasCause[tls.AlertError]),
		"the TLS handshake failed: the server, or a proxy, presents a certificate or a TLS version that cannot be used"},
	{"connection refused", isAny(syscall.ECONNREFUSED),
		"no program listens at this address: is the server running, and is the port right?"},
	{"host or network unreachable", isAny(syscall.EHOSTUNREACH, syscall.ENETUNREACH),
		"the host cannot be reached from here: check the network, the VPN and the firewall"},

	// process errors
	{"a system that cannot enforce a sandbox", hasCause[*box.Unenforced],
		"docs/sandbox.md lists the needs of a sandbox, and indus mcp sandbox attack tests this system"},
	{`no such "cwd"`, causeThat(func(e *fs.PathError) bool { return e.Op == "chdir" }),
		`the path in "cwd" does not exist or is not a directory: create it, or correct "cwd"`},
	{"no such command", isAny(exec.ErrNotFound),
		`the command is not installed, or not in the PATH: install it, or write its full path in "command"`},
	{"a directory", allOf(hasKind("spawn_failed"), isAny(syscall.EISDIR)),
		"the command is a directory: name a program in it"},
	{"a file that may not be executed", allOf(hasKind("spawn_failed"), isAny(fs.ErrPermission)),
		"the file is not executable: chmod +x it, or use its interpreter as the command"},
	{"no such file", allOf(hasKind("spawn_failed"), isAny(fs.ErrNotExist)),
		"the command, or the interpreter in its first line, does not exist: is the path right, and the server installed?"},
	{"a process that ended after it was connected", allOf(hasCause[*conn.ExitError],
		func(c *circumstance) bool { return c.Kind != "spawn_failed" }),
		"the process ended after it had connected: read its log"},
	{"the browser of a server in a sandbox", causeThat(func(e *conn.ExitError) bool {
		return e.Confined() && e.Says("No usable sandbox", "zygote_host", "Failed to move to new namespace", "chrome-sandbox")
	}), "the browser's own sandbox cannot start in this one: add the argument --no-sandbox to the browser"},
	{"a server in a sandbox that may not use a file or a host", causeThat(func(e *conn.ExitError) bool {
		return e.Confined() && e.Says("EACCES", "EPERM", "ermission denied", "not permitted", "ENOTFOUND", "EAI_AGAIN",
			"ame or service not known", "PermissionError")
	}), "its sandbox may not allow that: indus mcp sandbox test SERVER shows refused connections"},
	{"a container engine that does not run", causeThat(func(e *conn.ExitError) bool {
		return e.Says("Cannot connect to the Docker daemon", "failed to connect to the docker API",
			"Cannot connect to Podman")
	}), `start Docker or Podman, or name the address of its daemon: "env": {"DOCKER_HOST": …}`},
	{"exit status 127", func(c *circumstance) bool { return c.exit != nil && c.exit.ExitCode() == 127 },
		`a program that the command calls is not in its PATH: write full paths, or set "PATH" in "env"`},
	{"a signal", func(c *circumstance) bool { return c.exit != nil && c.exit.ExitCode() < 0 },
		"a signal ended the process: run the command by hand, and look for a crash or a lack of memory"},
	{"any other exit status", func(c *circumstance) bool { return c.exit != nil },
		`run the command by hand in the environment of the server: PATH, HOME, the locale and the variables in "env"`},
	{"exit status 0", hasCause[*conn.ExitError],
		"the process exited without an error: does this command start the server, and does it need an " +
			"argument such as stdio?"},

	// errors of any transport
	{"busy", hasCause[*lane.BusyError],
		`the request was not sent: try again later, or raise this server's "maxConcurrent", "maxQueue", ` +
			`"maxPrincipals", "instances" or "timeout": {"queue": …}`},
	{"the connection ended during the call", allOf(isCalling, (*circumstance).hungUp),
		"the connection ended before the reply; " + unknownOutcome},
	{"the connection ended during another request", allOf(hasKind("protocol"), (*circumstance).hungUp),
		"the connection ended before the reply: try again"},
	{"the connection ended otherwise", (*circumstance).hungUp,
		"the server closes the connection without a reply: is it an MCP server, and is http:// or https:// right?"},
	{"bytes that answer no request, in a call", allOf(isCalling, hasKind("timeout"), hasCause[*conn.UnmatchedError]),
		notMCP + "; " + unknownOutcome},
	{"bytes that answer no request", allOf(hasKind("timeout"), hasCause[*conn.UnmatchedError]), notMCP},
	{"a timeout of a call", allOf(hasKind("timeout"), isCalling),
		"the tool is slow or hangs: raise this server's timeout; " + unknownOutcome},

	{"timeout", hasKind("timeout"),
		`try again (npx, uvx and docker download a server before its first start, behind a proxy only with its ` +
			`variables in "env", such as NODE_EXTRA_CA_CERTS), or raise this server's timeout`},
	{"protocol", hasKind("protocol"), "the server violates the protocol: update it, or report this to its authors"},
	{"not_connected", hasKind("not_connected"), "wait until the server is ready, or see why it is not: indus mcp ls"},
	{"transport", hasKind("transport"), "check that the server runs, and that its URL and headers are right"},
	{"spawn_failed", hasKind("spawn_failed"),
		"run the command by hand: is it installed, and does it start an MCP server?"},
	{"tool_error", hasKind("tool_error"), "the call failed before a reply arrived; " + unknownOutcome},
}
