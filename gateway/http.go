package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/indusagi/indus/internal/carried"
	"github.com/indusagi/indus/interop"
)

// All views are below these paths.
const (
	pathHTTP = "/mcp"
	pathSSE  = "/sse"
)

// ViewOf parses the path of a request. It returns the name of the view, which may not exist. "" is the view of
// everything. below is "/mcp", or "/sse" for HTTP+SSE. [Gateway.Handler] uses ViewOf, and so should code that checks
// whether a caller may use a view.
func ViewOf(path string) (below, name string, ok bool) {
	for _, below = range []string{pathHTTP, pathSSE} {
		name, ok = strings.CutPrefix(path, below)
		if ok && (name == "" || name[0] == '/') {
			return below, strings.Trim(name, "/"), true
		}
	}
	return "", "", false
}

// Handler serves all views: over streamable HTTP below /mcp, and over HTTP+SSE below /sse, for clients that support
// nothing newer. A caller that is refused gets the same response whether the view exists or not. If Host.Authenticate
// uses an identity.Guard, identity.FromContext returns the caller's identity in tools of the program.
func (g *Gateway) Handler() http.Handler { return http.HandlerFunc(g.serveHTTP) }

func (g *Gateway) serveHTTP(w http.ResponseWriter, r *http.Request) {
	r = carried.Request(r)
	below, name, ok := ViewOf(r.URL.Path)
	if g.leaving.Load() && !isForwarded(r) {
		w.Header().Set("Connection", "close") // the next connection of the client goes to another replica
	}
	if g.opts.Documents != nil {
		if document := g.opts.Documents(r.URL.Path); document != nil {
			document.ServeHTTP(w, r)
			return
		}
	}
	switch {
	case !ok && isHealth(r.URL.Path):
		g.health(w, r)
		return
	case !ok && g.opts.WellKnown != nil && strings.HasPrefix(r.URL.Path, "/.well-known/"):
		g.opts.WellKnown.ServeHTTP(w, r)
		return
	case !ok && g.opts.Pages != nil && strings.HasPrefix(r.URL.Path, "/oauth/"):
		g.opts.Pages.ServeHTTP(w, r)
		return
	case !ok && g.opts.Site != nil:
		if err := g.mainView.host.CheckOrigin(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		g.opts.Site.ServeHTTP(w, r)
		return
	case !ok:
		http.Error(w, "nothing is here: the MCP server is at /mcp", http.StatusNotFound)
		return
	}
	v := g.existingView(name)
	if v == nil {
		v = g.findView(w, r, name)
		if v == nil {
			return
		}
	}
	if below == pathSSE {
		v.host.SSEHandler().ServeHTTP(w, r)
		return
	}
	v.host.Handler().ServeHTTP(w, r)
}

// findView returns the view of a name, and makes it if necessary. If it returns nil, the request is answered. A request
// that fails authentication is refused here: a second check might admit it, and to a view that it did not name.
func (g *Gateway) findView(w http.ResponseWriter, r *http.Request, name string) *view {
	if authenticate := g.opts.Host.Authenticate; authenticate != nil && !isForwarded(r) {
		if _, err := authenticate(r); err != nil {
			g.mainView.host.Refuse(w, r, err)
			return nil
		}
	}
	_ = g.attached.Wait(r.Context()) // until the ledger is read and the servers are known
	v := g.viewByName(name)
	if v == nil { // a web page that is not allowed does not learn this either
		g.mainView.host.Refuse(w, r, errNoView)
	}
	return v
}

// errNoView is returned for a request to a view that does not exist.
var errNoView = &interop.HTTPError{
	Status: http.StatusNotFound,
	Body: "there is no such view: /mcp is everything, " +
		"/mcp/SERVER one server of the configuration, /mcp/@NAME a selection that it names",
}

// ServeStdio serves the view of everything to one client on the process's stdin and stdout. See [host.Host.ServeStdio].
func (g *Gateway) ServeStdio(ctx context.Context) error { return g.mainView.host.ServeStdio(ctx) }

// ServeIO serves the view of everything to one client on a pair of streams. See [host.Host.ServeIO].
func (g *Gateway) ServeIO(ctx context.Context, r io.Reader, w io.Writer) error {
	return g.mainView.host.ServeIO(ctx, r, w)
}
