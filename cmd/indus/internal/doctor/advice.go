package doctor

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/indusagi/indus/interop"
)

// advice is one sentence for why the server is not connected: by what it said itself, by
// what only its transport knows, else by how it failed.
func (x *exam) advice() string {
	var fault *interop.Fault
	says := ""
	if t, ok := x.row.Server.Transport.(interop.Stdio); ok {
		says = x.processAdvice(t)
	} else if x.saw.net.tcp == nil && errors.Is(x.failed, interop.Timeout) {
		says = x.row.Server.Transport.(fmt.Stringer).String() + " does not answer at all: check the host, a VPN, a firewall"
	} else if x.status.Era == "" && errors.Is(x.failed, interop.Timeout) {
		says = "it takes the connection and does not answer: is that an MCP server? A slow one needs a longer \"timeout\""
	}
	if says == "" && errors.As(x.failed, &fault) {
		says = fault.Advice()
	}
	return says
}

// processAdvice is about a server that is a process; "": what its fault says is all.
func (x *exam) processAdvice(t interop.Stdio) string {
	if says := x.complaint(t); says != "" {
		return says
	}
	late := errors.Is(x.failed, interop.Timeout)
	switch {
	case x.status.Era != "" || x.exited():
		return ""
	case x.serves() != "":
		return fmt.Sprintf("it seems to serve HTTP: start it yourself and configure \"url\": %q, or find the argument that makes it speak over stdio", x.serves())
	case late && x.saw.noises > 0:
		return "what it prints on stdout is no MCP: logs belong on stderr; is this the command of the server itself, and does it speak over stdio?"
	case late && runner(t) != "":
		if says := firstNotPassed(lookUp(t), slices.Concat(trust, network)); says != "" {
			return says
		}
		return "the first start may download: run the command by hand once, or raise \"timeout\""
	case late:
		return "it runs and says nothing: does it speak MCP over stdio, and not over HTTP? A slow one needs a longer \"timeout\""
	}
	return ""
}

// What downloads and connections may need of the environment; npx says nothing while it tries
// again and again without.
var (
	trust   = []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"}
	network = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "NPM_CONFIG_REGISTRY", "UV_INDEX_URL"}
)

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
		trust},
	{regexp.MustCompile(`(?i)ENOTFOUND|EAI_AGAIN|ETIMEDOUT|network is unreachable|temporary failure in name resolution|failed to fetch`),
		"it needs the network and cannot reach it: check the connection, and whether it needs a proxy (HTTPS_PROXY in \"env\")",
		network},
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
		if says := firstNotPassed(l, c.with); says != "" {
			return says
		}
		return c.try
	}
	return ""
}

// firstNotPassed is advice about the first variable that is set here and that the server did not get.
func firstNotPassed(l *lookup, names []string) string {
	for _, name := range names {
		if _, set := os.LookupEnv(name); set && !l.has(name) {
			return notPassed(name)
		}
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
