package main

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/internal/testkit/fixture"
)

// listTools sends tools/list with a token, and returns the status, the challenge and the body.
func listTools(t *testing.T, at, token string) (int, string, string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list",
	} {
		r.Header.Set(k, v)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := timedClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("WWW-Authenticate"), string(text)
}

// TestServeKnowsSignedTokens checks that tokens of a real authorization server are valid only for their view. Clients
// without a token get a challenge.
func TestServeKnowsSignedTokens(t *testing.T) {
	t.Parallel()
	as, foreign := authserver.Start(t, nil), authserver.Start(t, nil)
	serve := startServe(t, map[string]row{"one": {Command: fixture.Build(t)}, "two": {Command: fixture.Build(t)}},
		"--addr", "127.0.0.1:0", "--issuer", as.Issuer, "--scope", "read", "--auth", "jwt,keys")
	at := serve.waitFor(&serve.err, `serving at (http://\S+)\n`)
	serve.waitFor(&serve.err, `one: ready`)
	ann, machine := as.UserToken(t, "ann", at+"/one", "read"), as.ClientToken(t, at, "read")
	for _, tt := range []struct {
		view, token string
		status      int
	}{
		{"/one", ann, 200}, {"", machine, 200}, {"", ann, 401}, {"/two", ann, 401}, {"/nowhere", ann, 401}, {"/one", machine, 401},
		{"/one", foreign.UserToken(t, "ann", at+"/one", "read"), 401}, {"/one", ann[:len(ann)-2], 401}, {"/one", as.UserToken(t, "ann", at+"/one", "write"), 403},
	} {
		status, challenge, body := listTools(t, at+tt.view, tt.token)
		if status != tt.status {
			t.Errorf("%s: %d %s", tt.view, status, body)
		}
		if want := `resource_metadata="` + strings.Replace(at, "/mcp", "/.well-known/oauth-protected-resource/mcp", 1) +
			tt.view + `"`; status == 401 &&
			(!strings.Contains(challenge, want) || !strings.Contains(challenge, `error="invalid_token"`)) {
			t.Errorf("%s: %s", tt.view, challenge)
		}
	}
	if status, challenge, _ := listTools(t, at, ""); status != 401 || strings.Contains(challenge, "error") {
		t.Errorf("%d %s", status, challenge)
	}
}

// TestAdministratorsNeedATokenForEverything checks that the page refuses a token or a key that is not valid for all
// views, although the policy lets its principal administer: the program that has it could call every tool there.
func TestAdministratorsNeedATokenForEverything(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, nil)
	dir := t.TempDir()
	config := filepath.Join(dir, "mine.json")
	for path, text := range map[string]string{
		config: `{"servers": {}, "policy": "policy.cedar"}`, filepath.Join(dir, "policy.cedar"): "permit(principal, action, resource); " +
			`permit(principal, action == Action::"administer", resource);`,
	} {
		if err := replaceFile(path, text); err != nil {
			t.Fatal(err)
		}
	}
	cmd := indusCommand(t, map[string]row{"one": {Command: fixture.Build(t)}},
		"serve", "--addr", "127.0.0.1:0", "--issuer", as.Issuer, "--scope", "read", "--auth", "jwt,keys", "--mcp", config)
	serve := launch(t, cmd)
	at := serve.waitFor(&serve.err, `serving at (http://\S+)\n`)
	key := func(args ...string) string {
		add := indusCommand(t, nil, append([]string{"key", "add", "--principal", "ann"}, args...)...)
		add.Env = cmd.Env
		token, err := add.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(token))
	}
	for name, tt := range map[string]struct {
		token  string
		status int
	}{
		"token":                 {as.UserToken(t, "ann", at, "read"), 200},
		"token of a view":       {as.UserToken(t, "ann", at+"/one", "read"), 403},
		"token of a server":     {as.UserToken(t, "ann", "https://other.example/mcp", "read"), 403},
		"token without a scope": {as.UserToken(t, "ann", at, "write"), 403},
		"key":                   {key(), 200}, "key of a view": {key("--view", "one"), 403},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(at, "/mcp")+"/try", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer " + tt.token}}
		res, err := timedClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != tt.status {
			t.Errorf("%s: %d %.300s", name, res.StatusCode, text)
		}
	}
}

// TestServeAsksAboutTokens checks that a revoked token is refused within a minute, and an inactive one immediately.
func TestServeAsksAboutTokens(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, &authserver.Options{Opaque: true})
	dir := t.TempDir()
	config := filepath.Join(dir, "auth.json")
	write := func(scopes any) {
		raw, err := json.Marshal(map[string]any{"servers": map[string]any{}, "auth": map[string]any{
			"scopes": scopes,
			"introspection": map[string]any{
				"issuer": as.Issuer, "endpoint": as.URL + "/token/introspection", "clientId": authserver.Machine().ID,
				"clientSecret": "${AS_SECRET}",
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := replaceFile(config, string(raw)); err != nil {
			t.Fatal(err)
		}
	}
	write([]string{"read"})
	cmd := indusCommand(t, map[string]row{"one": {Command: fixture.Build(t)}}, "serve", "--addr", "127.0.0.1:0", "--mcp",
		config)
	cmd.Env = append(cmd.Env, "AS_SECRET="+authserver.Machine().Secret)
	serve := launch(t, cmd)
	at := serve.waitFor(&serve.err, `serving at (http://\S+)\n`)
	revoked := as.UserToken(t, "bob", at, "read")
	as.Revoke(t, "bob")
	ann := as.UserToken(t, "ann", at, "read")
	for name, tt := range map[string]struct {
		token  string
		status int
	}{
		"good": {ann, 200}, "of another view": {as.UserToken(t, "ann", at+"/one", "read"), 401},
		"without the scope": {as.UserToken(t, "ann", at, "write"), 403}, "revoked": {revoked, 401}, "made up": {"0123456789abcdef", 401},
	} {
		status, challenge, body := listTools(t, at, tt.token)
		if status != tt.status || status == 403 && !strings.Contains(challenge, `error="insufficient_scope", scope="read"`) {
			t.Errorf("%s: %d %q %s", name, status, challenge, body)
		}
	}
	write(7) // an invalid configuration changes nothing
	serve.waitFor(&serve.err, `"auth" cannot be used.*; authentication stays as it was\n`)
	if status, _, body := listTools(t, at, ann); status != 200 {
		t.Errorf("by a broken configuration: %d %s", status, body)
	}
	write([]string{"write"})
	serve.waitFor(&serve.err, `authentication follows "auth" in the configuration now\n`)
	if status, _, body := listTools(t, at, ann); status != 403 {
		t.Errorf("by the next configuration: %d %s", status, body)
	}
	as.Stop()
	if status, _, body := listTools(t, at, "another-that-nobody-knows"); status != 503 {
		t.Errorf("with nobody to ask: %d %s", status, body)
	}
	serve.waitFor(&serve.err, `tokens cannot be checked`)
	if said, _ := serve.err.snapshot(); strings.Contains(said, authserver.Machine().Secret) {
		t.Errorf("the secret is in %s", said)
	}
}
