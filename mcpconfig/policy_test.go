package mcpconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/mcpconfig"
)

// readPolicy reads one named file with the given members.
func readPolicy(t *testing.T, members string) (c *mcpconfig.Config, dir string) {
	t.Helper()
	dir = t.TempDir()
	file := filepath.Join(dir, "servers.json")
	if err := os.WriteFile(file, []byte(`{"servers": {}, `+members+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := mcpconfig.Read(t.Context(), []string{file}, &mcpconfig.Options{Home: t.TempDir(),
		Env: lookup(map[string]string{"POLICIES": "/etc/indus"})})
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		members, path string
		report        bool
	}{
		{`"policy": "policy.cedar"`, "DIR/policy.cedar", false},
		{`"policy": "../p", "policyMode": "enforce"`, "DIR/../p", false},
		{`"policyMode": "report", "policy": "${POLICIES}/p"`, "/etc/indus/p", true},
	} {
		config, dir := readPolicy(t, c.members)
		want := &mcpconfig.Policy{Path: filepath.Clean(strings.ReplaceAll(c.path, "DIR", dir)), Report: c.report,
			Setting: mcpconfig.Setting{File: filepath.Join(dir, "servers.json"), Line: 1}}
		if diff := cmp.Diff(want, config.Policy); diff != "" || len(config.Notes) > 0 {
			t.Errorf("%s: %s %v", c.members, diff, config.Notes)
		}
	}
}

// A "policy" that cannot be read is not ignored: it serves no request.
func TestPolicyThatIsBroken(t *testing.T) {
	t.Parallel()
	for _, members := range []string{
		`"policy": null`, `"policy": ""`, `"policy": ["a"]`, `"policy": "a", "policy": "b"`, `"policy": "${MISSING}"`,
		`"policy": "${cmd:which policy}"`, `"policyMode": "report"`, `"policy": "a", "policyMode": "off"`,
		`"policy": "a", "policyMode": true`, `"polcy": "a"`, `"policies": "a"`,
	} {
		c, _ := readPolicy(t, members)
		if c.Policy == nil || !c.Policy.Broken || len(c.Notes) == 0 {
			t.Errorf("%s: %+v %v", members, c.Policy, c.Notes)
			continue
		}
		found := false
		for _, n := range c.Notes {
			found = found || strings.Contains(n.String(), "policy cannot be used: ")
		}
		if !found {
			t.Errorf("%s: no note has the reason: %v", members, c.Notes)
		}
	}
}

// A cloned repository cannot replace or loosen the policies. If two files of the user have a "policy", the file with
// the higher precedence counts.
func TestWhosePolicyCounts(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	project := filepath.Join(dir, ".indusvx", "mcp.json")
	own := filepath.Join(home, ".config", "indusvx", "mcp.json")
	for path, text := range map[string]string{
		project: `{"servers": {}, "policy": "evil.cedar", "policyMode": "report"}`,
		own:     `{"servers": {}, "policy": "mine.cedar"}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(trust bool, paths ...string) *mcpconfig.Config {
		t.Helper()
		c, err := mcpconfig.Read(t.Context(), paths,
			&mcpconfig.Options{Dir: dir, Home: home, Env: lookup(nil), Trust: trust})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, trust := range []bool{false, true} {
		c := read(trust)
		if c.Policy == nil || c.Policy.Path != filepath.Join(filepath.Dir(own), "mine.cedar") || c.Policy.Report {
			t.Errorf("trust %v: %+v %v", trust, c.Policy, c.Notes)
		}
	}
	if c := read(false, project); c.Policy == nil || c.Policy.Path != filepath.Join(filepath.Dir(project), "evil.cedar") {
		t.Errorf("a named file: %+v %v", c.Policy, c.Notes)
	}
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	if c := read(true); c.Policy != nil {
		t.Errorf("of a project's file alone: %+v", c.Policy)
	}
}
