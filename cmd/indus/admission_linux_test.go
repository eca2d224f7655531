package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const testToken = "0123456789abcdef"

// TestATokenFileThatIsAPipe checks that a pipe is read once, until its end. If the file later becomes a pipe, requests
// with a valid token do not wait for it. A baseline in a pipe is read in the same way.
func TestATokenFileThatIsAPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	pipe := func() {
		if err := syscall.Mkfifo(file+".pipe", 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".pipe", file); err != nil {
			t.Fatal(err)
		}
	}
	begin := func() *program {
		return startServe(t, nil, "--addr", "127.0.0.1:0", "--no-ledger", "--token-file", file)
	}
	ask := func(p *program, url string) int {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
		r.Header.Set("Authorization", "Bearer "+testToken)
		resp, err := (&http.Client{Timeout: 20 * time.Second}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	const admitted = http.StatusBadRequest // admitted, but without a session
	pipe()
	for _, begin := range []func() *program{
		begin, func() *program { return launch(t, indusCommand(t, nil, "mcp", "lint", "--baseline", file)) },
	} {
		p := begin()
		w, err := os.OpenFile(file, os.O_WRONLY, 0) // waits for its reader
		if err != nil {
			t.Fatal(err)
		}
		p.signal(syscall.SIGTERM)
		p.ends(130)
		w.Close()
	}

	p := begin()
	if err := os.WriteFile(file, []byte("\ufeff"+testToken+"\r\n"), 0); err != nil {
		t.Fatal(err)
	}
	url := p.waitFor(&p.err, `serving at (\S+)\n`)
	for range 15 { // longer than the interval of checks of the file
		if got := ask(p, url); got != admitted {
			t.Errorf("status %d", got)
		}
		<-time.After(100 * time.Millisecond)
	}
	// net/http reads no more of a header than this.
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	r.Header.Set("X-Large", strings.Repeat("x", 100<<10))
	if resp, err := timedClient.Do(r); err != nil || resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a large header: %v, %v", resp, err)
	}
	p.signal(syscall.SIGTERM)
	p.ends(0)

	_ = os.Remove(file)
	if err := os.WriteFile(file, []byte(testToken), 0o600); err != nil {
		t.Fatal(err)
	}
	p = begin()
	url = p.waitFor(&p.err, `serving at (\S+)\n`)
	pipe()
	for late := time.Now().Add(deadline); !strings.Contains(p.err.String(),
		"tokens is no file any more; the tokens that were read before stay valid"); {
		if got := ask(p, url); got != admitted || time.Now().After(late) {
			t.Fatalf("status %d", got)
		}
	}
	p.signal(syscall.SIGTERM)
	p.ends(0)
}
