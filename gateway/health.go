package gateway

import (
	"io"
	"net/http"
)

// The paths for load balancers: whether the process answers, and whether it takes requests. pathHealth is the older
// path of pathReady.
const (
	pathLive   = "/livez"
	pathReady  = "/readyz"
	pathHealth = "/healthz"
)

func isHealth(path string) bool { return path == pathLive || path == pathReady || path == pathHealth }

// Leave makes /readyz answer 503, while requests are still served. Load balancers then send requests elsewhere, and
// clients are asked to close their connections. It is for the time before [Gateway.Run] ends.
func (g *Gateway) Leave() { g.leaving.Store(true) }

// health answers any caller. /livez is 200 while the process answers. The other paths are 200 while clients are
// served, and 503 after Leave and once the gateway is drained. A server that is down is no reason to send clients
// elsewhere, and not every caller may know the servers.
func (g *Gateway) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "it is asked with GET", http.StatusMethodNotAllowed)
		return
	}
	g.mu.Lock()
	stopping := g.closed || g.leaving.Load()
	g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if stopping && r.URL.Path != pathLive {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"status":"stopping"}`)
		return
	}
	_, _ = io.WriteString(w, `{"status":"ok"}`)
}
