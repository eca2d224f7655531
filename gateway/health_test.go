package gateway_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
)

// Every caller can see whether clients are served, but nothing about the servers.
func TestHealth(t *testing.T) {
	t.Parallel()
	var g *gateway.Gateway
	g = shelf{}.open(t, gateway.Options{Host: host.Options{
		Authenticate: func(*http.Request) (toolbox.Principal, error) { return "", errors.New("nobody") },
	}, Ready: func() bool { return g.Restarts("a") == 0 }})
	health := func(method, want string, status int) {
		t.Helper()
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/healthz", nil))
		if got := w.Body.String(); got != want || w.Code != status {
			t.Errorf("%s: %d %s", method, w.Code, got)
		}
	}
	health("GET", `{"status":"ok"}`, 200)
	health("POST", "it is asked with GET\n", 405)
	if err := g.Stop(); err != nil {
		t.Error(err)
	}
	health("GET", `{"status":"stopping"}`, 503)
}
