package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/mcpconfig"
)

// TestCommandsEditAtOnce checks that parallel commands take turns. Each succeeds at its first attempt, and no edit is
// lost.
func TestCommandsEditAtOnce(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "servers.json")
	run := func(args ...string) {
		cmd := timedCommand(args...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "HOME="+dir, "USERPROFILE="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+state)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s", args, err, said)
		}
	}
	var all sync.WaitGroup
	for who := range 4 {
		all.Go(func() {
			for n := range 3 {
				id := fmt.Sprintf("s%d-%d", who, n)
				run("mcp", "add", id, "http://h/mcp", "--mcp", file)
				switch n {
				case 0:
					run("mcp", "remove", id, "--mcp", file)
				case 1:
					run("mcp", "disable", id, "--mcp", file)
				case 2:
					from := filepath.Join(dir, id+".json")
					if err := os.WriteFile(from, []byte(`{"servers": {"i-`+id+`": {"command": "x"}}}`), 0o600); err != nil {
						t.Error(err)
					}
					run("mcp", "import", from, "--write", "--mcp", file)
					run("connect", "codex", "--view", "i-"+id, "--yes", "--mcp", from)
				}
			}
		})
	}
	all.Wait()
	e, err := mcpconfig.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(e.IDs()); got != 12 || strings.Count(string(e.Text()), "false") != 4 {
		t.Errorf("there are %d servers: %s", got, e.Text())
	}
	theirs, err := mcpconfig.Import(filepath.Join(dir, ".codex", "config.toml"), "codex", &mcpconfig.Options{Dir: dir})
	if err != nil || len(theirs.Definitions) != 4 {
		t.Errorf("codex has %v, %v", theirs, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 6 { // including 4 imported files and .codex
		t.Errorf("there are %v, %v", entries, err)
	}
}
