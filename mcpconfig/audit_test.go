package mcpconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/mcpconfig"
)

// readAudit reads one named file with the given "audit".
func readAudit(t *testing.T, audit string) (c *mcpconfig.Config, dir string) {
	t.Helper()
	dir = t.TempDir()
	file := filepath.Join(dir, "servers.json")
	if err := os.WriteFile(file, []byte(`{"servers": {}, "audit": `+audit+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &mcpconfig.Options{Home: t.TempDir(), Env: lookup(map[string]string{"LOGS": "/var/log/indus"})}
	c, err := mcpconfig.Read(t.Context(), []string{file}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

func TestAudit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]mcpconfig.Audit{
		`"audit.jsonl"`:          {Path: "DIR/audit.jsonl"},
		`"${LOGS}/a.jsonl"`:      {Path: "/var/log/indus/a.jsonl"},
		`{"file": "/x/a.jsonl"}`: {Path: "/x/a.jsonl"},
		`{"file": "a", "maxSize": "100MB", "maxAge": "7d", "keep": 20, "onFull": "continue", "sync": true, "//": ""}`: {
			Path: "DIR/a", MaxSize: 100_000_000, MaxAge: 7 * 24 * time.Hour, Keep: 20, Continue: true, Sync: true},
		`{"file": "a", "maxSize": 65536, "maxAge": "90m", "onFull": "stop"}`: {Path: "DIR/a", MaxSize: 1 << 16, MaxAge: 90 * time.Minute},
		`{"file": "a", "maxSize": "1 GiB"}`:                                  {Path: "DIR/a", MaxSize: 1 << 30},
	} {
		c, dir := readAudit(t, text)
		want.Path = strings.Replace(want.Path, "DIR", dir, 1)
		want.File, want.Line = filepath.Join(dir, "servers.json"), 1
		if diff := cmp.Diff(&want, c.Audit); diff != "" || len(c.Notes) > 0 {
			t.Errorf("%s: %s %v", text, diff, c.Notes)
		}
	}
}

// An "audit" that cannot be read is not ignored: requests would go unrecorded.
func TestAuditThatIsBroken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`null`, `""`, `true`, `[]`, `{}`, `{"file": ""}`, `{"file": "${MISSING}"}`, `"${cmd:echo x}"`, `{"file": "a", "size": 1}`,
		`{"file": "a", "maxSize": "1"}`, `{"file": "a", "maxSize": "x"}`, `{"file": "a", "maxSize": "99999999999999999999GB"}`,
		`{"file": "a", "maxAge": 5}`, `{"file": "a", "maxAge": "1s"}`, `{"file": "a", "keep": 0}`, `{"file": "a", "keep": "x"}`,
		`{"file": "a", "onFull": "go"}`, `{"file": "a", "sync": "yes"}`, `{"file": "a", "file": "b"}`, `"a", "audit": "b"`,
	} {
		c, _ := readAudit(t, text)
		if c.Audit == nil || !c.Audit.Broken || len(c.Notes) == 0 ||
			!strings.Contains(c.Notes[0].String(), "audit cannot be used: ") {
			t.Errorf("%s: %+v %v", text, c.Audit, c.Notes)
		}
	}
}

// TestAuditOfAProject checks that a project's file does not choose where indus writes.
func TestAuditOfAProject(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(project, ".indusvx", "mcp.json"):        `{"servers": {}, "audit": "/tmp/stolen.jsonl"}`,
		filepath.Join(home, ".config", "indusvx", "mcp.json"): `{"servers": {}, "audit": "mine.jsonl"}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, trust := range []bool{false, true} {
		o := &mcpconfig.Options{Home: home, Dir: project, Env: lookup(nil), Trust: trust}
		c, err := mcpconfig.Read(t.Context(), nil, o)
		if err != nil {
			t.Fatal(err)
		}
		want := filepath.Join(home, ".config", "indusvx", "mine.jsonl")
		if c.Audit == nil || c.Audit.Path != want || c.Audit.Broken {
			t.Errorf("%+v; want %s", c.Audit, want)
		}
		if len(c.Notes) != 1 || !strings.Contains(c.Notes[0].String(), `"audit" is not heeded`) {
			t.Errorf("notes: %v", c.Notes)
		}
	}
}
