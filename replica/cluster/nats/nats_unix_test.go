//go:build unix

package nats_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
)

const holderURL = "INDUS_TEST_LEASE_HOLDER"

func TestMain(m *testing.M) {
	if url := os.Getenv(holderURL); url != "" {
		hold(url)
		return
	}
	os.Exit(m.Run())
}

// connect connects to servers. o may be nil.
func connect(t *testing.T, o *nats.Options, servers ...*natsserver.Server) *nats.Engine {
	t.Helper()
	if o == nil {
		o = &nats.Options{}
	}
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.URL)
	}
	o.Servers = strings.Join(urls, ",")
	var e *nats.Engine
	eventually(t, func() (err error) {
		e, err = nats.Connect(t.Context(), o)
		return err
	})
	t.Cleanup(e.Close)
	return e
}

// eventually waits until a step succeeds: a group of servers elects a leader.
func eventually(t *testing.T, step func() error) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := step()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func TestOneServer(t *testing.T) {
	t.Parallel()
	s := natsserver.Start(t)
	clustertest.Run(t, func(t *testing.T) cluster.Engine { return connect(t, nil, s) })
}

// Streams with three replicas report conflicts with another code. Then servers fail, one after the other and all
// together, and nothing that was confirmed is lost.
func TestThreeServers(t *testing.T) {
	t.Parallel()
	servers := natsserver.StartCluster(t, 3)
	t.Run("suite", func(t *testing.T) {
		clustertest.Run(t, func(t *testing.T) cluster.Engine { return connect(t, nil, servers...) })
	})
	t.Run("former-leader", func(t *testing.T) { testFormerLeader(t, servers) })
	var confirmed, unknown atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers sync.WaitGroup
	for range 3 {
		d, err := cluster.OpenDocument(ctx, connect(t, nil, servers...), "count")
		if err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			defer d.Close()
			for ctx.Err() == nil {
				text, revision, err := d.Load(ctx)
				if err == nil {
					n, _ := strconv.Atoi(string(text))
					err = d.Replace(context.WithoutCancel(ctx), strconv.AppendInt(nil, int64(n+1), 10), revision)
					switch {
					case err == nil:
						confirmed.Add(1)
					case !errors.Is(err, cluster.ErrConflict):
						unknown.Add(1)
					}
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	progress := func() {
		t.Helper()
		before := confirmed.Load()
		eventually(t, func() error {
			if confirmed.Load() < before+20 {
				return fmt.Errorf("nothing is confirmed after %d", before)
			}
			return nil
		})
	}
	progress()
	servers[0].Kill()
	progress()
	servers[0].Run()
	servers[1].Signal(syscall.SIGSTOP)
	progress()
	servers[1].Signal(syscall.SIGCONT)
	progress()
	for _, s := range servers {
		s.Kill()
	}
	var starting sync.WaitGroup // none is ready alone
	for _, s := range servers {
		starting.Go(s.Run)
	}
	starting.Wait()
	progress()
	stop()
	writers.Wait()
	d, err := cluster.OpenDocument(t.Context(), connect(t, nil, servers...), "count")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	text, _ := d.Read()
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < confirmed.Load() || n > confirmed.Load()+unknown.Load() {
		t.Errorf("the number is %q after %d confirmed and %d unknown steps", text, confirmed.Load(), unknown.Load())
	}
	e := connect(t, nil, servers[0])
	servers[1].Kill()
	servers[2].Kill()
	if _, err := e.Log(t.Context(), "late"); !errors.Is(err, cluster.ErrUnavailable) || strings.Contains(err.Error(), "set") {
		t.Errorf("a stream without a leader: %v", err)
	}
}

// While leaders change, a server that no longer leads may answer first, with a conflict that there is not. No step that
// was done is reported as a conflict.
func testFormerLeader(t *testing.T, servers []*natsserver.Server) {
	e, ctx := connect(t, &nats.Options{Name: "former"}, servers...), t.Context()
	log := mustLog(t, e)
	former, err := client.Connect(servers[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	defer former.Close()
	var mu sync.Mutex
	answered, repeated := map[string]bool{}, 0
	for _, subject := range []string{"$KV.former.>", "former.log.>"} {
		if _, err := former.Subscribe(subject, func(m *client.Msg) {
			mu.Lock()
			defer mu.Unlock()
			id := m.Header.Get(jetstream.MsgIDHeader)
			if answered[id] {
				repeated++
				return
			}
			answered[id] = id != ""
			_ = m.Respond([]byte(`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 1"}}`))
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := former.Flush(); err != nil {
		t.Fatal(err)
	}
	kv := e.KV("x")
	for i := range 20 {
		key := fmt.Sprint(i)
		first, err := kv.Set(ctx, key, []byte("1"), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		second, err := kv.Set(ctx, key, []byte("2"), first, time.Hour)
		if err != nil || second <= first {
			t.Fatal(first, second, err)
		}
		if err := kv.Delete(ctx, key, second); err != nil {
			t.Fatal(err)
		}
		if _, err := kv.Set(ctx, key, []byte("3"), 0, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := kv.Set(ctx, key, nil, second, 0); !errors.Is(err, cluster.ErrConflict) {
			t.Errorf("an old revision: %v", err)
		}
		if n, err := log.Append(ctx, nil, uint64(i)); err != nil || n != uint64(i)+1 {
			t.Fatal(n, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if repeated == 0 {
		t.Error("the former leader never answered first")
	}
}

// While the server is gone, steps fail at once and known state stays. Afterwards a watch has what it missed.
func TestInterruption(t *testing.T) {
	t.Parallel()
	s, ctx := natsserver.Start(t), t.Context()
	e, other := connect(t, nil, s), connect(t, nil, s)
	kv := e.KV("x")
	for _, key := range []string{"stays", "changes", "goes"} {
		if _, err := kv.Set(ctx, key, []byte("1"), 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	changes := make(chan cluster.Change, 100)
	watching, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = kv.Watch(watching, func(c cluster.Change) { changes <- c })
	}()
	for c := range changes {
		if c.Current {
			break
		}
	}
	d, err := cluster.OpenDocument(ctx, e, "d")
	if err == nil {
		err = d.Replace(ctx, []byte("known"), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s.Kill()
	eventually(t, func() error {
		if e.Check() == nil || other.Check() == nil {
			return errors.New("the interruption is not noticed")
		}
		return nil
	})
	began := time.Now()
	_, err = kv.Set(ctx, "new", nil, 0, 0)
	for name, err := range map[string]error{
		"Check": e.Check(), "Set": err, "Replace": d.Replace(ctx, []byte("lost"), 1), "Publish": e.Publish(ctx, "t", nil),
	} {
		if !errors.Is(err, cluster.ErrUnavailable) || !strings.Contains(err.Error(), "ask again") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the steps took %v", took)
	}
	if text, _ := d.Read(); string(text) != "known" {
		t.Errorf("the document is %q", text)
	}
	s.Run()
	eventually(t, other.Check)
	eventually(t, func() error {
		entry, err := other.KV("x").Get(ctx, "changes")
		if err == nil && string(entry.Value) == "1" {
			_, err = other.KV("x").Set(ctx, "changes", []byte("2"), entry.Revision, 0)
		}
		return err
	})
	entry, err := other.KV("x").Get(ctx, "goes")
	if err == nil {
		err = other.KV("x").Delete(ctx, "goes", entry.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	missed := map[string]bool{"changes2false": true, "goestrue": true}
	for timeout := time.After(60 * time.Second); len(missed) > 0; {
		select {
		case c := <-changes:
			delete(missed, fmt.Sprint(c.Key, string(c.Value), c.Gone))
			if c.Key == "stays" || c.Current {
				t.Errorf("an unchanged key arrives again: %+v", c)
			}
		case <-timeout:
			t.Fatalf("these changes do not arrive: %v", missed)
		}
	}
	stop()
	<-ended
}

// A process that was paused for longer than its lease does not hold it, and its revision is refused.
func TestPausedHolder(t *testing.T) {
	t.Parallel()
	s, ctx := natsserver.Start(t), t.Context()
	kv := connect(t, nil, s).KV("leases")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderURL+"="+s.URL)
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || lines.Text() != "held" {
		t.Fatalf("the holder writes %q", lines.Text())
	}
	_ = cmd.Process.Signal(syscall.SIGSTOP)
	var next *cluster.Lease
	eventually(t, func() (err error) {
		next, err = cluster.Acquire(ctx, kv, "l", "next", cluster.MinLease, nil)
		return err
	})
	_ = cmd.Process.Signal(syscall.SIGCONT)
	if _, err := io.WriteString(stdin, "\n"); err != nil {
		t.Fatal(err)
	}
	if want := "held false, another process was faster"; !lines.Scan() || lines.Text() != want {
		t.Errorf("the paused holder writes %q", lines.Text())
	}
	if !next.Held() {
		t.Error("the next holder lost the lease")
	}
	if err := next.Release(ctx); err != nil {
		t.Error(err)
	}
}

// hold is the process of TestPausedHolder.
func hold(url string) {
	ctx := context.Background()
	e, err := nats.Connect(ctx, &nats.Options{Servers: url})
	if err != nil {
		panic(err)
	}
	l, err := cluster.Acquire(ctx, e.KV("leases"), "l", "first", cluster.MinLease, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	held := l.Held()
	_, err = e.KV("leases").Set(ctx, "l", nil, l.Revision(), 0)
	fmt.Printf("held %v, %v\n", held, err)
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	s := natsserver.Start(t)
	conn, err := client.Connect(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]jetstream.StreamConfig{
		"memory": {Storage: jetstream.MemoryStorage, AllowMsgTTL: true, SubjectDeleteMarkerTTL: time.Minute},
		"old":    {MaxAge: time.Hour, AllowDirect: true},
	} {
		config.Name, config.Subjects, config.MaxMsgsPerSubject = "KV_"+name, []string{"$KV." + name + ".>"}, 1
		if _, err := js.CreateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		server  *natsserver.Server
		options nats.Options
		want    []string
	}{
		{natsserver.StartCore(t), nats.Options{}, []string{"JetStream is not enabled"}},
		{natsserver.StartCore(t, "max_payload: 64KB"), nats.Options{}, []string{"max_payload", "JetStream is not enabled"}},
		{s, nats.Options{Replicas: 3}, []string{"3 replicas", `"replicas": 1`}},
		{s, nats.Options{Name: "memory"}, []string{"is in memory", "drops old messages"}},
		{s, nats.Options{Name: "old"}, []string{"has no expiry", "forgets messages after 1h", "direct reads"}},
		{s, nats.Options{Name: "a.b"}, []string{"no name of a cluster"}},
	} {
		c.options.Servers = c.server.URL
		e, err := nats.Connect(t.Context(), &c.options)
		if err == nil {
			e.Close()
			t.Errorf("nothing is missing, but should: %v", c.want)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		}
	}
	if _, err := nats.Connect(t.Context(), &nats.Options{Servers: "nats://u:secret@127.0.0.1:1"}); err == nil ||
		strings.Contains(err.Error(), "secret") || !errors.Is(err, cluster.ErrUnavailable) ||
		!strings.HasPrefix(err.Error(), "NATS cannot be reached at nats://") || strings.Contains(err.Error(), "ask again") {
		t.Errorf("a server that does not run: %v", err)
	}
}

func TestSyncIsReported(t *testing.T) {
	t.Parallel()
	s := natsserver.Start(t)
	always := natsserver.StartCore(t, fmt.Sprintf("jetstream { store_dir: %q, sync_interval: always }", t.TempDir()))
	for _, c := range []struct {
		server  *natsserver.Server
		monitor string
		want    string
	}{
		{s, "", "it is not known"},
		{s, s.Monitor, "before it writes them to the disk"},
		{always, always.Monitor, ""},
		{s, "http://127.0.0.1:1", "refused"},
	} {
		warnings := strings.Join(connect(t, &nats.Options{Monitor: c.monitor}, c.server).Warnings(), "\n")
		if (warnings == "") != (c.want == "") || !strings.Contains(warnings, c.want) {
			t.Errorf("%q and not %q", warnings, c.want)
		}
	}
}

// A full stream refuses new values and keeps the old ones.
func TestFullStream(t *testing.T) {
	t.Parallel()
	s, ctx := natsserver.Start(t), t.Context()
	e := connect(t, nil, s)
	kv := e.KV("x")
	if _, err := kv.Set(ctx, "first", []byte("1"), 0, 0); err != nil {
		t.Fatal(err)
	}
	conn, err := client.Connect(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, "KV_indus")
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxBytes = 10 << 10
	if _, err := js.UpdateStream(ctx, config); err != nil {
		t.Fatal(err)
	}
	_, err = kv.Set(ctx, "large", make([]byte, 20<<10), 0, 0)
	if !errors.Is(err, cluster.ErrUnavailable) || !strings.Contains(err.Error(), "maximum bytes exceeded") {
		t.Errorf("a full stream: %v", err)
	}
	if got, err := kv.Get(ctx, "first"); err != nil || string(got.Value) != "1" {
		t.Errorf("the old value is %+v, %v", got, err)
	}
}

// The server ends the connection when the credentials expire. New credentials in the file are used without a restart.
func TestExpiredCredentials(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	if out, err := exec.Command(natsserver.Program(t), "creds", dir, "3s").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	accounts, err := os.ReadFile(filepath.Join(dir, "accounts.conf"))
	if err != nil {
		t.Fatal(err)
	}
	s := natsserver.Start(t, fmt.Sprintf("operator: %q", filepath.Join(dir, "operator.jwt")), string(accounts))
	creds := filepath.Join(dir, "user.creds")
	short, err := os.ReadFile(creds)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	refusals := map[string]int{}
	e, err := nats.Connect(ctx, &nats.Options{Servers: s.URL, CredsFile: creds, Report: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		refusals[text]++
	}})
	if err != nil {
		t.Fatalf("%v\n%s", err, short)
	}
	defer e.Close()
	eventually(t, func() error {
		if _, err := e.KV("x").Get(ctx, "k"); errors.Is(err, cluster.ErrUnavailable) {
			return nil
		}
		return errors.New("expired credentials are accepted")
	})
	time.Sleep(3 * time.Second) // more than two attempts with the same error
	mu.Lock()
	for text, n := range refusals {
		if n > 4 { // a server may still accept credentials for a moment
			t.Errorf("reported %d times: %s", n, text)
		}
	}
	mu.Unlock()
	if err := os.Rename(filepath.Join(dir, "renewed.creds"), creds); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := e.KV("x").Set(ctx, "k", nil, 0, 0)
		return err
	})
}

// A process whose stream was removed changes nothing in the stream that another process creates, and reports it. A
// restart of the server is nothing of this kind.
func TestStreamIsRemoved(t *testing.T) {
	t.Parallel()
	s := natsserver.Start(t)
	var mu sync.Mutex
	var reported strings.Builder
	e := connect(t, &nats.Options{Report: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		reported.WriteString(text)
	}}, s)
	says := func() string {
		mu.Lock()
		defer mu.Unlock()
		return reported.String()
	}
	if _, err := e.KV("x").Set(t.Context(), "k", nil, 0, 0); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	s.Run()
	eventually(t, func() error {
		_, err := e.KV("x").Get(t.Context(), "k")
		return err
	})
	if text := says(); strings.Contains(text, "removed") {
		t.Errorf("after a restart: %s", text)
	}
	conn, err := client.Connect(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err == nil {
		err = js.DeleteStream(t.Context(), "KV_indus")
	}
	if err != nil {
		t.Fatal(err)
	}
	other := connect(t, nil, s)
	eventually(t, func() error {
		err := e.Check()
		if err == nil || !strings.Contains(says(), "KV_indus was removed") || strings.Contains(err.Error(), "ask again") {
			return fmt.Errorf("the state is gone: %v, %q", err, says())
		}
		return nil
	})
	if _, err := e.KV("x").Set(t.Context(), "k", nil, 0, 0); !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("a step in the other stream: %v", err)
	}
	if _, err := other.KV("x").Set(t.Context(), "k", nil, 0, 0); err != nil {
		t.Error(err)
	}
}

// A conflict at a server that is alone costs one message: no other server can have stored the value.
func TestAConflictIsOneMessage(t *testing.T) {
	t.Parallel()
	e := connect(t, nil, natsserver.Start(t))
	kv := e.KV("x")
	first, err := kv.Set(t.Context(), "k", []byte("1"), 0, 0)
	if err == nil {
		_, err = kv.Set(t.Context(), "k", []byte("2"), first, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	before := e.Sent()
	_, err = kv.Set(t.Context(), "k", []byte("3"), first, 0)
	if n := e.Sent() - before; !errors.Is(err, cluster.ErrConflict) || n != 1 {
		t.Errorf("%v after %d messages", err, n)
	}
}

// A server that is far away answers each request in time, but not all of a connection together.
func TestAServerFarAway(t *testing.T) {
	t.Parallel()
	s := natsserver.Start(t)
	near, err := connect(t, nil, s).Log(t.Context(), "log")
	if err == nil {
		_, err = near.Append(t.Context(), []byte("one"), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	link := natsserver.NewLongLink(t, strings.TrimPrefix(s.URL, "nats://"), 700*time.Millisecond)
	e, err := nats.Connect(t.Context(), &nats.Options{Servers: "nats://" + link.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	far, err := e.Log(t.Context(), "log")
	if err != nil {
		t.Fatal(err)
	}
	if all, err := far.Read(t.Context(), 0, 10); err != nil || len(all) != 1 {
		t.Errorf("%d records, %v", len(all), err)
	}
}

// A clock that differs from the server's does not matter: Now is the time of the server.
func TestTimeOfTheServer(t *testing.T) {
	t.Parallel()
	s := natsserver.Start(t)
	a, b := connect(t, nil, s), connect(t, nil, s)
	if d := a.Now().Sub(b.Now()).Abs(); d > time.Second {
		t.Errorf("two processes differ by %v", d)
	}
	before := a.Now()
	if _, err := a.KV("x").Set(t.Context(), "k", nil, 0, 0); err != nil {
		t.Fatal(err)
	}
	got, err := b.KV("x").Get(t.Context(), "k")
	if d := got.Stored.Sub(before).Abs(); err != nil || d > 2*time.Second {
		t.Errorf("the server's time differs by %v, %v", d, err)
	}
	a.SetBack(time.Hour)
	if _, err := a.KV("x").Get(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if d := a.Now().Sub(b.Now()).Abs(); d > 2*time.Second {
		t.Errorf("the time of a machine that was suspended differs by %v", d)
	}
	if w := a.Warnings(); slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, "clock") }) {
		t.Errorf("the same clock: %q", w)
	}
	for ahead, want := range map[time.Duration]string{
		5 * time.Minute: "is 5m0s ahead of the clock of NATS", -time.Hour: "is 1h0m0s behind the clock of NATS",
	} {
		if got := nats.ClockWarning(ahead); !strings.Contains(got, want) {
			t.Errorf("%v: %q", ahead, got)
		}
	}
}
