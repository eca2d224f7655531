package audit_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/indusagi/indus/control/audit"
)

// TestAForeignFileStays checks that a file which is no audit is refused and not changed, and that an audit becomes
// private.
func TestAForeignFileStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	for _, text := range []string{"line one\nmy note without a line break", `{"servers":{}}`, "\n", "{}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		l, err := audit.Open(path, nil)
		if err == nil {
			l.Close()
		}
		if got, _ := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), "is no audit file") || string(got) != text {
			t.Errorf("%q became %q: %v", text, got, err)
		}
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(path, 0o666)
	l, err := audit.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
