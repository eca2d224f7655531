package main

import (
	"io"
	"regexp"
	"testing"

	"github.com/indusagi/indus/internal/testkit/authserver"
)

// TestSignInByPasting signs in on a terminal without a browser. The user pastes the final address of a browser
// elsewhere. After any other text, indus asks again.
func TestSignInByPasting(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, authserver.Options{Opaque: true})
	control, tty := openTerminal(t, 200, 24)
	seen, read := &transcript{}, make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(seen, control) // ends when the terminal is closed on all sides
	}()
	cmd := indusCommand(t, map[string]any{"safe": map[string]any{"url": g.url}}, "mcp", "login", "safe", "--no-browser")
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	address := seen.waitFor(t, `\r\n  (http://\S+)\r\n`, nil)
	seen.waitFor(t, "paste that address here", nil)
	back, err := authserver.Browser{User: "bob"}.Visit(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"what?", "http://127.0.0.1:7333/callback?code=x&state=y", back.String()} {
		if _, err := io.WriteString(control, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	<-read
	control.Close()
	seen.waitFor(t, "that is not the address at which this sign-in ended", nil)
	seen.waitFor(t, regexp.QuoteMeta("safe: signed in at http://127.0.0.1:"), nil)
}
