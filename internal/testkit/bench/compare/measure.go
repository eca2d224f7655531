package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The sides of a cell, in the order of their calls in the first round.
const (
	direct = iota
	anchor
	indus
	earlier // another build of indus, only with -before
	sides
)

// cell holds the calls of one size by a number of clients, over one transport in one era.
type cell struct {
	transport, era string
	size, clients  int
	sides          [sides]result
}

type result struct {
	p50    []float64 // microseconds, per round
	calls  int
	second float64 // of CPU, for all calls
	peak   float64 // MiB
}

// ratio returns the ratio of a side's p50 to the p50 of the direct call, of each round, in
// ascending order.
func (c *cell) ratio(side int) []float64 {
	var all []float64
	for i, p := range c.sides[side].p50 {
		all = append(all, p/c.sides[direct].p50[i])
	}
	slices.Sort(all)
	return all
}

func (r *result) cpu() float64 { return r.second / float64(max(r.calls, 1)) * 10_000 }

func median(ordered []float64) float64 { return ordered[len(ordered)/2] }

// list holds the times of listing 1,000 tools, in milliseconds.
type list struct {
	transport, era string
	sides          [sides][]float64
}

// figure is a row of one of the other tables.
type figure struct {
	name  string
	value []string
}

// peer is one side during its measurement.
type peer struct {
	open func() (*client, error)
	cmd  *exec.Cmd // nil for a direct call over stdio
	tool string
}

// launch starts a process. The function end ends it.
func (r *run) launch(argv ...string) (*exec.Cmd, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+r.dir, "XDG_STATE_HOME="+filepath.Join(r.dir, "state"),
		"XDG_CONFIG_HOME="+filepath.Join(r.dir, "config"), "XDG_CACHE_HOME="+filepath.Join(r.dir, "cache"))
	cmd.Dir = r.dir
	cmd.Stderr = stderr()
	return cmd, cmd.Start()
}

func end(cmd *exec.Cmd) {
	if cmd != nil {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		stop(cmd)
	}
}

// config writes a configuration of n servers. Each is a child, or is at url.
func (r *run) config(n int, url string, echo ...string) (file string, err error) {
	servers := map[string]any{}
	for i := range n {
		servers[fmt.Sprintf("echo%d", i)] = map[string]any{"command": r.self, "args": append([]string{"echo"}, echo...)}
		if url != "" {
			servers[fmt.Sprintf("echo%d", i)] = map[string]any{"type": "http", "url": url}
		}
	}
	b, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return "", err
	}
	file = filepath.Join(r.dir, fmt.Sprintf("servers-%d.json", time.Now().UnixNano()))
	return file, os.WriteFile(file, b, 0o600)
}

// serve starts indus with a configuration file.
func (r *run) serve(file string) (cmd *exec.Cmd, url string, err error) {
	addr := freeAddr()
	cmd, err = r.launch(r.indus, "serve", "--mcp", file, "--addr", addr)
	return cmd, "http://" + addr + "/mcp", err
}

// listed waits until a URL lists this many tools. first is the time of its first response.
func listed(url, era string, tools int) (first, all time.Duration, tool string, err error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := waitFor(ctx, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")); err != nil {
		return 0, 0, "", err
	}
	var c *client
	for n := 0; n < tools; time.Sleep(2 * time.Millisecond) {
		if c == nil {
			if c, err = dialHTTP(url, era, keepAlive); err != nil {
				c = nil
			} else {
				first = time.Since(start)
			}
		}
		if c != nil {
			n, tool, err = c.list()
		}
		all = time.Since(start)
		if ctx.Err() != nil {
			return first, all, tool, fmt.Errorf("%s: %d of %d tools: %w", url, n, tools, cmp.Or(err, ctx.Err()))
		}
	}
	return first, all, tool, nil
}

// peers starts the sides for one transport and era.
func (r *run) peers(transport, era string) (p [sides]peer, done func(), err error) {
	var started []*exec.Cmd
	done = func() {
		for _, cmd := range slices.Backward(started) {
			end(cmd)
		}
	}
	start := func(argv ...string) *exec.Cmd {
		cmd, e := r.launch(argv...)
		if e != nil {
			err = e
			return nil
		}
		started = append(started, cmd)
		return cmd
	}
	const tools = 1000
	echo := []string{"-era", era, "-tools", strconv.Itoa(tools)}
	urls := [sides]string{}
	var up string
	if transport == "http" {
		addr := freeAddr()
		start(append([]string{r.self, "echo", "-addr", addr}, echo...)...)
		up = "http://" + addr + "/mcp"
		urls[direct] = up
	} else {
		shared, err := dialStdio(append([]string{r.self, "echo"}, echo...), era)
		if err != nil {
			return p, done, err
		}
		before := done
		done = func() { before(); shared.end() }
		p[direct].open = func() (*client, error) { return shared, nil }
		_, p[direct].tool, _ = shared.list()
	}
	addr := freeAddr()
	urls[anchor] = "http://" + addr + "/mcp"
	if transport == "http" {
		p[anchor].cmd = start(r.self, "revproxy", "-addr", addr, up)
	} else {
		p[anchor].cmd = start(append([]string{r.self, "rawstdio", "-addr", addr, "--", r.self, "echo"}, echo...)...)
	}
	file, e := r.config(1, up, echo...)
	if e != nil {
		return p, done, e
	}
	if p[indus].cmd, urls[indus], e = r.serve(file); e != nil {
		return p, done, e
	}
	started = append(started, p[indus].cmd)
	if r.before != "" {
		other := *r
		other.indus, other.dir = r.before, filepath.Join(r.dir, "before")
		if e := os.Mkdir(other.dir, 0o700); e != nil {
			return p, done, e
		}
		if p[earlier].cmd, urls[earlier], e = other.serve(file); e != nil {
			return p, done, e
		}
		started = append(started, p[earlier].cmd)
	}
	for i, url := range urls {
		if url == "" || err != nil {
			continue
		}
		p[i].open = func() (*client, error) { return dialHTTP(url, era, keepAlive) }
		_, _, p[i].tool, err = listed(url, era, tools)
	}
	return p, done, err
}

// matrix measures the cells of one transport and era, and the time of listing.
func (r *run) matrix(transport, era string, sizes []int) error {
	p, done, err := r.peers(transport, era)
	defer done()
	if err != nil {
		return err
	}
	for _, size := range sizes {
		for _, clients := range []int{1, 32} {
			fmt.Fprintf(os.Stderr, "%4.0fs %s %s, %d bytes, %d clients\n", time.Since(r.start).Seconds(), transport, era, size,
				clients)
			c := cell{transport: transport, era: era, size: size, clients: clients}
			if err := r.measure(&c, p); err != nil {
				return err
			}
			r.cells = append(r.cells, c)
		}
	}
	return r.measureList(transport, era, p)
}

// one measures one cell, and prints its sides. name is TRANSPORT/ERA/SIZE/CLIENTS.
func (r *run) one(name string) error {
	eras := map[string]string{eraNames[modern]: modern, eraNames[legacy]: legacy}
	var c cell
	if _, err := fmt.Sscanf(strings.ReplaceAll(name, "/", " "), "%s %s %d %d", &c.transport, &c.era, &c.size,
		&c.clients); err != nil || eras[c.era] == "" || transportNames[c.transport] == "" {
		return fmt.Errorf("-cell %q: it is TRANSPORT/ERA/SIZE/CLIENTS, such as http/legacy/262144/32", name)
	}
	c.era = eras[c.era]
	p, done, err := r.peers(c.transport, c.era)
	defer done()
	if err == nil {
		err = r.measure(&c, p)
	}
	if err != nil {
		return err
	}
	for side, name := range []string{"direct", "anchor", "indus", "before"} {
		if ratio := c.ratio(side); len(ratio) > 0 {
			fmt.Printf("%-7s ratio %.2f (%.2f-%.2f), CPU s per 10,000 %.2f, peak MiB %.0f\n", name, median(ratio), ratio[0],
				ratio[len(ratio)-1], c.sides[side].cpu(), c.sides[side].peak)
		}
	}
	return nil
}

func (r *run) measure(c *cell, p [sides]peer) error {
	var open [sides][]*client
	for i := range p {
		if p[i].open == nil {
			continue
		}
		for range c.clients {
			one, err := p[i].open()
			if err != nil {
				return err
			}
			open[i] = append(open[i], one)
		}
		if _, _, err := phase(open[i], p[i].tool, c.size, r.phase/5); err != nil { // warm up
			return err
		}
		if p[i].cmd != nil { // resets the peak
			_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p[i].cmd.Process.Pid), []byte("5"), 0)
		}
	}
	for round := range r.rounds {
		for turn := range p {
			i := (turn + round) % len(p)
			if p[i].open == nil {
				continue
			}
			to := &c.sides[i]
			before := cpuSeconds(p[i].cmd)
			p50, calls, err := phase(open[i], p[i].tool, c.size, r.phase)
			if err != nil {
				return err
			}
			to.second += cpuSeconds(p[i].cmd) - before
			to.p50, to.calls, to.peak = append(to.p50, p50), to.calls+calls, max(to.peak, status(p[i].cmd, "VmHWM"))
		}
	}
	return nil
}

// phase lets every client make one call after the other for the duration d.
func phase(clients []*client, tool string, size int, d time.Duration) (p50 float64, calls int, err error) {
	var mu sync.Mutex
	var all []float64
	var wg sync.WaitGroup
	until := time.Now().Add(d)
	for _, c := range clients {
		wg.Go(func() {
			var took []float64
			for start := time.Now(); len(took) < 2 || start.Before(until); start = time.Now() {
				if e := c.call(tool, size); e != nil {
					mu.Lock()
					err = e
					mu.Unlock()
					return
				}
				took = append(took, float64(time.Since(start).Nanoseconds())/1e3)
			}
			mu.Lock()
			all = append(all, took...)
			mu.Unlock()
		})
	}
	wg.Wait()
	if err != nil {
		return 0, 0, err
	}
	slices.Sort(all)
	return median(all), len(all), nil
}

func (r *run) measureList(transport, era string, p [sides]peer) error {
	l := list{transport: transport, era: era}
	for range 4 * r.rounds {
		for i := range earlier {
			c, err := p[i].open()
			if err != nil {
				return err
			}
			for n := range 6 {
				start := time.Now()
				if _, _, err := c.list(); err != nil {
					return err
				}
				if n > 0 {
					l.sides[i] = append(l.sides[i], float64(time.Since(start).Microseconds())/1e3)
				}
			}
		}
	}
	for i := range l.sides {
		slices.Sort(l.sides[i])
	}
	r.lists = append(r.lists, l)
	return nil
}

// measureMemory measures the memory of indus at rest.
func (r *run) measureMemory(quick bool) error {
	many := 10_000
	if quick {
		many = 1000
	}
	for _, m := range []struct {
		name            string
		tools, sessions int
	}{{"10 tools", 10, 0}, {fmt.Sprintf("10 tools, %d idle legacy sessions", many), 10, many},
		{fmt.Sprintf("%d tools", many), many, 0}} {
		fmt.Fprintf(os.Stderr, "%4.0fs memory: %s\n", time.Since(r.start).Seconds(), m.name)
		file, err := r.config(1, "", "-era", modern, "-tools", strconv.Itoa(m.tools))
		if err != nil {
			return err
		}
		cmd, url, err := r.serve(file)
		if err != nil {
			return err
		}
		err = func() error {
			defer end(cmd)
			_, _, tool, err := listed(url, modern, m.tools)
			if err != nil {
				return err
			}
			c, err := dialHTTP(url, modern, keepAlive)
			if err == nil {
				_, _, err = phase([]*client{c}, tool, 64, r.phase)
			}
			var from *http.Transport // 500 sessions for each address, because a client may have 1,000
			for i := 0; i < m.sessions && err == nil; i++ {
				if i%500 == 0 {
					if from != nil {
						from.CloseIdleConnections()
					}
					from = transportFrom(fmt.Sprintf("127.0.0.%d", 2+i/500))
				}
				_, err = dialHTTP(url, legacy, from)
			}
			if from != nil {
				from.CloseIdleConnections()
			}
			time.Sleep(3 * r.phase)
			r.memory = append(r.memory, figure{m.name, []string{fmt.Sprintf("%.0f", status(cmd, "VmRSS"))}})
			return err
		}()
		if err != nil {
			return err
		}
	}
	return nil
}

// measureStarts measures the times until indus responds and until it lists all tools. It runs last,
// because the ledger of r.dir has 10,000 tools then.
func (r *run) measureStarts(quick bool) error {
	fresh := 0
	for _, n := range []int{1, 10, 50} {
		if quick && n > 10 {
			continue
		}
		fmt.Fprintf(os.Stderr, "%4.0fs starts: %d servers\n", time.Since(r.start).Seconds(), n)
		file, err := r.config(n, "", "-era", modern)
		if err != nil {
			return err
		}
		var bare, all, first, ledgerTimes, version []float64
		for range max(1, 2*r.rounds-1) {
			took, err := r.startDirect(n)
			if err != nil {
				return err
			}
			bare = append(bare, took)
			home := *r
			home.dir = filepath.Join(r.dir, fmt.Sprintf("fresh-%d", fresh))
			fresh++
			if err := os.Mkdir(home.dir, 0o700); err != nil {
				return err
			}
			one, took, err := home.startIndus(file, 10*n)
			if err != nil {
				return err
			}
			all, first = append(all, took), append(first, one)
			if one, _, err = r.startIndus(file, 10*n); err != nil {
				return err
			}
			ledgerTimes = append(ledgerTimes, one)
			start := time.Now()
			if out, err := exec.Command(r.indus, "version").CombinedOutput(); err != nil {
				return fmt.Errorf("indus version: %w: %s", err, out)
			}
			version = append(version, milliseconds(start))
		}
		for _, list := range [][]float64{bare, all, first, ledgerTimes, version} {
			slices.Sort(list)
		}
		r.starts = append(r.starts, figure{strconv.Itoa(n), []string{
			fmt.Sprintf("%.0f", median(bare)), fmt.Sprintf("%.0f", median(all)),
			fmt.Sprintf("**%.1f**", median(all)/median(bare)),
			fmt.Sprintf("%.0f", median(first)), fmt.Sprintf("%.0f", median(ledgerTimes)), fmt.Sprintf("%.0f", median(version)),
		}})
	}
	return nil
}

func milliseconds(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1e3 }

// startDirect starts n servers at once and lists each.
func (r *run) startDirect(n int) (float64, error) {
	start := time.Now()
	errs := make(chan error)
	var ends []func()
	var mu sync.Mutex
	for range n {
		go func() {
			c, err := dialStdio([]string{r.self, "echo"}, modern)
			if err == nil {
				_, _, err = c.list()
				mu.Lock()
				ends = append(ends, c.end)
				mu.Unlock()
			}
			errs <- err
		}()
	}
	var failed error
	for range n {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	took := milliseconds(start)
	for _, end := range ends {
		end()
	}
	return took, failed
}

// startIndus returns the times until the first response of indus and until its whole list.
func (r *run) startIndus(file string, tools int) (first, all float64, err error) {
	start := time.Now()
	cmd, url, err := r.serve(file)
	if err != nil {
		return 0, 0, err
	}
	defer end(cmd)
	spawned := milliseconds(start)
	one, every, _, err := listed(url, modern, tools)
	return spawned + float64(one.Microseconds())/1e3, spawned + float64(every.Microseconds())/1e3, err
}

// cpuSeconds returns the user and system time of a process, without its children.
func cpuSeconds(cmd *exec.Cmd) float64 {
	if cmd == nil {
		return 0
	}
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100 // USER_HZ
}

// status returns a value of a process's status, in MiB.
func status(cmd *exec.Cmd, key string) float64 {
	if cmd == nil {
		return 0
	}
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(b), key+":")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(fields[0], 64)
	return kib / 1024
}
