package gateway

import (
	"io"
	"net/http"
)

// pathHealth is what load balancers ask for.
const pathHealth = "/healthz"

// health answers a load balancer, whoever asks: 200 while clients are served, 503 from when the gateway is drained. That a
// server is down is no reason to send clients elsewhere, and what servers there are is not everybody's to know.
func (g *Gateway) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "it is asked with GET", http.StatusMethodNotAllowed)
		return
	}
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if closed {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"status":"stopping"}`)
		return
	}
	_, _ = io.WriteString(w, `{"status":"ok"}`)
}
