package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
)

// soakDeadline limits a call. It may wait twice for a server that restarts.
const soakDeadline = 2 * time.Minute

// soakWarm is the time until a soak is fully running.
const soakWarm = time.Minute

// soak runs clients and servers of all kinds at one indus.
type soak struct {
	testing.TB
	url     string // without a path
	socket  string // the socket of the probe
	mark    string
	gossips []string
	tasks   string // a server that makes tasks, or ""
	web     *http.Transport
	until   time.Time
	wanted  []string // events that must happen; clients continue until then
	all     []*soaker

	mu       sync.Mutex
	did      map[string]int // the events that happened
	faults   map[string]int // failures, without numbers
	reported map[string]int // lines of indus on stderr, without numbers

	refused map[string]bool // nonces of refused requests
}

func (s *soak) running() bool {
	now := time.Now()
	return s.Context().Err() == nil && (now.Before(s.until) ||
		!s.Failed() && now.Before(s.until.Add(deadline)) && len(s.missing()) > 0)
}

// missing returns the wanted events that have not happened.
func (s *soak) missing() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.wanted), func(what string) bool { return s.did[what] > 0 })
}

func (s *soak) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did[what]++
}

// done records the end of an action: a correct result in time, or an error.
func (s *soaker) done(what string, err error, right bool, wrong string) {
	switch {
	case err != nil:
		s.failed(what, err)
	case !right:
		s.Errorf("%s: %s", what, wrong)
	default:
		s.note(what)
	}
}

var figures = regexp.MustCompile(`[a-z]+[0-9]+[/:][0-9]+|[0-9A-Za-z_-]{40,}|[0-9]+`)

// failed records an error. An error is a valid end of a call if it arrives in time.
func (s *soaker) failed(what string, err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		s.Errorf("%s: %s has no end within %v (%v); its exchanges:\n%s\nindus does this:\n%s", s.name, what, soakDeadline,
			err, &s.trail, probed(s, s.socket, "/goroutines"))
	}
	text := what + ": " + figures.ReplaceAllString(err.Error(), "N")
	if len(text) > 300 {
		text = text[:300]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[text]++
}

// other returns another client, which has another principal.
func (c *soaker) other() *soaker {
	for {
		if o := c.all[c.random.IntN(len(c.all))]; o != c {
			return o
		}
	}
}

// entry is one server of a soak's configuration.
type entry struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Era     string            `json:"era,omitempty"`

	Lazy      bool   `json:"lazy,omitempty"`
	Idle      string `json:"idle,omitempty"`
	Instances int    `json:"instances,omitempty"`
	Per       string `json:"per,omitempty"`
}

// servers returns n gossip servers of both eras and transports, and other servers if others is set.
func (s *soak) servers(n int, crash time.Duration, others bool) map[string]entry {
	all, env := map[string]entry{}, map[string]string{markName: s.mark}
	bin := fixture.Gossip(s)
	for i := range n {
		name := fmt.Sprintf("g%d", i)
		s.gossips = append(s.gossips, name)
		args := []string{"-name", name, "-restless", "-crash", crash.String()}
		e := entry{Command: bin, Args: args, Env: env, Era: []string{"legacy", "modern"}[i%2]}
		if i%4 >= 2 {
			args = append(args, "-http", "127.0.0.1:0")
			if e.Era == "modern" {
				args = append(args, "-stateless")
			}
			p := fixture.Start(s, fixture.Command{Path: bin, Args: args})
			e = entry{URL: p.Line(), Era: e.Era}
			p.Drain()
		}
		all[name] = e
	}
	for name, e := range map[string]entry{
		"lazy": {Lazy: true, Idle: "2s"}, "pool": {Instances: 3, Era: "legacy"}, "poolnew": {Instances: 2, Era: "modern"}, "own": {Per: "principal"},
	} {
		e.Command, e.Args, e.Env = bin, []string{"-name", name, "-restless", "-crash", crash.String()}, env
		all[name] = e
		s.gossips = append(s.gossips, name)
	}
	if !others {
		return all
	}
	s.tasks = "ev0"
	for i := range 2 {
		node, args := peers.Everything(s, "stdio")
		all[fmt.Sprintf("ev%d", i)] = entry{Command: node, Args: args, Env: env}
	}
	all["evweb"] = entry{URL: peers.EverythingHTTP(s)}
	node, args := peers.Filesystem(s, s.TempDir())
	all["fs"] = entry{Command: node, Args: args, Env: env}
	for i, era := range []string{"legacy", "modern"} {
		all[fmt.Sprintf("odd%d", i)] = entry{Command: fixture.Build(s), Args: []string{"-era", era, "-pings", "1s"}, Env: env}
		all[fmt.Sprintf("hung%d", i)] = entry{
			Command: fixture.Build(s), Args: []string{"-hang", "resources/list,prompts/list", "-stubborn"}, Env: env,
		}
	}
	return all
}

// add adds a client.
func (s *soak) add(name string, shows *credential) *soaker {
	c := &soaker{soak: s, name: name, random: rand.New(rand.NewPCG(rand.Uint64(), uint64(len(s.all))))}
	c.shows.Store(shows)
	s.all = append(s.all, c)
	return c
}

// clients runs all clients until the end of the soak.
func (s *soak) clients() {
	var living sync.WaitGroup
	for i, c := range s.all {
		living.Go(func() {
			switch i % 10 {
			case 0, 1, 2:
				c.live("2025-11-25", "/mcp", true)
			case 3, 4:
				c.live("", "/mcp", true)
			case 5:
				c.live("2025-06-18", "/mcp", false)
			case 6:
				c.live("", "/mcp", false)
			case 7:
				c.live("2024-11-05", "/sse", i%20 < 10)
			case 8:
				c.resuming()
			case 9:
				c.modern()
			}
		})
	}
	living.Wait()
}

// TestSoak runs clients and servers of both eras at one indus, with random actions. Each answer and each question must
// reach the right client, every call must end, and no resource may grow. It is short, unless INDUS_SOAK is set. Then it
// takes ten minutes, or the time in INDUS_SOAK ("90s"), with 50 clients and 20 servers.
func TestSoak(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("what a process holds is found in /proc")
	}
	t.Parallel()
	wait, clients, gossips, crash := 3*time.Second, 10, 4, 10*time.Second
	long := soakTime()
	if long > 0 {
		wait, clients, gossips, crash = long, 50, 12, 90*time.Second
	}
	s := newSoak(t)
	p := s.serves(s.servers(gossips, crash, long > 0), clients)
	p.waitFor(&p.err, `g0: ready`)
	s.wanted = []string{"echo", "question", "progress", "tools/list", "visit", "resumed"}
	if long > 0 {
		s.wanted = append(s.wanted, "ask", "elicit", "sample", "roots", "open", "log", "update", "task", "input_required",
			"cancelled",
			"resources/read", "prompts/get", "completion/complete", "question left alone", "change of a list", "subscribe")
	}
	m := s.meter(p, wait)
	s.clients()
	m.wantNoGrowth()
	m.wantQuiet(long > 0, 0)
	s.ends(p)
	s.report()
}

// soakTime returns the duration that INDUS_SOAK sets, or 0 for a short run.
func soakTime() time.Duration {
	text := os.Getenv("INDUS_SOAK")
	if d, err := time.ParseDuration(text); err == nil || text == "" {
		return d
	}
	return 10 * time.Minute
}

func newSoak(t testing.TB) *soak {
	s := &soak{
		TB: t, mark: newMark(), did: map[string]int{}, faults: map[string]int{}, reported: map[string]int{},
		refused: map[string]bool{}, web: &http.Transport{},
	}
	t.Cleanup(s.web.CloseIdleConnections)
	return s
}

// serves starts an indus with these servers, and adds clients, each with its own token.
func (s *soak) serves(servers map[string]entry, clients int) *program {
	cmd := s.command(servers, "--token-file", "tokens")
	var tokens []string
	for i := range clients {
		tokens = append(tokens, fmt.Sprintf("token-of-client-%d", i))
		s.add(fmt.Sprintf("c%d", i), &credential{token: tokens[i]})
	}
	if err := os.WriteFile(filepath.Join(cmd.Dir, "tokens"), []byte(strings.Join(tokens, "\n")), 0o600); err != nil {
		s.Fatal(err)
	}
	return s.launch(cmd)
}

// command returns a command of indus with these servers.
func (s *soak) command(servers map[string]entry, flags ...string) *exec.Cmd {
	cmd := indusCommand(s, servers, append([]string{"serve", "--addr", "127.0.0.1:0", "--drain", "1s"}, flags...)...)
	s.socket = filepath.Join(cmd.Dir, "probe")
	cmd.Env = append(cmd.Env, probeName+"="+s.socket, markName+"="+s.mark)
	return cmd
}

func (s *soak) launch(cmd *exec.Cmd) *program {
	p := launch(s, cmd)
	s.url = strings.TrimSuffix(p.waitFor(&p.err, `serving at (\S+)\n`), "/mcp")
	return p
}

// ends stops an indus and checks that no process is left.
func (s *soak) ends(p *program) {
	p.signal(syscall.SIGTERM)
	p.ends(0)
	waitGone(s, s.mark)
	for line := range strings.Lines(p.err.String()) {
		s.reported[figures.ReplaceAllString(strings.TrimSpace(line), "N")]++
	}
	for _, bad := range []string{"DATA RACE", "panic", "internal error"} {
		if text := p.err.String(); strings.Contains(text, bad) {
			s.Errorf("indus says %q:\n%.4000s", bad, text[strings.Index(text, bad):])
		}
	}
}

// health returns the current resources of an indus and its servers.
func (s *soak) health(p *program) (h health) {
	if err := json.Unmarshal([]byte(probed(s, s.socket, "/")), &h); err != nil {
		s.Error(err)
	}
	h.RSS, h.Processes = memory(s, p.cmd.Process.Pid, "VmRSS")<<10, len(markedProcesses(s, s.mark))
	return h
}

// report fails for missing events and prints the events.
func (s *soak) report() {
	for _, what := range s.missing() {
		s.Errorf("there was no %s", what)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, counts := range []map[string]int{s.did, s.faults, s.reported} {
		lines := make([]string, 0, len(counts))
		for what, n := range counts {
			lines = append(lines, fmt.Sprintf("%8d %s", n, what))
		}
		slices.Sort(lines)
		slices.Reverse(lines)
		s.Logf("\n%s", strings.Join(lines, "\n"))
	}
}
