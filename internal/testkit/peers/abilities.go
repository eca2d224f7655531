package peers

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	arg, err := json.Marshal(places)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "-C", providers(t), "./abilities", string(arg))
	if program != "go" {
		home := t.TempDir()
		cmd = exec.CommandContext(t.Context(), Node(t), File(t, "abilities.mjs"), program, string(arg))
		cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "MCP_INSPECTOR_SECRET_STORE=file", "GENKIT_ENV=prod")
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", program, err, out, stderr.String())
	}
	found := Outcomes{}
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("%s: %v in %s", program, err, out)
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
