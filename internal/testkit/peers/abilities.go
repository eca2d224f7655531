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

// Place is where a client is tried, and what things are called there: a tool, a tool that asks its caller something, a prompt,
// a resource, and one that changes. Patience is for how many seconds an update of that may take.
type Place struct {
	URL      string `json:"url"`
	Calls    string `json:"calls"`
	Asks     string `json:"asks"`
	Prompt   string `json:"prompt"`
	Reads    string `json:"reads"`
	Watched  string `json:"watched"`
	Patience int    `json:"patience"`
}

// Outcomes are what came of abilities, by client, place and ability: "" or an error. What a client has no means for is not there.
type Outcomes map[string]map[string]map[string]string

// Abilities has the clients of a program of testdata/peers/clients try what they can at places, or with "go" those of the module
// internal/testkit/providers.
func Abilities(t testing.TB, program string, places map[string]Place) Outcomes {
	t.Helper()
	if program == "go" {
		return clients[Outcomes](t, goClients(t, places))
	}
	return clients[Outcomes](t, nodeClients(t, "abilities.mjs", program, encoded(t, places)))
}

// SignIns has clients sign in by themselves at URLs that want these scopes, in "node" or in "go". What came of it is by URL and client:
// the scope that it asked for and the number of tools that it lists, or an error. GET person?ADDRESS is somebody who signs in at
// ADDRESS, and answers with where that leads.
func SignIns(t testing.TB, program string, scopes map[string]string, person string) map[string]map[string]string {
	t.Helper()
	if program == "go" {
		return clients[map[string]map[string]string](t, goClients(t, scopes, person))
	}
	node := nodeClients(t, "signin.mjs", encoded(t, scopes), person)
	node.Env = append(node.Env, "MCP_OAUTH_CALLBACK_URL=http://"+fixture.FreeAddr(t)+"/oauth/callback")
	return clients[map[string]map[string]string](t, node)
}

func goClients(t testing.TB, what any, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), "go", append([]string{"run", "-C", providers(t), "./abilities", encoded(t, what)}, args...)...)
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

// clients is what a program of clients prints.
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

// Version is the version of an npm package or a Go module that the programs of [Abilities] have.
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

// providers is the directory of the module whose dependencies nobody else resolves.
func providers(t testing.TB) string {
	t.Helper()
	return filepath.Join(root(t), "..", "..", "internal", "testkit", "providers")
}
