package mcpconfig_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// A path in a project must not be a link out of it: a link to the user's secrets is not sent
// to the project's server. A path that leads out openly is shown before the row is approved.
func TestAProjectsFileIsNoLinkToAnother(t *testing.T) {
	p := newProject(t)
	mkdir(t, p.dir)
	outside := filepath.Join(tempDir(t), "secret")
	write(t, outside, "TOKEN=s3cret\n")
	for _, name := range []string{".env", "token"} {
		if err := os.Symlink(outside, filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(p.dir, "own.env"), "A=b\n")
	p.write(`{"servers": {"env": {"command": "x", "envFile": ".env"}, "file": {"command": "x", "env": {"T": "${file:token}"}},
		"own": {"command": "x", "envFile": "${workspaceFolder}/own.env"}, "open": {"command": "x", "envFile": "` + outside + `"}}}`)
	p.approve(p.read().Held()...)
	c := p.read()
	if got, want := states(c), "env skipped\nfile skipped\nown active\nopen active"; got != want {
		t.Fatalf("%s; %v", got, c.Notes)
	}
	for i, want := range []string{
		`envFile ".env": is a link that leads out of the project`, `env "T": "${file:token}": is a link that leads out of the project`,
	} {
		if got := c.Rows[i].Reason; got != want {
			t.Errorf("%s", got)
		}
	}
	if env := c.Rows[2].Server.Transport.(config.Stdio).Env; len(env) != 1 || env[0].Value.Reveal() != "b" {
		t.Errorf("%v", env)
	}
}

// Variables of the project are not used for the user's servers, because NODE_OPTIONS is as
// good as a command.
func TestAUsersServerTakesNoVariablesFromAProject(t *testing.T) {
	home, work := tempDir(t), tempDir(t)
	write(t, filepath.Join(home, ".config", "indusvx", "mcp.json"), `{"servers": {
		"no": {"command": "x", "envFile": "${workspaceFolder}/.env"},
		"yes": {"command": "x", "envFile": "${workspaceFolder}/.env", "cwd": "${workspaceFolder}"},
		"own": {"command": "x", "envFile": "my.env"}}}`)
	write(t, filepath.Join(work, ".env"), "NODE_OPTIONS=--require ./evil.js\n")
	write(t, filepath.Join(home, ".config", "indusvx", "my.env"), "A=b\n")
	c, err := mcpconfig.Read(t.Context(), nil, &mcpconfig.Options{Home: home, Dir: work, Env: lookup(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := states(c), "no held\nyes held\nown active"; got != want || !strings.Contains(c.Rows[0].Reason, "reads "+filepath.Join(work, ".env")) {
		t.Errorf("%s; %v", got, c.Notes)
	}
	if !slices.Contains(c.Watched, filepath.Join(home, ".config", "indusvx", "my.env")) {
		t.Errorf("%v", c.Watched)
	}
}
