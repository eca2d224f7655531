package identity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/identity"
	"github.com/indusagi/indus/toolbox"
)

// TestKeysThatComeAndGo calls as twenty principals whose keys are made and removed and whose tokens expire: each call
// is its sender's, and none begins with what was refused before it was sent. INDUS_TEST_CHURN is how long, such as 10m.
func TestKeysThatComeAndGo(t *testing.T) {
	t.Parallel()
	long := 700 * time.Millisecond
	if text := os.Getenv("INDUS_TEST_CHURN"); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	path, serving := keyFile(t)
	p := &provider{keys: []map[string]any{jwk("rsa", rsaKey())}}
	guard := identity.NewGuard(&identity.Options{URL: "https://mcp.example", Resource: views, Issuers: []string{issuer}}, serving, newJWT(t, p, identity.Issuer{Keys: keysURL}))
	r := toolbox.NewRegistry(nil)
	r.Add(toolbox.Tool{Name: "whoami", Schema: json.RawMessage(`{"type":"object"}`), Run: func(_ context.Context, c *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
		return toolbox.NewResult(toolbox.Text(string(c.Call().Caller))), nil
	}})
	h := host.New(r, &host.Options{Authenticate: guard.Principal})
	t.Cleanup(h.Close)
	end := time.Now().Add(long)
	var all sync.WaitGroup
	for n := range 20 {
		name := fmt.Sprint("p", n)
		all.Go(func() {
			own := identity.NewKeys(path) // as another process has it
			for time.Now().Before(end) && !t.Failed() {
				token, key, err := own.Add(t.Context(), identity.Key{Name: name})
				if err != nil {
					t.Error(err)
					return
				}
				calls(t, h.Handler(), token, "user:"+name, 200)
				calls(t, h.Handler(), signed(t, jwt.SigningMethodRS256, rsaKey(), nil, map[string]any{"sub": name}), issuer+"#"+name, 200)
				calls(t, h.Handler(), signed(t, jwt.SigningMethodRS256, rsaKey(), nil, map[string]any{"sub": name, "exp": time.Now().Add(-61 * time.Second).Unix()}), "", 401)
				if err := own.Remove(t.Context(), key.ID); err != nil {
					t.Error(err)
				}
				calls(t, h.Handler(), token, "", 401)
			}
		})
	}
	all.Wait()
	if list, err := serving.List(); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

// calls sends one call, whose answer must have that status, and name who has sent it.
func calls(t *testing.T, h http.Handler, token, who string, status int) {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body)).WithContext(t.Context())
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "whoami", "Authorization": "Bearer " + token} {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != status || !strings.Contains(w.Body.String(), `"`+who) {
		t.Errorf("%s: %d %s", who, w.Code, w.Body)
	}
}
