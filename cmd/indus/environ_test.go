package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// TestNoChildGetsTheKeysOfIndus checks that neither a server with "inheritEnv" nor a ${cmd:…} gets the keys, unless its
// row names them.
func TestNoChildGetsTheKeysOfIndus(t *testing.T) {
	t.Parallel()
	keys := []string{
		"INDUS_STORE_KEY", "INDUS_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "MY_MODEL_KEY",
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Mkdir(filepath.Join(dir, "indusvx"), 0o700); err != nil {
		t.Fatal(err)
	}
	file("indusvx/settings.json", `{"model":"x/y","baseURL":"http://127.0.0.1:1","keyEnv":"MY_MODEL_KEY"}`)
	config := file("servers.json", fmt.Sprintf(
		`{"servers":{"one":{"command":%q,"inheritEnv":true,"env":{"BY_CMD":"${cmd:env}","NAMED":"${OPENAI_API_KEY}"}}}}`,
		fixture.Build(t)))
	env := append(os.Environ(), "XDG_CONFIG_HOME="+dir, "ORDINARY=ordinary-value")
	for _, k := range keys {
		env = append(env, k+"=value-of-"+k)
	}
	p := start(t, dir, env, "indus", "mcp", "call", "one__process", "--mcp", config)
	p.ends(0)
	said := p.out.String()
	for _, k := range keys {
		if at := strings.Index(said, k+"="); at >= 0 {
			t.Errorf("a child gets %s: …%.60s…", k, said[at:])
		}
	}
	if strings.Count(said, "ORDINARY=ordinary-value") != 2 || !strings.Contains(said, "NAMED=value-of-OPENAI_API_KEY") {
		t.Errorf("it lacks what it should get: %s", said)
	}
}
