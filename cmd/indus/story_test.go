//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/ledger"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// configure writes a new configuration for a command.
func configure(t *testing.T, cmd *exec.Cmd, servers map[string]row) {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"servers": servers})
	if err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(filepath.Join(cmd.Dir, "servers.json"), string(raw)); err != nil {
		t.Fatal(err)
	}
}

// ledgerOf opens the ledger that a command writes.
func ledgerOf(t *testing.T, cmd *exec.Cmd) *ledger.File {
	t.Helper()
	f, err := ledger.OpenFile(t.Context(), filepath.Join(cmd.Dir, "indus", "ledger.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func entriesOf(t *testing.T, f *ledger.File) []ledger.Entry {
	t.Helper()
	entries, err := f.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// dial connects a client to an indus that serves over HTTP.
func dial(t *testing.T, url string) *mcp.ClientSession {
	return mcpSession(t, &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true})
}

func mcpSession(t *testing.T, via mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	cs, err := client.Connect(t.Context(), via, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

// callError returns the outcome of a call as an error.
func callError(ctx context.Context, cs *mcp.ClientSession, tool string, args map[string]any) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	r, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err == nil && r.IsError {
		err = fmt.Errorf("%s: %s", tool, r.Content[0].(*mcp.TextContent).Text)
	}
	return err
}

// load calls tools repeatedly.
type load struct {
	calls   atomic.Int64
	mu      sync.Mutex
	faults  []string
	running sync.WaitGroup
	stop    context.CancelFunc
}

// startLoad begins to call the tools, with one goroutine per client.
func startLoad(t *testing.T, tools map[string]map[string]any, clients ...*mcp.ClientSession) *load {
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop}
	for _, cs := range clients {
		l.running.Go(func() {
			for ctx.Err() == nil {
				for name, args := range tools {
					err := callError(ctx, cs, name, args)
					l.calls.Add(1)
					if err != nil && ctx.Err() == nil {
						l.mu.Lock()
						l.faults = append(l.faults, err.Error())
						l.mu.Unlock()
					}
				}
			}
		})
	}
	t.Cleanup(func() { stop(); l.running.Wait() })
	return l
}

// wantNoFault ends the calls and checks that none has failed.
func (l *load) wantNoFault(t *testing.T) {
	t.Helper()
	l.stop()
	l.running.Wait()
	if len(l.faults) > 0 {
		t.Errorf("%d of %d calls failed, the first: %s", len(l.faults), l.calls.Load(), l.faults[0])
	}
	if l.calls.Load() == 0 {
		t.Error("nobody called anything")
	}
}

// wantLive waits until the ledger's live tools of a run are the tools that its clients see.
func wantLive(t *testing.T, f *ledger.File, by string, cs *mcp.ClientSession) {
	t.Helper()
	eventually(t, func() string {
		var live []string
		for _, r := range ledger.Runs(entriesOf(t, f)) {
			if r.Ended.IsZero() && strings.HasPrefix(r.By, by) {
				live = r.Live().Names()
			}
		}
		seen := listOf(t.Context(), t, cs)
		slices.Sort(live)
		slices.Sort(seen)
		return cmp.Diff(seen, live)
	})
}

// killNth kills the nth process of a fixture.
func killNth(t *testing.T, f *fixture.Server, n int) {
	t.Helper()
	var pid int
	if _, err := fmt.Sscanf(f.WaitN("start ", n), "start %d", &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// stableServers returns the servers of a story that stay unchanged, and calls of their tools.
func stableServers(t *testing.T, mark string) (servers map[string]row, calls map[string]map[string]any) {
	t.Helper()
	dir, env := t.TempDir(), map[string]string{markName: mark}
	node, everything := peers.Everything(t, "stdio")
	_, filesystem := peers.Filesystem(t, dir)
	return map[string]row{
			"everything": {node, everything, env},
			"fs":         {node, filesystem, env},
		}, map[string]map[string]any{
			"everything__echo":             {"message": "hi"},
			"fs__list_allowed_directories": {},
		}
}

const (
	shelfTools  = `[{"name":"echo","description":"Echoes.","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object","properties":{"key":{"type":"string"}}}}]`
	shelfTools2 = `[{"name":"echo","description":"Echoes ` +
		`elsewhere.","inputSchema":{"type":"object"}},{"name":"say","inputSchema":{"type":"object"}}]`
)

// TestTheLedgerTellsTheStory uses real servers. One is killed during a call, restarts, and changes its tools. The file
// is edited, and indus is restarted. The log contains these events, the live set is always right, and no call to
// another server fails.
func TestTheLedgerTellsTheStory(t *testing.T) {
	t.Parallel()
	mark := newMark()
	servers, calls := stableServers(t, mark)
	list := fixture.File(t, shelfTools)
	f := fixture.New(t, "-list-file", list)
	servers["shelf"] = row{f.Path, f.Args, map[string]string{markName: mark}}
	cmd := indusCommand(t, servers, "serve", "--addr", "127.0.0.1:0")
	p := launch(t, cmd)
	url := p.waitFor(&p.err, `serving at (\S+)\n`)
	for id := range servers {
		p.waitFor(&p.err, id+`: ready`)
	}
	cs, log := dial(t, url), ledgerOf(t, cmd)
	pressed := startLoad(t, calls, dial(t, url), dial(t, url))
	wantLive(t, log, "indus serve at ", cs)

	call := make(chan error, 1)
	go func() { call <- callError(t.Context(), cs, "shelf__hang", map[string]any{"key": "x"}) }()
	f.Wait("call hang")
	killNth(t, f, 1)
	if err := <-call; err == nil || !strings.Contains(err.Error(), "shelf") {
		t.Errorf("the call of the server that was killed says %v", err)
	}
	p.waitFor(&p.err, `(?s)shelf: ready.*shelf: connection lost.*shelf: ready`)
	wantLive(t, log, "indus serve at ", cs)

	if err := os.WriteFile(list, []byte(shelfTools2), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Send("change")
	p.waitFor(&p.err, `shelf__echo has changed since it was approved: description; it is live all the same`)
	wantLive(t, log, "indus serve at ", cs)

	more := fixture.New(t)
	servers["more"] = row{more.Path, more.Args, map[string]string{markName: mark}}
	delete(servers, "shelf")
	configure(t, cmd, servers)
	p.waitFor(&p.err, `the configuration has changed: added more; removed shelf; 2 unchanged`)
	p.waitFor(&p.err, `more: ready`)
	wantLive(t, log, "indus serve at ", cs)
	pressed.wantNoFault(t)
	p.signal(syscall.SIGTERM)
	p.ends(0)
	waitGone(t, mark)
	wantStory(t, entriesOf(t, log))
	wantWhole(t, log)
	if live := ledger.Live(entriesOf(t, log)); len(live) > 0 {
		t.Errorf("%d tools are live after the end", len(live))
	}
}

// wantStory checks the log entries of the server "shelf".
func wantStory(t *testing.T, entries []ledger.Entry) {
	t.Helper()
	var got []string
	for _, e := range entries {
		if e.Server != "shelf" {
			continue
		}
		s := fmt.Sprintf("%s %s", e.Op, e.Tool)
		if e.Changed {
			s += " changed"
		}
		if e.Note != "" {
			s += ": " + e.Note
		}
		got = append(got, s)
	}
	want := []string{
		"enroll echo", "enroll hang", "describe ",
		"health : lost: transport", "health : ready",
		"enroll echo changed", "enroll say changed", "retire hang: unlisted",
		"retire echo: removed", "retire say: removed",
	}
	slices.Sort(got) // entries of one moment have no order
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func wantWhole(t *testing.T, f *ledger.File) {
	t.Helper()
	r, err := f.Verify(t.Context())
	if err != nil || len(r.Damage) > 0 {
		t.Errorf("%v: %v", err, r)
	}
}

// TestSoakServe runs everything at once for a minute. One indus serves over HTTP and another over stdio. They share a
// ledger and a configuration, which is edited every second. Servers are killed at random, and other calls are not
// affected.
func TestSoakServe(t *testing.T) {
	if os.Getenv("INDUS_SOAK") == "" {
		t.Skip("takes a minute: set INDUS_SOAK, or make soak")
	}
	random := fixture.Rand(t)
	mark := newMark()
	fixed, calls := stableServers(t, mark)
	var victims []*fixture.Server
	for range 4 {
		victims = append(victims, fixture.New(t))
	}
	configured := func() map[string]row {
		servers := map[string]row{}
		for id, r := range fixed {
			servers[id] = r
		}
		for i, f := range victims {
			if random.IntN(3) > 0 {
				args := append([]string{"-page", fmt.Sprint(5 + random.IntN(2))}, f.Args...)
				servers[fmt.Sprintf("victim%d", i)] = row{f.Path, args, map[string]string{markName: mark}}
			}
		}
		return servers
	}
	cmd := indusCommand(t, configured(), "serve", "--addr", "127.0.0.1:0")
	p := launch(t, cmd)
	url := p.waitFor(&p.err, `serving at (\S+)\n`)
	inner := exec.Command("indus", "serve", "--stdio", "--mcp", "servers.json")
	inner.Dir, inner.Env = cmd.Dir, cmd.Env
	var said transcript
	inner.Stderr = &said
	piped := mcpSession(t, &mcp.CommandTransport{Command: inner})
	for id := range fixed {
		p.waitFor(&p.err, id+`: ready`)
		said.waitFor(t, id+`: ready`, nil)
	}
	clients := []*mcp.ClientSession{piped}
	for range 4 {
		clients = append(clients, dial(t, url))
	}
	pressed := startLoad(t, calls, clients...)
	edits, kills := 0, 0
	edit, kill, end := time.NewTicker(time.Second), time.NewTicker(300*time.Millisecond), time.After(time.Minute)
	for running := true; running; {
		select {
		case <-edit.C:
			configure(t, cmd, configured())
			edits++
		case <-kill.C:
			// Only running processes of this test, because the system may reuse a number.
			running := slices.DeleteFunc(markedProcesses(t, mark), func(s string) bool {
				return !strings.Contains(s, victims[0].Path)
			})
			var pid int
			if len(running) == 0 {
				continue
			}
			if _, err := fmt.Sscan(running[random.IntN(len(running))], &pid); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				kills++
			}
		case <-end:
			running = false
		}
	}
	log := ledgerOf(t, cmd)
	configure(t, cmd, fixed)
	wantLive(t, log, "indus serve at ", clients[1])
	wantLive(t, log, "indus serve --stdio", piped)
	pressed.wantNoFault(t)
	for _, cs := range clients {
		cs.Close()
	}
	p.signal(syscall.SIGTERM)
	p.ends(0)
	waitGone(t, mark)
	wantWhole(t, log)
	entries := entriesOf(t, log)
	if live := ledger.Live(entries); len(live) > 0 {
		t.Errorf("%d tools are live after the end", len(live))
	}
	for _, r := range ledger.Runs(entries) {
		if r.Ended.IsZero() {
			t.Errorf("%s has not ended", r.By)
		}
	}
	reloads := 0
	for _, e := range entries {
		if e.Op == ledger.Reload {
			reloads++
		}
	}
	if reloads < edits/2 {
		t.Errorf("%d edits, and %d times was another configuration served", edits, reloads)
	}
	t.Logf("%d calls, %d edits, %d reloads, %d kills, %d entries", pressed.calls.Load(), edits, reloads, kills,
		len(entries))
}

// A person who approves a call of a changed tool sees the change, word by word.
func TestAnApproverSeesTheChangeOfTheTool(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "policy.cedar")
	if err := os.WriteFile(rules, []byte(`@approve("other") permit(principal, action, resource);`), 0o600); err != nil {
		t.Fatal(err)
	}
	list := fixture.File(t, shelfTools)
	f := fixture.New(t, "-list-file", list)
	cmd := indusCommand(t, map[string]row{"shelf": {f.Path, f.Args, nil}}, "serve", "--addr", "127.0.0.1:0", "--policy", rules)
	p := launch(t, cmd)
	url := p.waitFor(&p.err, `serving at (\S+)\n`)
	p.waitFor(&p.err, `shelf: ready`)
	cs := dial(t, url)
	shown := func(n int) string {
		t.Helper()
		err := callError(t.Context(), cs, "shelf__echo", map[string]any{"n": n})
		id := regexp.MustCompile(`approval (\w+)`).FindStringSubmatch(fmt.Sprint(err))
		if id == nil {
			t.Fatal(err)
		}
		show := timedCommand("approvals", "show", id[1])
		show.Dir, show.Env = cmd.Dir, cmd.Env
		out, err := show.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if text := shown(0); strings.Contains(text, "changed") {
		t.Error(text)
	}
	if err := os.WriteFile(list, []byte(shelfTools2), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Send("change")
	p.waitFor(&p.err, `shelf__echo has changed since it was approved`)
	text := ""
	for n, end := 1, time.Now().Add(deadline); !strings.Contains(text, "  changed "); n++ {
		if text = shown(n); time.Now().After(end) {
			t.Fatal(text)
		}
	}
	if !strings.Contains(text, `description: [-Echoes.-]{+Echoes elsewhere.+}`) {
		t.Error(text)
	}
	p.signal(syscall.SIGTERM)
	p.ends(0)
}
