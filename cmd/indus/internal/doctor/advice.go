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

// advice is what to try where a server is not connected: [interop.Fault.Advice], unless what was observed here says more.
func (x *examined) advice() string {
	late, connected := errors.Is(x.failed, interop.Timeout), x.status.Era != ""
	if x.command != nil && !connected {
		if says := x.processAdvice(late); says != "" {
			return says
		}
	} else if late && !x.tcp.ended {
		return fmt.Sprint(x.Server.Transport) + " does not answer at all: check the host, a VPN, a firewall"
	} else if late && !connected {
		return `it takes the connection and does not answer: is that an MCP server? A slow one needs a longer "timeout"`
	}
	if fault, ok := errors.AsType[*interop.Fault](x.failed); ok {
		return fault.Advice()
	}
	return ""
}

// processAdvice is about a server that is a process; "": its fault says all.
func (x *examined) processAdvice(late bool) string {
	l := x.command
	if says := x.missingVariable(); says != "" {
		return says
	}
	fetches := fetcher(l.Stdio) != ""
	if fetches && (late || x.exited()) {
		for _, name := range networkVariables {
			if _, set := os.LookupEnv(name); set && !l.has(name) {
				return notPassedOn(name)
			}
		}
	}
	switch served := x.servedURL(); {
	case x.exited():
		return ""
	case served != "":
		return fmt.Sprintf(`it seems to serve HTTP: start it yourself and configure "url": %q, or find the argument that makes it speak over stdio`, served)
	case late && regexp.MustCompile(`answers no request: [a-z]`).MatchString(x.failed.Error()): // it is known what it sends
		return "" // its fault says more
	case late && x.noises > 0:
		return "what it prints on stdout is no MCP: logs belong on stderr; is this the command of the server itself, and does it speak over stdio?"
	case late && fetches:
		return `the first start may download: run the command by hand once, or raise "timeout"`
	case late:
		return `it runs and says nothing: does it speak MCP over stdio, and not over HTTP? A slow one needs a longer "timeout"`
	}
	return ""
}

// networkVariables are what downloads and connections may need of the environment. npx says nothing while it tries again and
// again without.
var networkVariables = []string{
	"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy",
	"ALL_PROXY", "NPM_CONFIG_REGISTRY", "UV_INDEX_URL", "DOCKER_HOST", "CONTAINER_HOST",
}

func notPassedOn(name string) string {
	return fmt.Sprintf(`%s is set here and is not passed on: "env": {"%s": "${%s}"}`, name, name, name)
}

// missingVariable is advice where stderr names a variable that the server did not get.
func (x *examined) missingVariable() string {
	variableName := regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)
	asksFor := regexp.MustCompile(`(?i)required|missing|not set|must be set|not (?:been )?(?:defined|provided|found|configured)|undefined|environment variable|env var|please (?:set|provide)|KeyError`)
	for line := range strings.Lines(x.lastStderr) {
		for _, name := range variableName.FindAllString(line, -1) {
			_, set := os.LookupEnv(name)
			switch {
			case x.command.has(name):
			case set:
				return notPassedOn(name)
			case asksFor.MatchString(line):
				return fmt.Sprintf(`it asks for the variable %s: give it in "env", such as "env": {"%s": "${%s}"}, and set it`, name, name, name)
			}
		}
	}
	return ""
}

// servedURL is where a server that should speak over stdio says that it serves HTTP.
func (x *examined) servedURL() string {
	listensAt := regexp.MustCompile(`https?://[\w.\-\[\]:]+[\w/\-.]*`)
	for _, printed := range append(slices.Clone(x.noise), x.lastStderr) {
		for _, found := range listensAt.FindAllString(printed, -1) {
			u, err := url.Parse(strings.TrimRight(found, "./"))
			if err == nil && (u.Hostname() == "localhost" || u.Hostname() == "0.0.0.0" || net.ParseIP(u.Hostname()).IsLoopback()) && u.Port() != "" {
				return u.String()
			}
		}
	}
	return ""
}
