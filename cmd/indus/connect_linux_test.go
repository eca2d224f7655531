package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestConnectAsksOnATerminal checks that connect writes after a yes only, does not let the file drive the terminal, and
// writes nothing if the file changes while it waits for the answer.
func TestConnectAsksOnATerminal(t *testing.T) {
	t.Parallel()
	const before = "{\"mcpServers\": {\"a\u202eb\": {\"command\": \"x\"}}}\n"
	for name, c := range map[string]struct {
		answer  string
		changed string // the file while connect waits
		code    int
		after   string
	}{
		"yes":     {"y\r", before, 0, `"indus": {"url": "http://127.0.0.1:7332/mcp"}`},
		"no":      {"\r", before, 1, before},
		"end":     {"\x04", before, 1, before},
		"ctrl-c":  {"", before, 130, before}, // a signal
		"changed": {"yes\r", "{}\n", 1, "{}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, ".cursor", "mcp.json")
			if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			write := func(text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(before)
			terminal := startOnTerminal(t, dir, "connect", "cursor")
			terminal.seen.waitFor(t, `write it\? \[y/N\] $`, terminal.done)
			write(c.changed)
			if c.answer == "" {
				terminal.signal(syscall.SIGINT)
			}
			terminal.types(c.answer)
			terminal.ends(c.code)
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), c.after) {
				t.Errorf("%v: %q", err, text)
			}
			if strings.Contains(terminal.seen.String(), "\u202e") {
				t.Errorf("the file drives the terminal: %q", terminal.seen)
			}
			records, _ := os.ReadFile(filepath.Join(dir, "indus", "connect.json"))
			if recorded := strings.Contains(string(records), "cursor"); recorded != (c.code == 0) {
				t.Errorf("the records are %s", records)
			}
		})
	}
}
