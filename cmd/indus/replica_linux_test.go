package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/replicas"
)

// TestAReplicaIsKilled kills one of three replicas under load. Only calls in flight there fail, sessions there get 404,
// and no call runs twice.
func TestAReplicaIsKilled(t *testing.T) {
	t.Parallel()
	c := newBalanced(t)
	victim := c.members[1]
	c.advance(3)
	f := c.breaks(victim)
	victim.signal(syscall.SIGKILL)
	victim.ends(-1)
	c.mark(&f.dead)
	c.WaitReady(t, 2)
	c.mark(&f.unused)
	c.advance(3)
	victim.start()
	c.WaitReady(t, 3)
	c.advance(3)
	c.leave()
	c.checkRestarts(victim)
}

// TestAReplicaHangs stops the process of one of three replicas under load, and continues it. A call in flight there
// ends at the deadline of its client. All other calls continue, and no call runs twice.
func TestAReplicaHangs(t *testing.T) {
	t.Parallel()
	c := newBalanced(t)
	victim := c.members[1]
	c.advance(3)
	f := c.breaks(victim)
	victim.pause()
	c.mark(&f.dead)
	c.WaitReady(t, 2)
	c.mark(&f.unused)
	c.expire(f)
	c.advance(3)
	victim.signal(syscall.SIGCONT)
	c.WaitReady(t, 3)
	c.advance(3)
	c.leave()
	c.checkRestarts(victim)
}

// TestARollingRestartLosesNoCall restarts replicas under load. A call that runs when its replica gets SIGTERM finishes.
func TestARollingRestartLosesNoCall(t *testing.T) {
	t.Parallel()
	c := newBalanced(t)
	for i := range fixture.Size(t, 3, 100) {
		leaver := c.members[i%len(c.members)]
		c.advance(1)
		slow := make(chan error, 1)
		go func() {
			a, err := c.send(t.Context(), leaver.url, "", "", toolCall(i, "f__hang", fmt.Sprintf(`{"key":"k%d"}`, i), true))
			if err == nil && !strings.Contains(a.text, "released") {
				err = errors.New(a.text)
			}
			slow <- err
		}()
		c.hanging.WaitN("call hang", i+1)
		f := c.breaks(leaver)
		f.planned = true
		leaver.signal(syscall.SIGTERM)
		c.WaitQuiet(t, leaver.url)
		c.mark(&f.unused)
		leaver.leave()
		c.advance(1)
		c.hanging.Send("release k%d", i)
		if err := <-slow; err != nil {
			t.Errorf("a call at %s, which ended: %v", leaver.name, err)
		}
		leaver.ends(0)
		c.mark(&f.dead)
		leaver.start()
		c.WaitReady(t, len(c.members))
	}
	c.leave()
	for _, m := range c.members {
		c.checkRestarts(m)
	}
}

// balanced is clients of both eras, ten or 50 with INDUS_SOAK, at three processes of indus, behind a balancer.
type balanced struct {
	*replicas.Balancer
	site
	t       *testing.T
	clients []*visitor
	trace   string          // a file with a line for each call that ran
	hanging *fixture.Server // has a tool that answers when it is released
	over    chan struct{}   // closed when the clients shall leave
	left    sync.WaitGroup

	mu     sync.Mutex
	faults []*fault
}

// site is some replicas, and a client for them.
type site struct {
	members []*member
	web     *http.Client
}

// member is one replica.
type member struct {
	*program
	name, url string
	start     func()
}

// fault is a time in which a replica loses calls.
type fault struct {
	url     string
	planned bool      // no call may be lost
	from    time.Time // the replica may lose a call that it has
	dead    time.Time // no request can reach it any more; zero until then
	unused  time.Time // the balancer does not use it any more; zero until then
}

func newBalanced(t *testing.T) *balanced {
	c := &balanced{t: t, trace: filepath.Join(t.TempDir(), "trace"), hanging: fixture.New(t), over: make(chan struct{})}
	c.site = newSite(t, 3, map[string]row{
		"g": {fixture.Gossip(t), []string{"-name", "g", "-trace", c.trace}, nil}, "f": {c.hanging.Path, c.hanging.Args, nil},
	}, "--ready-delay", "1h", "--drain", "1h")
	c.Balancer = replicas.NewBalancer(t, c.urls()...)
	c.WaitReady(t, len(c.members))
	for i := range fixture.Size(t, 10, 50) {
		v := &visitor{balanced: c, name: fmt.Sprint("v", i), modern: i%2 == 0}
		c.clients = append(c.clients, v)
		c.left.Go(v.stay)
	}
	t.Cleanup(c.leave)
	return c
}

// newSite starts n replicas, and waits until each of them has its servers.
func newSite(t testing.TB, n int, servers map[string]row, flags ...string) site {
	t.Helper()
	s := site{web: &http.Client{Timeout: deadline, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(s.web.CloseIdleConnections)
	dir := t.TempDir()
	flags = append(flags, "--no-ledger")
	for _, flag := range []string{"--key-file", "--peer-key-file"} {
		path := filepath.Join(dir, flag)
		if err := os.WriteFile(path, []byte(sealed.NewKeyText()), 0o600); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, flag, path)
	}
	var addresses []string // for each other
	for i := range n {
		addresses = append(addresses, fmt.Sprintf("%c=%s", 'a'+i, fixture.FreeAddr(t)))
		flags = append(flags, "--peer", addresses[i])
	}
	for _, address := range addresses {
		m := &member{name: address[:1]}
		clients := fixture.FreeAddr(t)
		m.url = "http://" + clients
		m.start = func() {
			t.Helper()
			m.program = startServe(t, servers, append([]string{"--addr", clients, "--replica", address}, flags...)...)
			for name := range servers {
				m.waitFor(&m.err, name+`: ready`)
			}
		}
		m.start()
		s.members = append(s.members, m)
	}
	return s
}

// urls returns the addresses for clients.
func (s *site) urls() (urls []string) {
	for _, m := range s.members {
		urls = append(urls, m.url)
	}
	return urls
}

// leave ends the clients, and checks that no call ran twice.
func (c *balanced) leave() {
	select {
	case <-c.over:
		return
	default:
	}
	close(c.over)
	c.left.Wait()
	ran, err := os.ReadFile(c.trace)
	if err != nil {
		c.t.Error(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(string(ran)) {
		nonce := line[strings.LastIndexByte(line, ' ')+1:]
		if times[nonce]++; times[nonce] == 2 {
			c.t.Errorf("the call %s ran twice", nonce)
		}
	}
}

// breaks records that a replica is about to lose calls.
func (c *balanced) breaks(m *member) *fault {
	f := &fault{url: m.url}
	c.mu.Lock()
	defer c.mu.Unlock()
	f.from = time.Now()
	c.faults = append(c.faults, f)
	return f
}

func (c *balanced) mark(at *time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*at = time.Now()
}

// mayFail reports whether a call that began at a time and ends now may fail, because it was in flight at a replica that
// broke. entry is the replica that got it from the balancer.
func (c *balanced) mayFail(entry, owner string, began time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.faults {
		isBefore := func(end time.Time) bool { return end.IsZero() || began.Before(end) }
		if !f.planned && (f.url == entry && isBefore(f.unused) || f.url == owner && isBefore(f.dead)) {
			return true
		}
	}
	return false
}

// mayEnd reports whether the sessions of a replica may have ended.
func (c *balanced) mayEnd(owner string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.faults {
		if f.url == owner {
			return true
		}
	}
	return false
}

// advance waits until each client has completed n calls that began after this.
func (c *balanced) advance(n int) {
	c.t.Helper()
	from := make([]int, len(c.clients))
	for i, v := range c.clients {
		from[i], _ = v.progress()
	}
	end := time.Now().Add(deadline)
	for i, v := range c.clients {
		for {
			done, doing := v.progress()
			if done > from[i]+n {
				break
			}
			if c.t.Failed() || time.Now().After(end) {
				c.t.Fatalf("%s has completed %d calls more, want %d; now: %s", v.name, done-from[i], n, doing)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// expire ends the calls in flight at a replica that hangs: the deadline of their clients has come.
func (c *balanced) expire(f *fault) {
	for _, v := range c.clients {
		v.mu.Lock()
		if v.cancel != nil && c.mayFail(c.Took(v.id), v.owner, v.began) {
			v.cancel()
		}
		v.mu.Unlock()
	}
}

// checkRestarts checks that clients with a session at a replica have started again.
func (c *balanced) checkRestarts(m *member) {
	c.t.Helper()
	for _, v := range c.clients {
		if v.restarts[m.url] > 0 {
			return
		}
	}
	c.t.Errorf("no client had a session at %s", m.name)
}

// leave ends the time in which a replica that got SIGTERM still serves.
func (m *member) leave() {
	m.t.Helper()
	m.waitFor(&m.err, `a second signal ends this`)
	time.Sleep(200 * time.Millisecond) // an earlier signal counts as the first
	m.signal(syscall.SIGTERM)
	for end := time.Now().Add(deadline); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(m.url, "http://"))
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(end) {
			m.t.Fatalf("%s still listens", m.name)
		}
	}
}

// pause stops the process, and waits until none of its threads runs: on a busy machine it may still read a request.
func (p *program) pause() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	for end := time.Now().Add(deadline); ; time.Sleep(time.Millisecond) {
		all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
		runs := len(all) == 0
		for _, file := range all {
			b, err := os.ReadFile(file)
			runs = runs || err == nil && !bytes.Contains(b, []byte(") T "))
		}
		if !runs {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%q still runs", p.cmd.Args)
		}
	}
}

// visitor is one client. It calls a tool again and again.
type visitor struct {
	*balanced
	name           string
	modern         bool
	session, owner string         // in the legacy era
	restarts       map[string]int // by the owner of the session that ended

	mu     sync.Mutex
	done   int // calls that succeeded
	id     string
	began  time.Time
	cancel context.CancelFunc // nil between calls
}

func (v *visitor) progress() (done int, doing string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cancel == nil {
		return v.done, "nothing"
	}
	return v.done, fmt.Sprintf("%s at %s for %v, session of %q", v.id, v.Took(v.id), time.Since(v.began), v.owner)
}

// stay sends calls until the clients leave.
func (v *visitor) stay() {
	v.restarts = map[string]int{}
	for n := 0; ; n++ {
		select {
		case <-v.over:
			return
		case <-time.After(50 * time.Millisecond): // a load that two processors carry
		}
		nonce := fmt.Sprintf("%s-%d", v.name, n)
		body := toolCall(n, "g__sleep", fmt.Sprintf(`{"nonce":%q,"ms":5}`, nonce), v.modern)
		for try := 0; ; try++ {
			if v.session == "" && !v.modern && !v.initialize(nonce) {
				break
			}
			a, err := v.exchange(fmt.Sprintf("%s.%d", nonce, try), body)
			if err == nil && a.status == http.StatusNotFound && v.session != "" && v.mayEnd(v.owner) {
				v.restarts[v.owner]++
				v.setSession("", "")
				continue // nothing ran
			}
			if err == nil && a.text != nonce {
				err = fmt.Errorf("%d %s", a.status, a.text)
			}
			v.finish(err)
			break
		}
	}
}

// initialization is the first request of a client of the legacy era.
const initialization = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// initialize opens a session.
func (v *visitor) initialize(nonce string) bool {
	id := "initialize." + nonce
	a, err := v.exchange(id, initialization)
	if err == nil && a.session == "" {
		err = fmt.Errorf("%d %s", a.status, a.text)
	}
	if err != nil {
		v.finish(err)
		return false
	}
	v.setSession(a.session, v.Took(id))
	return true
}

func (v *visitor) setSession(id, owner string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.session, v.owner = id, owner
}

// exchange sends a message through the balancer.
func (v *visitor) exchange(id, body string) (answered, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	v.mu.Lock()
	v.id, v.began, v.cancel = id, time.Now(), cancel
	v.mu.Unlock()
	return v.send(ctx, v.URL, id, v.session, body)
}

// finish records the end of a call, and checks that it may have failed.
func (v *visitor) finish(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cancel = nil
	if err == nil {
		v.done++
		return
	}
	entry := v.Took(v.id)
	if errors.Is(err, context.DeadlineExceeded) || !v.mayFail(entry, v.owner, v.began) {
		v.t.Errorf("%s at %s, session of %q, after %v: %v", v.id, entry, v.owner, time.Since(v.began), err)
	}
}

// answered is the answer to a request.
type answered struct {
	status        int
	session, text string
}

// send sends a message to a URL. The text of the answer is the text of the tool, or the whole body.
func (s *site) send(ctx context.Context, url, id, session, body string) (answered, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		return answered{}, err
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "X-Request-Id": {id},
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	var m struct {
		Method string
		Params struct{ Name string }
	}
	if _ = json.Unmarshal([]byte(body), &m); strings.Contains(body, "2026-07-28") {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", m.Method)
		r.Header.Set("Mcp-Name", m.Params.Name)
	}
	w, err := s.web.Do(r)
	if err != nil {
		return answered{}, err
	}
	defer w.Body.Close()
	all, err := io.ReadAll(w.Body)
	if i := bytes.LastIndex(all, []byte("data: {")); i >= 0 {
		all = all[i+len("data: "):]
	}
	a := answered{w.StatusCode, w.Header.Get("Mcp-Session-Id"), string(all)}
	var one reply
	if json.Unmarshal(all, &one) == nil && bytes.Contains(all, []byte(`"content"`)) {
		if text, err := one.text(); err == nil {
			a.text = text
		}
	}
	return a, err
}

// toolCall returns a call of a tool.
func toolCall(id int, tool, arguments string, modern bool) string {
	m := ""
	if modern {
		m = "," + meta
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, id, tool,
		arguments, m)
}
