package session_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/session"
	"github.com/indusagi/indus/toolbox"
)

// TestToolsCannotChangeIndusItself tries in a home directory every name that leads to the protected files.
func TestToolsCannotChangeIndusItself(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("XDG_STATE_HOME", "")
	// State/indus does not exist yet.
	for _, dir := range []string{".config/indusvx", "project/.indusvx", "project/src", ".local/state"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"project/notes": ".indusvx", "project/dangling": ".indusvx/mcp.json", "chain": "project/dangling",
		"config": ".config", "state": ".local/state/indus", "project/up": "..",
	} {
		if err := os.Symlink(to, filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := toolbox.DirFS(home)
	if err != nil {
		t.Fatal(err)
	}
	files := session.OwnFiles(root, home)
	for _, name := range []string{
		".config/indusvx/mcp.json", ".config/indusvx/settings.json", ".config/indusvx", ".indusvx/agent/mcp.json", ".indusvx",
		".local/state/indus/approvals.json", ".local/state/indus/tool-approvals.json", ".local/state/indus/sessions/x.jsonl",
		"project/.indusvx/mcp.json", "project/.INDUSVX/mcp.json", "new/.indusvx/mcp.json", "project/notes/mcp.json",
		"project/dangling", "chain", "config/indusvx/mcp.json", "state/ledger.jsonl", "project/src/../.indusvx/mcp.json",
		"project/up/.config/indusvx/mcp.json", "./.config//indusvx/mcp.json", ".config/INDUSVX/mcp.json",
	} {
		for op, err := range map[string]error{
			"write": files.WriteFile(name, []byte("{}"), 0o600), "mkdir": files.MkdirAll(name, 0o700),
			"remove": files.Remove(name),
		} {
			if err == nil || !strings.Contains(err.Error(), "indus keeps its own configuration") {
				t.Errorf("%s %s: %v", op, name, err)
			}
		}
	}
	for _, name := range []string{
		"project/src/main.go", ".config/other/x", "project/up/notes.txt", "indusvx.txt", "project/.indusvx-notes",
	} {
		if err := errors.Join(files.MkdirAll(filepath.Dir(name), 0o700),
			files.WriteFile(name, []byte("x"), 0o600)); err != nil {
			t.Errorf("write %s: %v", name, err)
		}
		if b, err := fs.ReadFile(files, name); err != nil || string(b) != "x" {
			t.Errorf("read %s: %q, %v", name, b, err)
		}
	}
}
