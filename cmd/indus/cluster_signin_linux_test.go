package main

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/internal/testkit/natsserver"
)

// whoami calls the tool whoami at a replica until its answer has a text.
func (c *clustered) whoami(i int, want string) {
	c.t.Helper()
	c.awaits(i, want, func() string {
		return c.send(i, "", "tools/call", "w__whoami", `"name":"w__whoami","arguments":{},`+meta)
	})
}

// newSignedIn starts two replicas with a server at which alice has signed in.
func newSignedIn(t *testing.T) (*clustered, *signInServer) {
	t.Helper()
	guarded := newGuarded(t, authserver.Options{Opaque: true})
	c := &clustered{t: t, nats: natsserver.Start(t)}
	c.env = []string{"INDUS_STORE_KEY=" + strings.Repeat("ab", 32), "BROWSER=browser", "BROWSER_USER=alice"}
	c.configure(map[string]any{"url": guarded.url}, "none", "permit(principal, action, resource);")
	for i := range c.dirs {
		c.start(i, "indus mcp login w")
	}
	c.must(0, "mcp", "login", "w")
	c.whoami(0, "alice")
	c.whoami(1, "alice")
	return c, guarded
}

// A sign-in of one machine is valid at all replicas. Its refresh tokens are used once, and not while NATS is away.
func TestSignInsOfACluster(t *testing.T) {
	t.Parallel()
	c, guarded := newSignedIn(t)
	const rounds = 3
	for range rounds {
		guarded.as.Expire(t, "alice")
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if got := c.send(i%2, "", "tools/call", "w__whoami", `"name":"w__whoami","arguments":{},`+meta); !strings.Contains(got, "alice") {
					t.Errorf("replica %d answers %s", i%2, got)
				}
			})
		}
		all.Wait()
	}
	renewals := func(want int) {
		t.Helper()
		if n := guarded.as.Counts(t); n["refresh_token"] != want || n["refresh_token: invalid_grant"] > 0 || n["revoked"] > 0 {
			t.Errorf("%v, want %d renewals", n, want)
		}
	}
	renewals(rounds)

	c.nats.Kill()
	for i, p := range c.served {
		p.waitFor(&p.err, "connection to NATS is lost")
		c.whoami(i, "alice") // its token is valid
	}
	guarded.as.Expire(t, "alice")
	for i := range c.served {
		c.whoami(i, "ask again")
		if out, err := c.run(i, "mcp", "logout", "w", "--wait", "1s"); err == nil || !strings.Contains(out, "does NATS run there") {
			t.Errorf("signed out without NATS: %v: %s", err, out)
		}
	}
	renewals(rounds)
	c.nats.Run()
	c.whoami(1, "alice")
	c.whoami(0, "alice")
	renewals(rounds + 1)

	other := *c
	other.env = []string{"INDUS_STORE_KEY=" + strings.Repeat("cd", 32)}
	if out, err := other.run(1, "mcp", "logout", "w"); err == nil || !strings.Contains(out, "set INDUS_STORE_KEY to the key of the other replicas") {
		t.Errorf("another key: %v: %s", err, out)
	}
	c.served[1].signal(syscall.SIGKILL)
	<-c.served[1].done
	other.start(1, "set INDUS_STORE_KEY to the key of the other replicas")
	other.served[1].ends(2)
	c.start(1, "w: ready")
	c.must(0, "mcp", "login", "w", "--as", "user:bob")
	made := c.must(0, "key", "add", "--principal", "bob")
	id := regexp.MustCompile(`(?m)^indus_(\w+)\.`).FindStringSubmatch(made)[1]
	if out := c.must(1, "key", "rm", id); !strings.Contains(out, "user:bob has no key left and is still signed in") {
		t.Errorf("a removed key: %s", out)
	}
	c.must(1, "mcp", "logout", "w")
	c.whoami(0, "indus mcp login w")
	c.whoami(1, "indus mcp login w")
	checkSealed(t, c.nats.Store, guarded.known())
}

// NATS ends in the middle of a renewal. The callers at both replicas are answered within seconds, and the new token is
// stored when NATS is back.
func TestNATSEndsDuringARenewal(t *testing.T) {
	t.Parallel()
	c, guarded := newSignedIn(t)
	kill := sync.OnceFunc(c.nats.Kill)
	guarded.mu.Lock()
	guarded.refuses = func(grant string, _ http.ResponseWriter) bool {
		if grant == "refresh_token" {
			kill()
		}
		return false
	}
	guarded.mu.Unlock()
	guarded.as.Expire(t, "alice")
	var all sync.WaitGroup
	began := time.Now()
	for i := range 10 {
		all.Go(func() {
			if got := c.send(i%2, "", "tools/call", "w__whoami", `"name":"w__whoami","arguments":{},`+meta); !strings.Contains(got, "ask again") {
				t.Errorf("replica %d answers %s", i%2, got)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the callers wait %v", took)
	}
	c.nats.Run()
	c.whoami(0, "alice")
	c.whoami(1, "alice")
	if n := guarded.as.Counts(t); n["refresh_token"] != 1 || n["refresh_token: invalid_grant"] > 0 || n["revoked"] > 0 {
		t.Errorf("%v, want 1 renewal", n)
	}
}

// checkSealed checks that files below a directory have the store of sign-ins, and none of the secrets.
func checkSealed(t *testing.T, dir string, secrets []string) {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil || len(secrets) == 0 || !strings.Contains(all.String(), "sign-ins of indus") {
		t.Fatalf("there is nothing to check: %d secrets, %v", len(secrets), err)
	}
	for _, secret := range secrets {
		if strings.Contains(all.String(), secret) || findSecret(all.String(), secret) != "" {
			t.Errorf("NATS has a secret in plain text: %.8s…", secret)
		}
	}
}
