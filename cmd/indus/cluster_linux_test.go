package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// clustered is two processes of indus serve with homes of their own, one NATS and one server with the tool write.
type clustered struct {
	t      *testing.T
	nats   *natsserver.Server
	writer *writer
	dirs   [2]string
	urls   [2]string
	served [2]*program
	flags  [2][]string
	env    []string
	key    string // of the client
	lease  string // "" means 2s
}

func newClustered(t *testing.T, way, auth string) *clustered {
	t.Helper()
	c := &clustered{t: t, nats: natsserver.Start(t), writer: newWriter("w")}
	at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return c.writer.Server }, nil))
	t.Cleanup(at.Close)
	c.configure(map[string]any{"url": at.URL}, auth, newPolicy(way))
	for i := range c.dirs {
		c.start(i, "w: ready")
	}
	return c
}

// newPolicy returns a policy by which each call waits for approval.
func newPolicy(way string) string {
	return `permit(principal, action == Action::"list", resource);
		@approve("` + way + `") permit(principal, action == Action::"call", resource);`
}

// configure writes the files of both replicas, which have one row.
func (c *clustered) configure(row map[string]any, auth, policy string) {
	t := c.t
	t.Helper()
	config, err := json.Marshal(map[string]any{
		"servers": map[string]any{"w": row}, "policy": "policy.cedar",
		"cluster": map[string]any{"nats": c.nats.URL, "monitor": c.nats.Monitor, "lease": cmp.Or(c.lease, "2s")},
		"auth":    map[string]any{"methods": []string{auth}},
	})
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Repeat("0123456789abcdef", 4)
	for i := range c.dirs {
		c.dirs[i] = t.TempDir()
		for name, text := range map[string]string{
			"servers.json": string(config), "peer.keys": key, "serve.keys": key,
			"policy.cedar": policy,
		} {
			if err := os.WriteFile(filepath.Join(c.dirs[i], name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		addr := fixture.FreeAddr(t)
		c.urls[i] = "http://" + addr + "/mcp"
		c.flags[i] = []string{"serve", "--mcp", "servers.json", "--addr", addr, "--key-file", "serve.keys",
			"--peer-key-file", "peer.keys", "--replica", string(rune('a'+i)) + "=" + fixture.FreeAddr(t), "--ready-delay", "0"}
	}
}

// start starts a replica, and waits until it reports a text.
func (c *clustered) start(i int, until string) {
	c.t.Helper()
	cmd := projectCommand(c.dirs[i], c.flags[i]...)
	cmd.Env = append(cmd.Env, c.env...)
	c.served[i] = launch(c.t, cmd)
	c.served[i].waitFor(&c.served[i].err, until)
}

// call calls the tool at a replica, and returns the answer.
func (c *clustered) call(i int, text string) string {
	c.t.Helper()
	return c.send(i, "", "tools/call", "w__write", fmt.Sprintf(`"name":"w__write","arguments":{"text":%q},`+meta, text))
}

// send sends a request to a replica: a legacy one if it has a session, and else a modern one.
func (c *clustered) send(i int, session, method, name, params string) string {
	c.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.urls[i], strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	headers := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name}
	if session != "" {
		headers = map[string]string{"Mcp-Protocol-Version": "2025-11-25", "Mcp-Session-Id": session}
	}
	if c.key != "" {
		headers["Authorization"] = "Bearer " + c.key
	}
	headers["Content-Type"], headers["Accept"] = "application/json", "application/json, text/event-stream"
	for k, v := range headers {
		if v != "" {
			r.Header.Set(k, v)
		}
	}
	answer, err := timedClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer.Status + " " + string(text)
}

var approvalID = regexp.MustCompile(`approval ([2-9A-Z]{4})\b`)

// waits calls the tool at a replica, and returns the id of the approval that it waits for.
func (c *clustered) waits(i int, text string) string {
	c.t.Helper()
	found := approvalID.FindStringSubmatch(c.call(i, text))
	if found == nil {
		c.t.Fatalf("the call does not wait for approval: %s", c.call(i, text))
	}
	return found[1]
}

// awaits repeats a request to a replica until its answer has a text.
func (c *clustered) awaits(i int, want string, send func() string) {
	c.t.Helper()
	eventually(c.t, func() string {
		if got := send(); !strings.Contains(got, want) {
			return fmt.Sprintf("replica %d answers %q, without %q", i, got, want)
		}
		return ""
	})
}

// answers repeats a call until its answer has a text.
func (c *clustered) answers(i int, text, want string) {
	c.t.Helper()
	c.awaits(i, want, func() string { return c.call(i, text) })
}

// run runs a command in the home of a replica.
func (c *clustered) run(i int, args ...string) (string, error) {
	cmd := projectCommand(c.dirs[i], append(args, "--mcp", "servers.json")...)
	cmd.Env = append(cmd.Env, c.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *clustered) must(i int, args ...string) string {
	c.t.Helper()
	out, err := c.run(i, args...)
	if err != nil {
		c.t.Fatalf("indus %q: %v: %s", args, err, out)
	}
	return out
}

// A call that waits at one replica is decided at another, and runs once at any of them.
func TestApprovalsOfACluster(t *testing.T) {
	t.Parallel()
	c := newClustered(t, "other", "none")
	id := c.waits(0, "first")
	if other := c.waits(1, "first"); other != id {
		t.Errorf("the same call waits for %s and %s", id, other)
	}
	if text := c.call(0, "first"); !strings.Contains(text, "by `indus approvals allow --mcp FILE "+id+"`") {
		t.Errorf("a caller reads %s", text)
	}
	missed, err := projectCommand(c.dirs[1], "approvals", "allow", id, "--yes").CombinedOutput()
	if err == nil || !strings.Contains(string(missed), `" on this machine; --mcp FILE names the configuration of a cluster`) {
		t.Errorf("without the configuration: %v: %s", err, missed)
	}
	c.must(1, "approvals", "allow", id, "--yes")
	c.served[0].signal(syscall.SIGKILL) // its state is not in the process
	<-c.served[0].done
	c.answers(1, "first", "wrote first")
	c.start(0, "w: ready")
	if again := c.waits(0, "first"); again == id || c.writer.ran("write", "first") != 1 {
		t.Errorf("the grant %s is used %d times, and then %s", id, c.writer.ran("write", "first"), again)
	}
	denied := c.waits(0, "second")
	c.must(0, "approvals", "deny", denied, "--reason", "not today")
	c.answers(1, "second", "not today")
	if out, err := c.run(1, "approvals", "allow", denied, "--yes"); err == nil || !strings.Contains(out, "decided already") {
		t.Errorf("it is decided twice: %v: %s", err, out)
	}
	if c.writer.ran("write", "second") != 0 {
		t.Error("a denied call ran")
	}

	granted, waiting := c.waits(0, "third"), c.waits(1, "fourth")
	c.must(0, "approvals", "allow", granted, "--yes")
	c.nats.Kill()
	for i, p := range c.served {
		p.waitFor(&p.err, "connection to NATS is lost")
		c.answers(i, "third", "ask again")  // no grant is spent
		c.answers(i, "fifth", "ask again")  // no call begins to wait
		c.answers(i, "second", "not today") // denied stays denied
		c.answers(i, "fourth", waiting)     // a waiting call waits
		if out, err := c.run(i, "approvals", "allow", waiting, "--yes", "--wait", "1s"); err == nil ||
			!strings.Contains(out, "does NATS run there") {
			t.Errorf("decided without NATS: %v: %s", err, out)
		}
		if body := c.send(i, "", "tools/list", "", meta); !strings.Contains(body, "w__write") {
			t.Errorf("without NATS the list is %s", body)
		}
	}
	c.nats.Run()
	c.answers(1, "third", "wrote third")
	if n := c.writer.ran("write", "third"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	c.must(1, "approvals", "allow", waiting, "--yes")
	c.answers(0, "fourth", "wrote fourth")
}

// stream opens the stream of a session at a replica. The channel is closed when it ends.
func (c *clustered) stream(i int, session string) <-chan struct{} {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.urls[i], nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header = http.Header{
		"Accept": {"text/event-stream"}, "Mcp-Session-Id": {session}, "Mcp-Protocol-Version": {"2025-11-25"},
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		c.t.Fatal(answer, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body)
	}()
	return ended
}

// Replicas of a cluster find each other without --peer. A replica that stops answering is gone after a lease, what was
// in flight there ends, and it is back when it answers again.
func TestMembersOfACluster(t *testing.T) {
	t.Parallel()
	c := newClustered(t, "caller", "none")
	_, session := post(t, c.urls[0], "", "initialize",
		`"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}`)
	if session == "" {
		t.Fatal("no session")
	}
	until := func(want string) {
		t.Helper()
		c.awaits(1, want, func() string { return c.send(1, session, "tools/list", "", "") })
	}
	until("w__write")
	streamed := c.stream(1, session)
	c.served[0].pause()
	until("404 Not Found")
	select {
	case <-streamed:
	case <-time.After(deadline):
		t.Error("the stream of a replica that hangs has no end")
	}
	c.served[0].signal(syscall.SIGCONT)
	until("w__write")
	c.served[0].signal(syscall.SIGTERM)
	c.served[0].ends(0)
	until("404 Not Found")
	if said := c.served[0].err.String() + c.served[1].err.String(); strings.Contains(said, "the same keys") {
		t.Errorf("both have the same keys: %s", said)
	}

	// A replica with other keys, and one with the name of another one, are reported.
	other := strings.Repeat("f", 64)
	if err := os.WriteFile(filepath.Join(c.dirs[0], "serve.keys"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start(0, `the replica b cannot read what clients got from this one: give all replicas the same keys in --key-file`)
	c.served[0].waitFor(&c.served[0].err, "serving at")
	c.served[0].signal(syscall.SIGTERM)
	c.served[0].ends(0)
	if err := os.WriteFile(filepath.Join(c.dirs[0], "peer.keys"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start(0, `the replica b at \S+: this replica refuses its credentials .*: give all replicas the same keys in peer\.keys`)
	c.served[0].waitFor(&c.served[0].err, "serving at") // before, the signal interrupts the start
	c.served[0].signal(syscall.SIGTERM)
	c.served[0].ends(0)
	name := slices.Index(c.flags[0], "--replica") + 1
	c.flags[0][name] = "b=" + fixture.FreeAddr(t)
	c.start(0, `the name b belongs to a replica at \S+: waiting for its end, for at most 3s`)
}

// An API key that is added or removed at one replica is added or removed at all, also while NATS restarts.
func TestKeysOfACluster(t *testing.T) {
	t.Parallel()
	c := newClustered(t, "other", "keys")
	lists := func(i int, want string) {
		t.Helper()
		c.awaits(i, want, func() string { return c.send(i, "", "tools/list", "", meta) })
	}
	for _, want := range []string{"indus key add --mcp servers.json creates one", "--key --mcp servers.json\n"} {
		c.served[0].waitFor(&c.served[0].err, want)
	}
	c.served[1].signal(syscall.SIGTERM)
	c.served[1].ends(0)
	c.flags[1] = append(c.flags[1], "--cluster", c.nats.URL) // which no other command has
	c.start(1, "indus key add --mcp FILE creates one")
	if out := c.must(0, "key", "ls"); !strings.Contains(out, `no keys in the cluster; "indus key add --mcp servers.json" makes one`) {
		t.Errorf("another command adds no key to the cluster: %s", out)
	}
	out := c.must(0, "key", "add", "--principal", "alice")
	c.key = regexp.MustCompile(`(?m)^indus_\S+$`).FindString(out)
	id := strings.TrimPrefix(strings.Split(c.key, ".")[0], "indus_")
	if !strings.Contains(out, "of alice, in the cluster\n") {
		t.Errorf("a key of the cluster is made by %s", out)
	}
	lists(0, "w__write")
	lists(1, "w__write")
	if list := c.must(1, "key", "ls"); !strings.Contains(list, id) {
		t.Errorf("the other replica has no key %s: %s", id, list)
	}
	c.nats.Kill()
	for i, p := range c.served {
		p.waitFor(&p.err, "connection to NATS is lost")
		lists(i, "w__write")
		if out, err := c.run(i, "key", "rm", id, "--wait", "1s"); err == nil || !strings.Contains(out, "does NATS run there") {
			t.Errorf("removed without NATS: %v: %s", err, out)
		}
	}
	out, err := c.run(0, "connect", "cursor", "--yes", "--wait", "1s")
	if err == nil || !strings.Contains(out, "does NATS run there") {
		t.Errorf("a client gets a key without NATS: %v: %s", err, out)
	}
	c.nats.Run()
	c.must(1, "key", "rm", id)
	lists(0, "401")
	lists(1, "401")

	c.must(0, "connect", "cursor", "--yes")
	text, err := os.ReadFile(filepath.Join(c.dirs[0], ".cursor", "mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	c.key = regexp.MustCompile(`indus_\w+\.[^"]+`).FindString(string(text))
	lists(0, "w__write")
	lists(1, "w__write")
	if out := c.must(0, "connect", "cursor", "--yes"); !strings.Contains(out, "nothing was written") {
		t.Errorf("a client with a key gets another one: %s", out)
	}
	cmd := projectCommand(c.dirs[0], "connect", "cursor", "--revert", "--yes", "--mcp", t.TempDir())
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "name its configuration with --mcp") {
		t.Errorf("undone without the cluster: %v: %s", err, out)
	}
	lists(1, "w__write")
	c.must(0, "connect", "cursor", "--revert", "--yes")
	lists(0, "401")
	lists(1, "401")

	if out := c.must(0, "key", "ls"); strings.Contains(out, "NATS has nothing") {
		t.Errorf("NATS has the keys: %s", out)
	}
	c.nats.Kill()
	if err := os.RemoveAll(c.nats.Store); err != nil {
		t.Fatal(err)
	}
	c.nats.Run()
	if out := c.must(0, "key", "add", "--principal", "alice"); !strings.Contains(out, "NATS has nothing of it yet: a replica") {
		t.Errorf("a key that the replicas do not follow: %s", out)
	}
}
