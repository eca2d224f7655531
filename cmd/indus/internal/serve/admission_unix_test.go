//go:build unix

package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/serve"
)

// TestTokensInAPipe checks that serve does not wait forever for a pipe without a writer.
func TestTokensInAPipe(t *testing.T) {
	silent, pipe := filepath.Join(t.TempDir(), "silent"), filepath.Join(t.TempDir(), "pipe")
	for _, path := range []string{silent, pipe} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := serve.ReadTokens(t.Context(), silent, time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "no program wrote into this pipe") {
		t.Errorf("without a writer: %v", err)
	}
	wrote := make(chan error, 1)
	go func() {
		wrote <- os.WriteFile(pipe, []byte("0123456789abcdef0123456789abcdef\n"), 0o600)
	}()
	if err := serve.ReadTokens(t.Context(), pipe, time.Minute); err != nil {
		t.Errorf("with a writer: %v", err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}
