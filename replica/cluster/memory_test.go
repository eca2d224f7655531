package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/replica/cluster"
)

func TestMemory(t *testing.T) {
	var m clustertest.Memory
	clustertest.Run(t, func(*testing.T) cluster.Engine { return m.Connect() })
}

var (
	schedules = flag.Int("schedules", 300, "number of schedules with faults")
	firstSeed = flag.Uint64("seed", 1, "seed of the first schedule")
)

// TestSchedules runs several processes with lost connections and answers, in virtual time. Replay one schedule with
// -run Schedules -schedules 1 -seed N.
func TestSchedules(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+uint64(*schedules); seed++ {
		synctest.Test(t, func(t *testing.T) { newSchedule(t, seed).run() })
		if t.Failed() {
			t.Fatalf("schedule %d", seed)
		}
	}
}

// A schedule with the same seed does the same.
func TestSchedulesAreReplayed(t *testing.T) {
	lost := false
	for seed := range uint64(10) {
		var traces [2]string
		for i := range traces {
			synctest.Test(t, func(t *testing.T) {
				s := newSchedule(t, seed)
				s.run()
				traces[i] = s.trace.String()
			})
		}
		lost = lost || strings.Contains(traces[0], "lost")
		if traces[0] != traces[1] {
			t.Errorf("schedule %d:\n%s\nand then:\n%s", seed, traces[0], traces[1])
		}
	}
	if !lost {
		t.Error("no answer was lost")
	}
}

// If the engine answers with an old text after a change, the text is read again.
func TestDocumentAfterAnOldRead(t *testing.T) {
	var m clustertest.Memory
	writes, reads := m.Connect(), m.Connect()
	document := func(c *clustertest.Client) *cluster.Document {
		d, err := cluster.OpenDocument(t.Context(), c, "d")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Close)
		return d
	}
	from, to := document(writes), document(reads)
	steps := 0
	reads.SetFaults(func() clustertest.Fault {
		if steps++; steps < 3 {
			return clustertest.Old
		}
		return clustertest.None
	})
	long := bytes.Repeat([]byte("new"), 300<<10) // in parts, which have to be read
	if err := from.Replace(t.Context(), long, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	watch.Until(ctx, to.Watch, func() bool {
		text, _ := to.Read()
		return bytes.Equal(text, long)
	})
	if text, _ := to.Read(); !bytes.Equal(text, long) || steps < 3 {
		t.Errorf("a text of %d bytes is read after %d steps", len(text), steps)
	}
}

// schedule is a run of processes that share a memory.
type schedule struct {
	t       *testing.T
	seed    uint64
	memory  clustertest.Memory
	trace   strings.Builder
	running sync.WaitGroup

	mu                  sync.Mutex
	leases              []*cluster.Lease
	fences              map[uint64]int // by revision of a lease, the process
	increments, unknown int
	stored, maybe       map[string]uint64 // records of the log
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	return &schedule{t: t, seed: seed, fences: map[uint64]int{}, stored: map[string]uint64{}, maybe: map[string]uint64{}}
}

const processes, steps = 3, 25

func (s *schedule) run() {
	for i := range processes {
		s.running.Go(func() { s.process(i, rand.New(rand.NewPCG(s.seed, uint64(i)))) })
	}
	s.running.Wait()
	s.check()
}

// process does random steps with random faults.
func (s *schedule) process(i int, r *rand.Rand) {
	ctx, client := s.t.Context(), s.memory.Connect()
	document, err := cluster.OpenDocument(ctx, client, "count")
	if err != nil {
		s.t.Error(err)
		return
	}
	defer document.Close()
	log, err := client.Log(ctx, "log")
	if err != nil {
		s.t.Error(err)
		return
	}
	time.Sleep(time.Millisecond) // until the document is followed: later draws have an order
	faults := rand.New(rand.NewPCG(s.seed, uint64(100+i)))
	client.SetFaults(func() clustertest.Fault {
		switch n := faults.IntN(20); n {
		case 0:
			return clustertest.Refused
		case 1:
			return clustertest.Lost
		case 2:
			return clustertest.Old
		}
		return clustertest.None
	})
	var lease *cluster.Lease
	for n := range steps {
		time.Sleep(time.Duration(r.Int64N(int64(time.Second))))
		switch r.IntN(6) {
		case 0:
			client.SetDown(r.IntN(3) == 0)
		case 1:
			lease = s.hold(i, client, lease, r)
		case 2, 3:
			s.increment(i, document)
		default:
			s.append(i, n, log)
		}
		s.oneHolder()
	}
	client.SetFaults(nil)
	client.SetDown(false)
	if lease != nil {
		if err := lease.Release(ctx); err != nil {
			s.t.Error(err)
		}
	}
	time.Sleep(time.Minute) // until all are here
	for range 2 {           // the second one follows the last change
		if text, _, err := document.Load(ctx); err != nil || len(text) == 0 && s.increments > 0 {
			s.t.Errorf("process %d: %q, %v", i, text, err)
		}
	}
}

func (s *schedule) log(i int, what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.trace, "%d %s: %v\n", i, what, err)
}

// hold takes the lease, or releases it.
func (s *schedule) hold(i int, client cluster.Engine, lease *cluster.Lease, r *rand.Rand) *cluster.Lease {
	if lease != nil && lease.Held() {
		if r.IntN(2) == 0 {
			s.log(i, "release", lease.Release(s.t.Context()))
		}
		return lease
	}
	if lease != nil {
		_ = lease.Release(s.t.Context())
	}
	next, err := cluster.Acquire(s.t.Context(), client.KV("leases"), "l", strconv.Itoa(i), cluster.MinLease, nil)
	s.log(i, "acquire", err)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases = append(s.leases, next)
	if other, ok := s.fences[next.Revision()]; ok {
		s.t.Errorf("the processes %d and %d have the revision %d", i, other, next.Revision())
	}
	s.fences[next.Revision()] = i
	return next
}

// oneHolder checks that at most one process holds the lease, and that it has the greatest revision.
func (s *schedule) oneHolder() {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := 0
	for i, l := range s.leases {
		if !l.Held() {
			continue
		}
		held++
		if i != len(s.leases)-1 {
			s.t.Error("an earlier holder still has the lease")
		}
	}
	if held > 1 {
		s.t.Errorf("%d processes hold the lease", held)
	}
}

func (s *schedule) increment(i int, d *cluster.Document) {
	text, revision, err := d.Load(s.t.Context())
	if err == nil {
		n, _ := strconv.Atoi(string(text))
		err = d.Replace(s.t.Context(), strconv.AppendInt(nil, int64(n+1), 10), revision)
		s.mu.Lock()
		switch {
		case err == nil:
			s.increments++
		case errors.Is(err, cluster.ErrUnavailable):
			s.unknown++
		}
		s.mu.Unlock()
	}
	s.log(i, "increment", err)
}

func (s *schedule) append(i, n int, log cluster.Log) {
	ctx := s.t.Context()
	records, err := log.Read(ctx, 0, 1000)
	if err == nil {
		data := fmt.Sprintf("%d %d", i, n)
		var sequence uint64
		sequence, err = log.Append(ctx, []byte(data), uint64(len(records)))
		s.mu.Lock()
		switch {
		case err == nil:
			s.stored[data] = sequence
		case errors.Is(err, cluster.ErrUnavailable):
			s.maybe[data] = uint64(len(records)) + 1
		}
		s.mu.Unlock()
	}
	s.log(i, "append", err)
}

// check compares the state with what was confirmed.
func (s *schedule) check() {
	ctx, client := context.Background(), s.memory.Connect()
	document, err := cluster.OpenDocument(ctx, client, "count")
	if err != nil {
		s.t.Fatal(err)
	}
	defer document.Close()
	text, _ := document.Read()
	if n, _ := strconv.Atoi(string(text)); n < s.increments || n > s.increments+s.unknown {
		s.t.Errorf("the number is %d after %d increments, and %d that may have been done", n, s.increments, s.unknown)
	}
	log, err := client.Log(ctx, "log")
	if err != nil {
		s.t.Fatal(err)
	}
	records, err := log.Read(ctx, 0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range records {
		data := string(r.Data)
		if s.stored[data] != r.Sequence && s.maybe[data] != r.Sequence {
			s.t.Errorf("%d: %q was not stored there", r.Sequence, data)
		}
		delete(s.stored, data)
		delete(s.maybe, data)
	}
	if len(s.stored) > 0 {
		s.t.Errorf("confirmed records are lost: %v", s.stored)
	}
}
