package host_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/replica"
	"github.com/indusagi/indus/toolbox"
)

// TestASessionIDIsSealed checks that a peer with the same keys can read the principal and the replica of a session.
func TestASessionIDIsSealed(t *testing.T) {
	keys, err := host.NewKeys(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	site := newSite(t, echoTool(), &host.Options{Keys: keys, Replica: replicaNamed(t, "a"), Authenticate: callerFromHeader})
	id := sessionOf(t, site, "alice")
	token, err := keys.Open(id, sealed.Want{Kind: sealed.Session, Principal: "alice"})
	if err != nil || token.Replica != "a" {
		t.Errorf("%+v, %v", token, err)
	}
	if strings.Contains(id, "alice") || len(id) > 120 {
		t.Error(id)
	}
}

func callerFromHeader(r *http.Request) (toolbox.Principal, error) {
	return toolbox.Principal(r.Header.Get("X-User")), nil
}

// TestAnotherSessionIsNotFound checks that the client cannot distinguish the cases. The log has the reason.
func TestAnotherSessionIsNotFound(t *testing.T) {
	var log bytes.Buffer
	keys := sealed.Random()
	site := newSite(t, echoTool(), &host.Options{Keys: keys, Authenticate: callerFromHeader, Replica: replicaNamed(t, "a"),
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	id := sessionOf(t, site, "alice")
	const notFound = "session not found"
	for _, test := range []struct{ name, id, caller, reason, text string }{
		{"another principal's", id, "bob", sealed.ErrPrincipal.Error(), notFound},
		{"altered", id[:20] + string("xy"[strings.Count(id[20:21], "x")]) + id[21:], "alice", sealed.ErrAltered.Error(), notFound},
		{"cut", id[:len(id)-1], "alice", sealed.ErrAltered.Error(), notFound},
		{"made up", "nope", "alice", sealed.ErrAltered.Error(), notFound},
		{"of another use", keys.Seal(sealed.Token{Kind: sealed.Task, Principal: "alice"}), "alice", sealed.ErrKind.Error(), notFound},
		{"of before there were replicas", keys.Seal(sealed.Token{Kind: sealed.Session, Principal: "alice"}), "alice", sealed.ErrReplica.Error(), notFound},
		{"that has ended here", keys.For("a").Seal(sealed.Token{Kind: sealed.Session, Principal: "alice"}), "alice", "ended", notFound},
		{"a peer's that is gone", keys.For("b").Seal(sealed.Token{Kind: sealed.Session, Principal: "alice"}), "alice", "not among the peers", notFound},
		{"a peer's, of another principal", keys.For("b").Seal(sealed.Token{Kind: sealed.Session, Principal: "bob"}), "alice", sealed.ErrPrincipal.Error(), notFound},
	} {
		log.Reset()
		resp, body := request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			header: map[string]string{"Mcp-Session-Id": test.id, "X-User": test.caller}}.send(t, site)
		if resp.StatusCode != 404 || body != `{"jsonrpc":"2.0","error":{"code":-32600,"message":"`+test.text+`"}}` {
			t.Errorf("%s: %s %s", test.name, resp.Status, body)
		}
		if !strings.Contains(log.String(), test.reason) || strings.Contains(log.String(), id) {
			t.Errorf("%s: %s", test.name, log.String())
		}
	}
	if resp, _ := (request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header: map[string]string{"Mcp-Session-Id": id, "X-User": "alice"}}).send(t, site); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

// replicaNamed returns a replica without peers.
func replicaNamed(t *testing.T, name string) *replica.Replica {
	t.Helper()
	path := filepath.Join(t.TempDir(), "peer.keys")
	if err := os.WriteFile(path, []byte(sealed.NewKeyText()), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := replica.New(&replica.Options{Name: name, Credentials: replica.KeyFile(path)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sessionOf opens a session of a caller and returns its id.
func sessionOf(t *testing.T, site *httptest.Server, caller string) string {
	t.Helper()
	resp, body := request{body: strings.ReplaceAll(initializeLine, "%s", "2025-11-25"), header: map[string]string{"X-User": caller}}.send(t, site)
	if resp.StatusCode != 200 {
		t.Fatalf("%s %s", resp.Status, body)
	}
	return resp.Header.Get("Mcp-Session-Id")
}
