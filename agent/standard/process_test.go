//go:build unix

package standard_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/internal/testkit/processes"
	"github.com/indusagi/indus/toolbox"
)

// isAlive reports whether there is a process with this id that is not a zombie.
func isAlive(t testing.TB, pid string) bool {
	t.Helper()
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	return processes.Alive(number)
}

// withoutTimes returns a result without its times.
func withoutTimes(s string) string {
	return regexp.MustCompile(`(for|after) \d+s`).ReplaceAllString(s, "$1 …")
}

func TestProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := fullRegistry(t, dir)
	step := func(input, want string) {
		t.Helper()
		if got := withoutTimes(call(t, r, "process", input)); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
	command := `echo one; until [ -e go ]; do sleep 0.01; done; echo two; exec sleep 1000`
	step(`{"action":"list"}`, "(no process was started)")
	step(`{"action":"poll","id":"p1"}`, "error: process: no process was started")
	step(`{"action":"start"}`, "error: process: start needs a command")
	step(bashInput(t, command, map[string]any{"action": "start", "wait": 60}), "one\n(p1: running for …)")
	step(`{"action":"poll","id":"p1"}`, "(no output)\n(p1: running for …)")
	write(t, filepath.Join(dir, "go"))
	step(`{"action":"poll","id":"p1","wait":60}`, "two\n(p1: running for …)")
	step(bashInput(t, `exec sleep 1000`, map[string]any{"action": "start", "wait": 0, "dir": "."}),
		"(no output)\n(p2: running for …)")
	if got := withoutTimes(call(t, r, "process", `{"action":"list"}`)); !strings.Contains(got,
		"p1\trunning for …\t"+command+"\np2\t") {
		t.Error(got)
	}
	if got := withoutTimes(call(t, r, "process", `{"action":"stop","id":"p1"}`)); got !=
		"(no output)\n(p1: stopped after …)" {
		t.Error(got)
	}
	step(`{"action":"stop","id":"p1"}`, "(no output)\n(p1: stopped after …)")
	step(`{"action":"poll","id":"p9"}`, `error: process: there is no "p9"; there are p1, p2`)
}

func TestProcessSaysHowItEnded(t *testing.T) {
	t.Parallel()
	r := fullRegistry(t, t.TempDir())
	call(t, r, "process", bashInput(t, `printf 'a\342\200'; sleep 0.05; printf '\246\n'; exit 7`,
		map[string]any{"action": "start", "wait": 0}))
	var all strings.Builder
	for {
		got := withoutTimes(call(t, r, "process", `{"action":"poll","id":"p1","wait":60}`))
		output, note, _ := strings.Cut(got, "\n(p1: ")
		all.WriteString(strings.TrimPrefix(output, "(no output)"))
		if note == "ended after …, exit status 7)" {
			break
		}
		if note != "running for …)" {
			t.Fatal(got)
		}
	}
	if all.String() != "a…" {
		t.Errorf("%q", all.String())
	}
}

// gated is a shell with commands that run until they are released or stopped.
type gated struct {
	release chan struct{}
	mu      sync.Mutex
	ended   int
}

func (g *gated) Run(ctx context.Context, c toolbox.Command) (int, error) {
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.ended++
	}()
	select {
	case <-g.release:
		return 0, nil
	case <-ctx.Done():
		return 143, ctx.Err()
	}
}

func TestProcessesAreBounded(t *testing.T) {
	t.Parallel()
	shell := &gated{release: make(chan struct{})}
	r := toolbox.NewRegistry(&toolbox.Context{Shell: shell})
	deck := standard.New(nil)
	r.Add(deck.Tools()...)
	start := `{"action":"start","command":"x","wait":0}`
	for i := range 16 {
		if got := withoutTimes(call(t, r, "process", start)); got != fmt.Sprintf("(no output)\n(p%d: running for …)", i+1) {
			t.Fatal(got)
		}
	}
	if got := call(t, r, "process", start); !strings.HasPrefix(got,
		"error: process: 16 are running, which is the most: stop one of p1, p2,") {
		t.Error(got)
	}
	for i := range 40 {
		call(t, r, "process", fmt.Sprintf(`{"action":"stop","id":"p%d"}`, i+1))
		call(t, r, "process", start)
	}
	list := strings.Split(call(t, r, "process", `{"action":"list"}`), "\n")
	if n := len(list); n > 16+16+1 || !strings.HasPrefix(list[n-1], "p56\t") {
		t.Errorf("%d: %s", n, list)
	}
	var polls sync.WaitGroup
	for range 10 {
		polls.Go(func() { call(t, r, "process", `{"action":"poll","id":"p56","wait":60}`) })
	}
	deck.Close()
	polls.Wait()
	if shell.ended != 56 {
		t.Errorf("%d of 56 have ended", shell.ended)
	}
	if got := call(t, r, "process", start); got != "error: process: the session is over" {
		t.Error(got)
	}
	deck.Close()
}

func TestAPollEndsWithItsCall(t *testing.T) {
	t.Parallel()
	r := toolbox.NewRegistry(&toolbox.Context{Shell: &gated{release: make(chan struct{})}})
	r.Add(newDeck(t).Tools()...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, input := range []string{`{"action":"start","command":"x"}`, `{"action":"poll","id":"p1","wait":60}`} {
		if _, err := r.Do(ctx, toolbox.Call{Name: "process", Input: json.RawMessage(input)}); err != context.Canceled {
			t.Errorf("%s: %v", input, err)
		}
	}
}

// A process that prints all the time is kept in bounded memory, and each poll returns all new
// output.
func TestAPollCatchesUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := fullRegistry(t, dir)
	const printing = `until [ -e go ]; do sleep 0.01; done; echo first; seq 1000000; touch done; exec sleep 1000`
	call(t, r, "process", bashInput(t, printing, map[string]any{"action": "start", "wait": 0}))
	call(t, r, "bash", bashInput(t, `touch go; until [ -e done ]; do sleep 0.01; done`, nil))
	got := call(t, r, "process", `{"action":"poll","id":"p1"}`)
	if len(got) > toolbox.DefaultBudget || !strings.HasPrefix(got, "first\n1\n") ||
		!strings.Contains(got, " bytes cut …\n") {
		t.Errorf("%d bytes: %.50s … %s", len(got), got, got[max(0, len(got)-50):])
	}
	for polls := 0; !strings.Contains(got, "00\n(p1: running"); polls++ { // the rest is still in the pipe
		if polls > 10 {
			t.Fatal(got[max(0, len(got)-50):])
		}
		got = call(t, r, "process", `{"action":"poll","id":"p1","wait":60}`)
	}
}

func TestKillNineLeavesNoCommand(t *testing.T) {
	t.Parallel()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), sessionDir+"="+t.TempDir())
	program.Stderr = os.Stderr
	stdin, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	pids := strings.Fields(line)
	if len(pids) < 4 {
		t.Errorf("pids: %v", pids)
	}
	for _, pid := range pids {
		if !isAlive(t, pid) {
			t.Errorf("%s has not lived", pid)
		}
	}
	_ = program.Process.Kill()
	_ = program.Wait()
	waitGone(t, pids...)
}

func TestCloseEndsProcesses(t *testing.T) {
	t.Parallel()
	tc, err := toolbox.NewContext(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	deck := standard.New(nil)
	r := toolbox.NewRegistry(tc)
	r.Add(deck.Tools()...)
	got := call(t, r, "process", bashInput(t, `trap '' TERM; sleep 1000 & echo $$ $!; while :; do sleep 1000; done`,
		map[string]any{"action": "start", "wait": 60}))
	deck.Close()
	line, _, _ := strings.Cut(got, "\n")
	for _, pid := range strings.Fields(line) {
		if isAlive(t, pid) {
			t.Errorf("%s is left", pid)
		}
	}
}
