package peers

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// Place is a URL for testing clients, with the names to use there: a tool, a tool that asks its caller, a prompt, a
// resource, and a resource that changes. Patience limits the wait for an update of it, in seconds.
type Place struct {
	URL      string `json:"url"`
	Calls    string `json:"calls"`
	Asks     string `json:"asks"`
	Prompt   string `json:"prompt"`
	Reads    string `json:"reads"`
	Watched  string `json:"watched"`
	Patience int    `json:"patience"`
}

// Outcomes holds the results by client, place and ability. A result is "" or an error. An ability that a client does
// not have is missing.
type Outcomes map[string]map[string]map[string]string

// Abilities makes the clients of a program of testdata/peers/clients try all their abilities at places. If program is
// "go", it uses the clients of the module internal/testkit/providers.
func Abilities(t testing.TB, program string, places map[string]Place) Outcomes {
	t.Helper()
	if program == "go" {
		return clients[Outcomes](t, goClients(t, places))
	}
	return clients[Outcomes](t, nodeClients(t, "abilities.mjs", program, encoded(t, places)))
}

// SignIns makes the clients of "node" or "go" sign in at URLs that require these scopes. It returns results by URL and
// client: the requested scope and the number of listed tools, or an error. GET person?ADDRESS signs a person in at
// ADDRESS, and returns the resulting redirect.
func SignIns(t testing.TB, program string, scopes map[string]string, person string) map[string]map[string]string {
	t.Helper()
	if program == "go" {
		return clients[map[string]map[string]string](t, goClients(t, scopes, person))
	}
	node := nodeClients(t, "signin.mjs", encoded(t, scopes), person)
	node.Env = append(node.Env, "MCP_OAUTH_CALLBACK_URL=http://"+fixture.FreeAddr(t)+"/oauth/callback")
	return clients[map[string]map[string]string](t, node)
}

func goClients(t testing.TB, ability any, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), "go",
		append([]string{"run", "-C", providers(t), "./abilities", encoded(t, ability)}, args...)...)
}

func nodeClients(t testing.TB, file string, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), Node(t), append([]string{File(t, file)}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "MCP_INSPECTOR_SECRET_STORE=file", "GENKIT_ENV=prod")
	return cmd
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// clients runs a program of clients and decodes its output.
func clients[T any](t testing.TB, cmd *exec.Cmd) (found T) {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", cmd.Args, err, out, stderr.String())
	}
	return found
}

// Version returns the version of an npm package or a Go module that the programs of [Abilities] use.
func Version(t testing.TB, of string) string {
	t.Helper()
	if !strings.HasPrefix(of, "github.com/") {
		_, version := installed(t, of)
		return version
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-C", providers(t), "-m", "-f", "{{.Version}}", of).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", of, err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
}

// providers returns the directory of the separate module for SDKs of providers.
func providers(t testing.TB) string {
	t.Helper()
	return filepath.Join(root(t), "..", "..", "internal", "testkit", "providers")
}
