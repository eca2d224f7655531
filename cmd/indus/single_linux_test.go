package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/internal/testkit/peers"
)

// singleCluster is two replicas with one server that runs once.
type singleCluster struct {
	*clustered
	beats string // directory
}

func newSingleCluster(t *testing.T) *singleCluster {
	t.Helper()
	c := &singleCluster{&clustered{t: t, nats: natsserver.Start(t)}, t.TempDir()}
	c.configure(map[string]any{"command": "beats", "args": []string{c.beats}, "single": true}, "none",
		"permit(principal, action, resource);")
	for i := range c.dirs {
		c.start(i, "w: ready")
	}
	return c
}

var processNumber = regexp.MustCompile(`process (\d+)`)

// process calls a tool at a replica until the server answers, and returns its process.
func (c *singleCluster) process(i int, tool string) (pid string) {
	c.t.Helper()
	eventually(c.t, func() string {
		got := c.send(i, "", "tools/call", "w__"+tool, fmt.Sprintf(`"name":"w__%s","arguments":{"text":""},%s`, tool, meta))
		found := processNumber.FindStringSubmatch(got)
		if found == nil {
			return fmt.Sprintf("replica %d answers %q", i, got)
		}
		pid = found[1]
		return ""
	})
	return pid
}

// holder returns the replica that runs the server.
func (c *singleCluster) holder() int {
	c.t.Helper()
	pid := c.process(0, "write")
	for i, p := range c.served {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			c.t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if strings.Fields(rest)[1] == strconv.Itoa(p.cmd.Process.Pid) {
			return i
		}
	}
	c.t.Fatalf("the process %s is of no replica", pid)
	return 0
}

// life is when a process ran.
type life struct{ began, end time.Time }

// lives returns the lives of all processes so far, in order.
func (c *singleCluster) lives() (all []life) {
	c.t.Helper()
	files, err := os.ReadDir(c.beats)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(c.beats, f.Name()))
		var began, end int64
		if _, scanned := fmt.Sscan(string(text), &began, &end); err != nil || scanned != nil {
			continue // it has not begun
		}
		all = append(all, life{time.Unix(0, began), time.Unix(0, end)})
	}
	slices.SortFunc(all, func(a, b life) int { return a.began.Compare(b.began) })
	return all
}

// overlap is the longest time during which two processes ran.
func (c *singleCluster) overlap() (longest time.Duration) {
	var end time.Time
	for _, l := range c.lives() {
		longest = max(longest, end.Sub(l.began))
		if l.end.After(end) {
			end = l.end
		}
	}
	return longest
}

// All replicas list a server that runs once, and their calls reach the one process. It moves to another replica when its
// replica ends, hangs or loses NATS, and two processes never run for longer than a lease.
func TestASingleServerRunsOnce(t *testing.T) {
	t.Parallel()
	c := newSingleCluster(t)
	first := c.process(0, "write")
	if other := c.process(1, "write"); other != first {
		t.Fatalf("the replicas reach the processes %s and %s", first, other)
	}
	if out, err := c.run(0, "mcp", "call", "w__write", "text="); err == nil || !strings.Contains(out, "no replica of it; use it through indus serve") {
		t.Errorf("a command starts it too: %v: %s", err, out)
	}
	c.process(0, "grow") // the change reaches both replicas
	for i := range c.served {
		c.process(i, "more")
	}

	old := c.holder()
	c.served[old].signal(syscall.SIGKILL)
	<-c.served[old].done
	second := c.process(1-old, "write")
	if second == first {
		t.Fatal("the process of a killed replica lives")
	}
	c.start(old, "w: ready")
	if again := c.process(old, "write"); again != second {
		t.Errorf("a replica that comes back reaches %s, not %s", again, second)
	}

	old = c.holder()
	c.served[old].signal(syscall.SIGTERM)
	third := c.process(1-old, "write")
	if n := c.overlap(); n > 0 {
		t.Errorf("two processes ran for %v", n)
	}
	c.served[old].ends(0)
	c.start(old, "w: ready")

	old = c.holder()
	c.served[old].pause()
	fourth := c.process(1-old, "write")
	time.Sleep(3 * time.Second) // longer than the lease: the process does not live as long as its replica sleeps
	c.served[old].signal(syscall.SIGCONT)
	if again := c.process(old, "write"); again != fourth || again == third {
		t.Errorf("after a pause it reaches the process %s, not %s", again, fourth)
	}

	c.nats.Kill()
	for i := range c.served {
		c.answers(i, "", "ask again")
		c.answers(i, "", "the request was not sent: try again") // and not: it may have run
	}
	eventually(t, func() string {
		if _, err := os.Stat("/proc/" + fourth); err == nil {
			return "calls are refused while " + fourth + " runs"
		}
		return ""
	})
	c.nats.Run()
	fifth := c.process(0, "write")
	if fifth == fourth || c.process(1, "write") != fifth {
		t.Errorf("without NATS it went on as %s", fifth)
	}
	if n := c.overlap(); n > 2*time.Second { // the lease
		t.Errorf("two processes ran for %v", n)
	}
	t.Logf("%d processes, of which two ran for %v", len(c.lives()), c.overlap())
}

// A legacy server from npm has one process too. At both replicas, progress arrives before the result.
func TestASingleServerFromNPM(t *testing.T) {
	t.Parallel()
	c := &clustered{t: t, nats: natsserver.Start(t), lease: "30s"} // it does not move
	name, args := peers.Everything(t, "stdio")
	c.configure(map[string]any{"command": name, "args": args, "single": true}, "none", "permit(principal, action, resource);")
	for i := range c.dirs {
		c.start(i, "w: ready")
	}
	runs := 0
	for i, p := range c.served {
		const tool = "w__trigger-long-running-operation"
		got := c.send(i, "", "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{"duration":0.1,"steps":2},%s`, tool,
			strings.Replace(meta, "{", `{"progressToken":"mine",`, 1)))
		first, rest, _ := strings.Cut(got, `"progressToken":"mine"`)
		if !strings.Contains(first, "notifications/progress") || !strings.Contains(rest, "Duration: 0.1 seconds") {
			t.Errorf("replica %d answers %s", i, got)
		}
		runs += strings.Count(p.err.String(), "w: runs at this replica")
	}
	if runs != 1 {
		t.Errorf("%d replicas ran it", runs)
	}
	alone := launch(t, projectCommand(c.dirs[0], "serve", "--mcp", "servers.json", "--addr", "127.0.0.1:0"))
	alone.waitFor(&alone.err, "start indus serve with --replica NAME")
	alone.ends(2)
}

// The page of any replica shows where a server that runs once runs, and starts its process again. A replica with another
// row for it reports that.
func TestASingleServerAndThePage(t *testing.T) {
	t.Parallel()
	c := newSingleCluster(t)
	for i := range c.served {
		before, at := c.process(i, "write"), string(rune('a'+c.holder()))
		if out := c.page(i, "servers"); !strings.Contains(out, `"replica": "`+at+`"`) {
			t.Errorf("it runs at %s, and the page of %d has %s", at, i, out)
		}
		c.page(i, "servers/restart", "server=w")
		eventually(t, func() string {
			if c.process(i, "write") == before {
				return "its process goes on"
			}
			return ""
		})
	}
	if n := c.overlap(); n > 0 {
		t.Errorf("two processes ran for %v", n)
	}

	other := 1 - c.holder()
	file := filepath.Join(c.dirs[other], "servers.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), `"args":[`, `"args":["--other",`, 1))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c.served[other].waitFor(&c.served[other].err, "w: runs once at the replica [ab], where its row differs")

	at := string(rune('a' + 1 - other))
	if out := c.must(other, "mcp", "ls"); !regexp.MustCompile(`w +active .* ` + at + ` +file`).MatchString(out) {
		t.Errorf("it runs at %s, and the list is %s", at, out)
	}
	if out := c.must(other, "mcp", "doctor"); !strings.Contains(out, "runs once in the cluster, and was not started") {
		t.Error(out)
	}
	c.served[other].signal(syscall.SIGTERM)
	c.served[other].ends(0)
	if err := os.WriteFile(filepath.Join(c.dirs[other], "peer.keys"), []byte(strings.Repeat("f", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start(other, "give all replicas the same keys in peer.keys")
	c.served[other].waitFor(&c.served[other].err,
		"w: connect: server/discover: no replica that runs it can be reached: the replica does not take the request: [ab]: the credentials of the replicas do not fit: ")
}

// page runs a command of the page of a replica.
func (c *singleCluster) page(i int, args ...string) string {
	c.t.Helper()
	at := strings.TrimSuffix(strings.TrimPrefix(c.urls[i], "http://"), "/mcp")
	out, err := projectCommand(c.dirs[i], append([]string{"page", "--at", at}, args...)...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("indus page %q: %v: %s", args, err, out)
	}
	return string(out)
}
