package mcpconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/mcpconfig"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// readApprovals reads one named file with the given members.
func readApprovals(t *testing.T, members string) *mcpconfig.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, []byte(`{"servers": {}, `+members+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := mcpconfig.Read(t.Context(), []string{file}, &mcpconfig.Options{Home: t.TempDir(),
		Env: lookup(map[string]string{"SECRET": webhookSecret})})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	c := readApprovals(t, `"approvals": {"expire": "30m", "webhook": {"url": "https://h/x", "secret": "${SECRET}"}}`)
	a := c.Approvals
	if a == nil || a.Broken || a.Expire != 30*time.Minute || a.Webhook != "https://h/x" ||
		a.Secret.Reveal() != webhookSecret || len(c.Notes) > 0 {
		t.Errorf("%+v %v", a, c.Notes)
	}
	c = readApprovals(t, `"approvals": {"webhook": {"url": "http://127.0.0.1:8/x", "secret": "`+webhookSecret+`"}}`)
	if c.Approvals == nil || c.Approvals.Broken {
		t.Errorf("%+v %v", c.Approvals, c.Notes)
	}
	if c := readApprovals(t, `"other": 1`); c.Approvals != nil {
		t.Errorf("%+v", c.Approvals)
	}
}

func TestApprovalsThatAreBroken(t *testing.T) {
	t.Parallel()
	with := func(url, secret string) string {
		return `"approvals": {"webhook": {"url": "` + url + `", "secret": "` + secret + `"}}`
	}
	for _, members := range []string{
		`"approvals": true`, `"approvals": "10m"`, `"approvals": {"expire": "soon"}`, `"approvals": {"expire": 10}`,
		`"approvals": {"expire": "1s"}`, `"approvals": {"expires": "10m"}`, `"approvals": {"webhook": {}}`,
		`"approvals": {"webhook": {"url": "https://h/x"}}`, `"approvals": {}, "approvals": {}`,
		with("http://h/x", webhookSecret), with("ftp://h/x", webhookSecret), with("https://u:p@h/x", webhookSecret),
		with("https://h/x", "whsec_c2hvcnQ="), with("https://h/x", "secret"), with("https://h/x", "${MISSING}"),
		with("https://h/x", "${cmd:echo x}"),
	} {
		c := readApprovals(t, members)
		if c.Approvals == nil || !c.Approvals.Broken || len(c.Notes) == 0 ||
			!strings.Contains(c.Notes[0].String(), "approvals cannot be used: ") {
			t.Errorf("%s: %+v %v", members, c.Approvals, c.Notes)
		}
		for _, n := range c.Notes {
			if strings.Contains(n.String(), webhookSecret) {
				t.Errorf("a note has the secret: %s", n)
			}
		}
	}
}

// A cloned repository does not say how calls are approved, also if its servers are trusted.
func TestWhoseApprovalsCount(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	project := filepath.Join(dir, ".indusvx", "mcp.json")
	for path, expire := range map[string]string{
		project: "24h", filepath.Join(home, ".config", "indusvx", "mcp.json"): "5m",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"servers": {}, "approvals": {"expire": "`+expire+`"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		paths []string
		trust bool
		want  time.Duration
	}{{nil, false, 5 * time.Minute}, {nil, true, 5 * time.Minute}, {[]string{project}, false, 24 * time.Hour}} {
		config, err := mcpconfig.Read(t.Context(), c.paths,
			&mcpconfig.Options{Dir: dir, Home: home, Env: lookup(nil), Trust: c.trust})
		if err != nil {
			t.Fatal(err)
		}
		if config.Approvals == nil || config.Approvals.Expire != c.want {
			t.Errorf("%+v: %+v", c, config.Approvals)
		}
		noted := strings.Contains(strings.Join(notesOf(config), "\n"), `"approvals" is not heeded`)
		if noted != (c.paths == nil) {
			t.Errorf("%+v: %v", c, config.Notes)
		}
	}
}

func notesOf(c *mcpconfig.Config) (all []string) {
	for _, n := range c.Notes {
		all = append(all, n.String())
	}
	return all
}
