package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/indusagi/indus/interop"
)

// advice is one sentence for why the server is not connected: by what it said
// itself, else by how it failed, else by the kind of its fault.
func (x *exam) advice() string {
	var says string
	if _, ok := x.row.Server.Transport.(interop.Stdio); ok {
		says = x.processAdvice()
	} else {
		says = x.networkAdvice()
	}
	var fault *interop.Fault
	if says == "" && x.status.Era != "" {
		says = x.listAdvice()
	}
	if says == "" && errors.As(x.failed, &fault) {
		says = advice(fault)
	}
	return says
}

// listAdvice is about a server that shook hands, and then did not list its tools.
func (x *exam) listAdvice() string {
	var rpc *interop.RPCError
	switch {
	case errors.As(x.failed, &rpc):
		return "the server fails by itself when it is asked for its tools: its log says why; does it have all that it needs in \"env\"?"
	case errors.Is(x.failed, interop.Timeout):
		return "raise \"timeout\", if it is slow to find its tools; else its log says where it hangs"
	case x.status.Phase.Terminal():
		return "it died when it was asked for its tools: run the command by hand, and look at its log"
	}
	return ""
}

// processAdvice is about a server that is a process.
func (x *exam) processAdvice() string {
	t := x.row.Server.Transport.(interop.Stdio)
	if says := x.complaint(t); says != "" {
		return says
	}
	var status *exec.ExitError
	switch {
	case x.status.Era != "":
		return ""
	case errors.Is(x.failed, fs.ErrNotExist) && x.saw.started == 0:
		return "the interpreter in the first line of the file does not exist: mend that line, or name the interpreter as the command"
	case errors.As(x.failed, &status) && status.ExitCode() == 127:
		return "a program that it calls is not in the PATH it gets: write whole paths, or give it a \"PATH\" in \"env\""
	case errors.As(x.failed, &status) && status.ExitCode() < 0:
		return "something ended it (" + status.Error() + "): run the command by hand, and look for want of memory or a crash"
	case errors.As(x.failed, &status):
		return "run the command by hand with nothing but \"env\" set: the server gets PATH, HOME and the locale, and of other variables what \"env\" names"
	case x.exited():
		return "it ended without a word: is this the command of the server, and does it want an argument such as stdio?"
	case x.serves() != "":
		return fmt.Sprintf("it seems to serve HTTP: start it yourself and configure \"url\": %q, or find the argument that makes it speak over stdio", x.serves())
	case errors.Is(x.failed, interop.Timeout) && x.saw.noises > 0:
		return "what it prints on stdout is no MCP: logs belong on stderr; is this the command of the server itself, and does it speak over stdio?"
	case errors.Is(x.failed, interop.Timeout) && runner(t) != "":
		return "the first start may download: run the command by hand once, or raise \"timeout\""
	case errors.Is(x.failed, interop.Timeout):
		return "it runs and says nothing: does it speak MCP over stdio, and not over HTTP? A slow one needs a longer \"timeout\""
	}
	return ""
}

// complaints are what programs say on stderr when they cannot go on, and what to do.
// The first that fits is taken. Where one of the variables of with is set here and
// the server did not get it, that is more likely to be the reason.
var complaints = []struct {
	says *regexp.Regexp
	try  string
	with []string
}{
	{regexp.MustCompile(`(?i)cannot connect to the docker daemon|docker daemon is not running|docker\.sock|error during connect|cannot connect to podman`),
		"start Docker (or Podman): it is installed, and does not run", []string{"DOCKER_HOST", "CONTAINER_HOST", "XDG_RUNTIME_DIR"}},
	{regexp.MustCompile(`(?i)unable to find image|pull access denied|manifest unknown`),
		"the image is not there: is its name right, and are you logged in to its registry?", nil},
	{regexp.MustCompile(`(?i)npm (error|ERR!).*(E404|404 not found)|no matching version|could not determine executable|not found in the package registry|no solution found`),
		"no such package, or none with such a command: check its name and version in \"args\"", nil},
	{regexp.MustCompile(`(?i)self.signed certificate|unable to (verify|get local issuer)|UNABLE_TO_VERIFY|CERTIFICATE_VERIFY_FAILED|unknown authority`),
		"it does not trust a certificate: of an authority of your own name the file as NODE_EXTRA_CA_CERTS or SSL_CERT_FILE in \"env\"",
		[]string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"}},
	{regexp.MustCompile(`(?i)ENOTFOUND|EAI_AGAIN|ETIMEDOUT|network is unreachable|temporary failure in name resolution|failed to fetch`),
		"it needs the network and cannot reach it: check the connection, and whether it needs a proxy (HTTPS_PROXY in \"env\")",
		[]string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "NPM_CONFIG_REGISTRY", "UV_INDEX_URL"}},
	{regexp.MustCompile(`(?i)EBADENGINE|unsupported engine|requires node|node.*version.*(not supported|required)|requires-python|requires python`),
		"it needs another version of Node.js or Python: name that one's own path in \"command\"", nil},
	{regexp.MustCompile(`(?i)MODULE_NOT_FOUND|cannot find (module|package)|ModuleNotFoundError|no module named`),
		"a file or a library of it is missing: check the path in \"args\", and install or build the server",
		[]string{"NODE_PATH", "PYTHONPATH", "VIRTUAL_ENV"}},
	{regexp.MustCompile(`(?i)EADDRINUSE|address already in use`),
		"it wants a port that is taken: is it running already? It may be a server to be reached by \"url\"", nil},
	{regexp.MustCompile(`(?im)^(env|sh|bash|/\S*): .*(not found|no such file)|command not found`),
		"a program that it calls is not in the PATH it gets: write whole paths, or give it a \"PATH\" in \"env\"", nil},
	{regexp.MustCompile(`(?i)\bEACCES\b|permission denied|\bEPERM\b`),
		"it may not read or write something: check the permissions of what its message names", nil},
	{regexp.MustCompile(`(?i)unauthorized|status(?: code)?:? 401|invalid (?:api )?(?:key|token)|bad credentials`),
		"what it got to sign in with is refused: check the key or token in \"env\"", nil},
	{regexp.MustCompile(`(?im)unknown (option|argument|flag)|unrecognized (option|argument)|^usage:`),
		"it does not take these arguments: check \"args\" against its documentation", nil},
	{regexp.MustCompile(`(?i)ECONNREFUSED|connection refused`),
		"what it needs itself cannot be reached: is the service running that its message names?", nil},
}

// complaint is advice by what the server said on stderr.
func (x *exam) complaint(t interop.Stdio) string {
	l := lookUp(t)
	if says := x.missingVariable(l); says != "" {
		return says
	}
	for _, c := range complaints {
		if !c.says.MatchString(x.saw.stderr) {
			continue
		}
		for _, name := range c.with {
			if _, set := os.LookupEnv(name); set && !l.has(name) {
				return notPassed(name)
			}
		}
		return c.try
	}
	return ""
}

// notPassed is advice about a variable that a server may miss.
func notPassed(name string) string {
	return fmt.Sprintf(`%s is set here and is not passed on: "env": {"%s": "${%s}"}`, name, name, name)
}

var (
	capitals = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)
	wants    = regexp.MustCompile(`(?i)required|missing|not set|must be set|not (?:been )?(?:defined|provided|found|configured)|undefined|environment variable|env var|please (?:set|provide)|KeyError`)
)

// missingVariable is advice where a server asks for a variable that it did not get.
func (x *exam) missingVariable(l *lookup) string {
	for line := range strings.Lines(x.saw.stderr) {
		for _, name := range capitals.FindAllString(line, -1) {
			_, set := os.LookupEnv(name)
			switch {
			case l.has(name):
			case set:
				return notPassed(name)
			case wants.MatchString(line):
				return fmt.Sprintf(`it asks for the variable %s: give it in "env", such as "env": {"%s": "${%s}"}, and set it`, name, name, name)
			}
		}
	}
	return ""
}

// address is where a server says that it listens.
var address = regexp.MustCompile(`https?://[\w.\-\[\]:]+[\w/\-.]*`)

// serves is the URL at which a server that should speak over stdio says it serves.
func (x *exam) serves() string {
	for _, text := range append(slices.Clone(x.saw.noise), x.saw.stderr) {
		for _, found := range address.FindAllString(text, -1) {
			u, err := url.Parse(strings.TrimRight(found, "./"))
			if err == nil && (u.Hostname() == "localhost" || u.Hostname() == "0.0.0.0" || net.ParseIP(u.Hostname()).IsLoopback()) && u.Port() != "" {
				return u.String()
			}
		}
	}
	return ""
}

// networkAdvice is about a server at a URL.
func (x *exam) networkAdvice() string {
	u := x.url()
	var dns *net.DNSError
	var op *net.OpError
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	var answer *interop.HTTPError
	err := x.failed
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return "the proxy " + x.saw.net.proxy + " cannot be reached: check HTTP_PROXY and HTTPS_PROXY, or name the host in NO_PROXY"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no such host: check its name in \"url\", and whether it needs a VPN"
	case errors.As(err, &dns):
		return "names cannot be looked up: check the network and its DNS"
	case errors.As(err, &authority):
		return "who signed the certificate is not known here: of an authority of your own name the certificate file in SSL_CERT_FILE"
	case errors.As(err, &name):
		return "the certificate is for another host: use the name that it is for"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired, or this machine's clock is wrong"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS there: write http:// in place of https://"
	case errors.As(err, &invalid), errors.As(err, &alert):
		return "TLS fails: the server, or something between, presents a certificate or a version that cannot be used"
	case errors.As(err, &answer):
		return x.answerAdvice(answer, u)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens at " + u.Host + ": is the server running, and is the port right?"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return u.Hostname() + " cannot be reached from here: check the network, a VPN, a firewall"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "it hangs up when it is asked: is that an MCP server, and http:// or https:// right?"
	case errors.Is(err, interop.Timeout) && x.saw.net.tcp == nil:
		return u.Host + " does not answer at all: check the host, a VPN, a firewall"
	case errors.Is(err, interop.Timeout):
		return "it takes the connection and does not answer: is that an MCP server? A slow one needs a longer \"timeout\""
	}
	return ""
}

// answerAdvice is about an answer of HTTP that is none of MCP.
func (x *exam) answerAdvice(a *interop.HTTPError, u *url.URL) string {
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	switch {
	case a.Status == http.StatusUnauthorized && x.authorized():
		return "it refuses the Authorization that it got: is the token still good, and for this server?"
	case a.Status == http.StatusUnauthorized && strings.Contains(a.Header.Get("WWW-Authenticate"), "resource_metadata"):
		return `it wants a sign-in by OAuth: get a token from its provider, and give it as "headers": {"Authorization": "Bearer ${TOKEN}"}`
	case a.Status == http.StatusUnauthorized:
		return `it wants authorization: give it "headers": {"Authorization": "Bearer ${TOKEN}"}, or the header that its documentation names`
	case a.Status == http.StatusForbidden:
		return "it knows who asks and refuses: check what the token or key may do, and whether the server lets in this address"
	case a.Status/100 == 3:
		return "the server is elsewhere: write the URL that it redirects to"
	case a.Status == http.StatusBadRequest && strings.Contains(a.Body, "HTTPS"):
		return "it speaks TLS there: write https:// in place of http://"
	case a.Status == http.StatusNotFound, a.Status == http.StatusGone, a.Status/100 == 2 && kind == "text/html":
		return "there is no MCP at the path " + orElse(u.Path, "/") + ": it is often /mcp, or /sse of older servers"
	case x.row.Kind == interop.KindSSE && a.Status/100 == 4:
		return `it does not speak HTTP+SSE at this path: remove "transport": "sse", and indus finds out which of the two it speaks`
	case a.Status == http.StatusMethodNotAllowed, a.Status == http.StatusNotAcceptable, a.Status == http.StatusUnsupportedMediaType:
		return `something else than MCP answers, or the other transport: check the path, and try "transport": "sse" or "http"`
	case a.Status == http.StatusProxyAuthRequired:
		return "the proxy wants a password: put it in HTTPS_PROXY, or name the host in NO_PROXY"
	case a.Status == http.StatusTooManyRequests:
		return "it has had too many requests: wait, then try again"
	case a.Status == http.StatusBadGateway, a.Status == http.StatusServiceUnavailable, a.Status == http.StatusGatewayTimeout:
		return "what stands before the server answers, and the server does not: is it running?"
	case a.Status/100 == 5:
		return "the server has a fault of its own: its log says which"
	}
	return ""
}

// url is where the server is.
func (x *exam) url() *url.URL {
	address := ""
	switch t := x.row.Server.Transport.(type) {
	case interop.HTTP:
		address = t.URL
	case interop.SSE:
		address = t.URL
	}
	u, err := url.Parse(address)
	if err != nil {
		return &url.URL{}
	}
	return u
}

// authorized reports whether an Authorization is configured.
func (x *exam) authorized() bool {
	var headers []interop.Pair
	switch t := x.row.Server.Transport.(type) {
	case interop.HTTP:
		headers = t.Headers
	case interop.SSE:
		headers = t.Headers
	}
	return slices.ContainsFunc(headers, func(p interop.Pair) bool { return strings.EqualFold(p.Name, "Authorization") })
}
