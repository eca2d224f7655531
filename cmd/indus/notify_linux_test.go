package main

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServeNotifiesItsServiceManager checks the states that systemd waits for with Type=notify, on both kinds of sockets.
// After READY=1, requests are answered.
func TestServeNotifiesItsServiceManager(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{
		"file":     filepath.Join(t.TempDir(), "notify"),
		"abstract": "@" + strings.ReplaceAll(t.TempDir(), "/", "-"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer manager.Close()
			cmd := indusCommand(t, map[string]row{}, "serve", "--addr", "127.0.0.1:0")
			cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+address)
			p := launch(t, cmd)
			expectState(t, manager, "READY=1")
			url := p.waitFor(&p.err, `serving at (\S+)/mcp\n`)
			res, err := timedClient.Get(url + "/livez")
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode != http.StatusOK {
				t.Errorf("after READY=1: %s", res.Status)
			}
			p.signal(syscall.SIGTERM)
			expectState(t, manager, "STOPPING=1")
			p.ends(0)
		})
	}
}

// TestServeWithoutItsServiceManager checks that serve continues, and reports it, if the socket does not exist.
func TestServeWithoutItsServiceManager(t *testing.T) {
	t.Parallel()
	cmd := indusCommand(t, map[string]row{}, "serve", "--addr", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+filepath.Join(t.TempDir(), "missing"))
	p := launch(t, cmd)
	p.waitFor(&p.err, `(?s)serving at .*does not get READY=1: .*missing: connect: no such file or directory`)
	p.signal(syscall.SIGTERM)
	p.ends(0)
}

func expectState(t *testing.T, manager *net.UnixConn, want string) {
	t.Helper()
	_ = manager.SetReadDeadline(time.Now().Add(deadline))
	message := make([]byte, 100)
	n, err := manager.Read(message)
	if got := string(message[:n]); err != nil || got != want {
		t.Fatalf("the service manager got %q (%v), want %q", got, err, want)
	}
}
