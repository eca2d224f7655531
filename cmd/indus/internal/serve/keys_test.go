package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/serve"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/sealed"
)

// The file of the keys that seal client data is followed without a signal.
func TestSealingKeysAreFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, servers := filepath.Join(dir, "serve.keys"), filepath.Join(dir, "servers.json")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, second := strings.Repeat("01", 32)+"\n", strings.Repeat("02", 32)+"\n"
	write(servers, `{"servers": {}}`)
	write(path, first)
	var told strings.Builder
	f, g, err := serve.Follow(t.Context(), servers, &told)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	keys, err := f.FollowKeys(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	write(path, first+second)
	other := filepath.Join(dir, "other.keys")
	write(other, second)
	peer, err := host.KeyFile(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f.Look(t.Context())
	}
	if _, err := keys.Open(peer.Seal(sealed.Token{Kind: sealed.Cursor}), sealed.Want{Kind: sealed.Cursor}); err != nil {
		t.Errorf("the second key does not count: %v, after %q", err, told.String())
	}
	if !strings.Contains(told.String(), "were read again") {
		t.Errorf("it says %q", told.String())
	}
}
