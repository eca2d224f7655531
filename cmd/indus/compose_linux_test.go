package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/internal/testkit/replicas"
	"go.yaml.in/yaml/v3"
)

// TestTheComposeFileServes starts what deploy/compose.yaml describes, as processes: two replicas with its options, NATS
// and a balancer, which is HAProxy in make deployment. Only addresses and paths differ. Then one replica is killed.
func TestTheComposeFileServes(t *testing.T) {
	t.Parallel()
	var compose struct {
		Services map[string]struct{ Command []string }
	}
	raw, err := os.ReadFile("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, &compose); err != nil {
		t.Fatal(err)
	}
	dir, token := t.TempDir(), sealed.NewKeyText()
	composeFiles(t, dir, token, natsserver.Start(t))
	s := site{web: &http.Client{Timeout: deadline, Transport: bearer(token)}}
	t.Cleanup(s.web.CloseIdleConnections)
	for _, name := range []string{"a", "b"} {
		m := &member{name: name}
		clients := fixture.FreeAddr(t)
		m.url = "http://" + clients
		local := strings.NewReplacer("/etc/indus", dir, "0.0.0.0:7332", clients, name+"-peer:7333", fixture.FreeAddr(t))
		var args []string
		for _, a := range compose.Services[name].Command {
			args = append(args, local.Replace(a))
		}
		cmd := exec.Command("indus", args...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(cmd.Environ(), "HOME="+cmd.Dir, "INDUS_STORE_KEY="+strings.Repeat("0123456789abcdef", 4))
		m.program = launch(t, cmd)
		m.waitFor(&m.err, `g: ready`)
		s.members = append(s.members, m)
	}
	front := replicas.NewFront(t, s.urls()...)
	a, err := timedClient.Post(front+"/mcp", "application/json", strings.NewReader(initialization))
	if err != nil || a.StatusCode != http.StatusUnauthorized {
		t.Fatalf("without the token: %v %v", a, err)
	}
	defer a.Body.Close()
	session := s.begin(t, s.members[0].url)
	for range 4 { // in turn at a and at b
		s.call(t, front, session)
		s.call(t, front, "")
	}
	for path, want := range map[string]string{"/oauth/sign-in/none": "This link has expired", "/sign-in": "<form"} {
		if _, text := visit(t, &http.Client{Transport: navigates{}}, http.MethodGet, front+path, nil); !strings.Contains(text, want) {
			t.Errorf("browsers do not reach %s: %s", path, text)
		}
	}
	s.members[1].signal(syscall.SIGKILL)
	s.members[1].ends(-1)
	for range 4 {
		s.call(t, front, session)
		s.call(t, front, "")
	}
}

// composeFiles writes the files that compose.yaml mounts at /etc/indus, with one server.
func composeFiles(t *testing.T, dir, token string, nats *natsserver.Server) {
	t.Helper()
	keys := filepath.Join(dir, "keys")
	if err := os.Mkdir(keys, 0o700); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../deploy/servers.json")
	if err != nil {
		t.Fatal(err)
	}
	raw = regexp.MustCompile(`nats://[^"]*`).ReplaceAll(raw, []byte(nats.URL))
	raw = regexp.MustCompile(`http://[^"]*`).ReplaceAll(raw, []byte(nats.Monitor))
	var config map[string]any
	if err := json.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	config["servers"] = map[string]row{"g": {fixture.Gossip(t), []string{"-name", "g"}, nil}}
	if raw, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"servers.json": string(raw), "keys/serve.keys": sealed.NewKeyText(), "keys/peer.keys": sealed.NewKeyText(),
		"keys/token": token,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
