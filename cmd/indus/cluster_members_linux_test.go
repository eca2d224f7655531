package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// TestReplicasThatDiffer gives one of two replicas another policy. Both report it, and so do the commands and the
// metrics. A process whose name was taken while it was paused is not ready.
func TestReplicasThatDiffer(t *testing.T) {
	t.Parallel()
	c := newClustered(t, "other", "none")
	for _, p := range c.served {
		p.waitFor(&p.err, "w: ready")
	}
	if out := c.must(0, "mcp", "watch", "--once"); !strings.Contains(out, ", replica a, process ") || strings.Contains(out, "differs") {
		t.Errorf("runs do not name their replicas, or equal replicas differ: %s", out)
	}
	err := os.WriteFile(filepath.Join(c.dirs[1], "policy.cedar"), []byte("permit(principal, action, resource);"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	differs := `The policy of the replicas differs \(a: \w+; b: \w+\): |The policy of the replicas differs \(b: \w+; a: \w+\): `
	for _, p := range c.served {
		p.waitFor(&p.err, differs)
	}
	if out := c.must(0, "mcp", "watch", "--once"); !strings.Contains(out, "replica a at 127.0.0.1:") ||
		!strings.Contains(out, "The policy of the replicas differs (") {
		t.Errorf("watch shows %s", out)
	}
	out, _ := c.run(1, "mcp", "doctor")
	for _, want := range []string{"indus at NATS", "replica a at 127.0.0.1:", "replica b at 127.0.0.1:", "The policy of the replicas differs (", "the same policy"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor does not show %q: %s", want, out)
		}
	}
	if err := os.WriteFile(filepath.Join(c.dirs[1], "policy.cedar"), []byte(newPolicy("other")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range c.served {
		p.waitFor(&p.err, "the replicas have no problem any more")
	}

	ready := strings.TrimSuffix(c.urls[0], "/mcp") + "/readyz"
	first := c.served[0]
	first.pause()
	name, addr := slices.Index(c.flags[0], "--replica")+1, slices.Index(c.flags[0], "--addr")+1
	c.flags[0][name], c.flags[0][addr] = "a="+fixture.FreeAddr(t), fixture.FreeAddr(t)
	c.start(0, "serving at")
	first.signal(syscall.SIGCONT)
	first.waitFor(&first.err, `the name a was taken by a replica at 127.0.0.1:\d+ while this one did not answer`)
	answers := func(want int) {
		t.Helper()
		eventually(t, func() string {
			answer, err := timedClient.Get(ready)
			if err != nil {
				return err.Error()
			}
			answer.Body.Close()
			if answer.StatusCode != want {
				return fmt.Sprintf("/readyz is %s, want %d", answer.Status, want)
			}
			return ""
		})
	}
	answers(http.StatusServiceUnavailable)
	c.served[0].signal(syscall.SIGTERM)
	c.served[0].ends(0)
	first.waitFor(&first.err, "this replica has the name a again")
	answers(http.StatusOK)
}
