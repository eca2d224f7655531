//go:build unix

package identity_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/auth/identity"
)

// With a pipe in place of the file, every key is refused, and no request waits for the writer of the pipe.
func TestAPipeIsNoFileOfKeys(t *testing.T) {
	t.Parallel()
	path, k := keyFile(t)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Verify(t.Context(), "indus_a.b"); err == nil || !strings.Contains(err.Error(), "not a file but a named pipe") {
		t.Error(err)
	}
}

// A key that is removed under one name of the file is also refused by readers under another name.
func TestALinkToKeysStaysOne(t *testing.T) {
	t.Parallel()
	path, k := keyFile(t)
	token, key := added(t, k, identity.Key{})
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := identity.NewKeys(link).Remove(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Verify(t.Context(), token); !errors.Is(err, identity.ErrInvalid) {
		t.Error(err)
	}
}
