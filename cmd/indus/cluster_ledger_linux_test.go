package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool that changes is held at every replica, until it is accepted once. Then every replica lists it. While NATS is
// down, nothing is approved, and the commands record nothing. A replica that starts empty knows what the others decided.
func TestTheLedgerOfACluster(t *testing.T) {
	t.Parallel()
	c := &clustered{t: t, nats: natsserver.Start(t), writer: newWriter("w")}
	third := &clustered{t: t, nats: c.nats, writer: c.writer}
	at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return c.writer.Server }, nil))
	t.Cleanup(at.Close)
	for _, group := range []*clustered{c, third} {
		group.configure(map[string]any{"url": at.URL}, "none", `permit(principal, action, resource);`)
		for i := range group.flags {
			group.flags[i] = append(group.flags[i], "--changes", "hold")
		}
	}
	name := slices.Index(third.flags[0], "--replica") + 1
	third.flags[0][name] = "c" + third.flags[0][name][1:]
	for i := range c.dirs {
		c.start(i, "w: ready")
	}
	all := []func(text, want string){
		func(text, want string) { t.Helper(); c.answers(0, text, want) },
		func(text, want string) { t.Helper(); c.answers(1, text, want) },
		func(text, want string) { t.Helper(); third.answers(0, text, want) },
	}
	all[0]("first", "wrote first")
	all[1]("first", "wrote first")

	c.writer.define("write", "Writes a text, and sends it.")
	all[0]("second", "no tool named")
	all[1]("second", "no tool named")
	third.start(0, "w: ready")
	all[2]("second", "no tool named")
	if out := c.must(0, "mcp", "accept"); !strings.Contains(out, "w__write@") || !strings.Contains(out, "mcp accept w__write@") ||
		!strings.Contains(out, "--mcp servers.json") {
		t.Errorf("the changed tools are %s", out)
	}
	c.must(1, "mcp", "accept", "w__write")
	began := time.Now()
	for _, answers := range all {
		answers("third", "wrote third")
	}
	t.Logf("live at three replicas after %v", time.Since(began))

	c.nats.Kill()
	for _, p := range []*program{c.served[0], c.served[1], third.served[0]} {
		p.waitFor(&p.err, "connection to NATS is lost")
	}
	for _, answers := range all {
		answers("fourth", "wrote fourth")
	}
	c.writer.define("write", "Writes a text, and deletes it.")
	for _, answers := range all {
		answers("fifth", "no tool named")
	}
	for _, args := range [][]string{{"accept", "--all"}, {"accept"}, {"log"}, {"watch", "--once"}, {"verify"}} {
		out, err := c.run(0, append(append([]string{"mcp"}, args...), "--wait", "1s")...)
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 4 || !strings.Contains(out, "does NATS run there") {
			t.Errorf("without NATS, indus mcp %s ends with %v: %s", args, err, out)
		}
	}
	c.nats.Run()
	c.until("is accepted", 1, "accept", "--all") // a replica has to record it before
	for _, answers := range all {
		answers("sixth", "wrote sixth")
	}
	c.wantWhole()

	c.until("indus serve", 3, "watch", "--once")
	third.served[0].signal(syscall.SIGKILL)
	c.until("indus serve", 2, "watch", "--once") // its lease has expired
	if out := c.must(0, "mcp", "log"); !strings.Contains(out, "accepted  w  write") || !strings.Contains(out, "its process is gone") {
		t.Errorf("the history is %s", out)
	}
}

// until repeats a command until its output has a text so many times.
func (c *clustered) until(text string, times int, args ...string) {
	c.t.Helper()
	eventually(c.t, func() string {
		out := c.must(0, append([]string{"mcp"}, args...)...)
		if strings.Count(out, text) != times {
			return fmt.Sprintf("indus mcp %s prints %s", args, out)
		}
		return ""
	})
}

// wantWhole checks that the chain of the ledger is whole, also up to an earlier head.
func (c *clustered) wantWhole() {
	c.t.Helper()
	out := c.must(0, "mcp", "verify")
	head := regexp.MustCompile(`head (\S+)`).FindStringSubmatch(out)
	if head == nil || !strings.Contains(out, "as they were written") {
		c.t.Fatalf("verify prints %s", out)
	}
	c.must(1, "mcp", "verify", "--head", head[1])
	if out, err := c.run(1, "mcp", "verify", "--head", "3:"+strings.Repeat("0", 64)); err == nil {
		c.t.Errorf("another head is accepted: %s", out)
	}
}
