package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// The limit of sessions for a principal applies to all views together.
func TestSessionsOfAllViewsAreOneShare(t *testing.T) {
	t.Parallel()
	g := scripts{"a": {}}.open(t, gateway.Options{Host: host.Options{MaxClientSessions: 1, Authenticate: func(r *http.Request) (toolbox.Principal, error) {
		return toolbox.Principal(r.Header.Get("Authorization")), nil
	}}}, config.Server{ID: "a"})
	h := g.Handler()
	send := func(who, path, session, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", who)
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	open := func(who, path string) string {
		return send(who, path, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`).Header().Get("Mcp-Session-Id")
	}
	ping := func(who, path, session string) int {
		return send(who, path, session, `{"jsonrpc":"2.0","id":2,"method":"ping"}`).Code
	}
	ann, first := open("ann", "/mcp"), open("eve", "/mcp")
	second := open("eve", "/mcp/a")
	if a, b, c := ping("ann", "/mcp", ann), ping("eve", "/mcp", first), ping("eve", "/mcp/a", second); a != 200 || b != 404 || c != 200 {
		t.Errorf("ann: %d, eve's sessions: %d, %d", a, b, c)
	}
}
