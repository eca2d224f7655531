package session_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/session"
)

func TestDirectoriesThatAreNoProjects(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	home := filepath.Join(top, "home", "me")
	state := filepath.Join(top, "elsewhere", "state", "indus")
	for _, dir := range []string{
		"home/me/.ssh", "home/me/.config/google-chrome", "home/me/code/repo/.hidden", "home/me/Library/Cookies",
		"home/you/.ssh", "srv", "elsewhere/state/indus/sessions",
	} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(home, filepath.Join(top, "link")); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	for dir, why := range map[string]string{
		"home/me":                        "home directory",
		"home":                           "home directory",
		"":                               "home directory",
		"home/me/.ssh":                   "~/.ssh",
		"home/me/.config/google-chrome":  "~/.config",
		"home/me/Library/Cookies":        "~/Library",
		"home/me/code":                   "",
		"home/me/code/repo":              "",
		"home/me/code/repo/.hidden":      "",
		"home/you/.ssh":                  "",
		"srv":                            "",
		"elsewhere":                      "own files",
		"elsewhere/state":                "own files",
		"elsewhere/state/indus/sessions": "own files",
	} {
		got := session.PrivateReason(filepath.Join(top, filepath.FromSlash(dir)), []string{filepath.Join(top, "link"), home},
			[]string{state})
		if !strings.Contains(filepath.ToSlash(got), why) || (got == "") != (why == "") {
			if dir == "" && got != "" { // the root contains both
				continue
			}
			t.Errorf("%q: %q, want %q", dir, got, why)
		}
	}
}
