package approval_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/replica/cluster"
)

var (
	schedules = flag.Int("schedules", 300, "number of schedules with faults of a cluster")
	firstSeed = flag.Uint64("seed", 1, "seed of the first schedule")
)

// TestClusterSchedules runs the books of several processes with lost connections and answers and old reads, in virtual time. Nothing is
// decided twice, no grant is used twice, and in the end all processes agree. Replay one schedule with -run
// ClusterSchedules -schedules 1 -seed N.
func TestClusterSchedules(t *testing.T) {
	granted := 0
	for seed := *firstSeed; seed < *firstSeed+uint64(*schedules); seed++ {
		synctest.Test(t, func(t *testing.T) {
			s := &clusterSchedule{t: t, seed: seed, granted: map[string]int{}, decided: map[string]int{}}
			s.run()
			granted += len(s.granted)
		})
		if t.Failed() {
			t.Fatalf("schedule %d", seed)
		}
	}
	if *schedules > 1 && granted < *schedules {
		t.Errorf("%d grants in %d schedules test nothing", granted, *schedules)
	}
}

// clusterSchedule is a run of processes that share a memory.
type clusterSchedule struct {
	t      *testing.T
	seed   uint64
	memory clustertest.Memory

	mu               sync.Mutex
	granted, decided map[string]int // by the id of an item
}

func (s *clusterSchedule) run() {
	var running sync.WaitGroup
	for i := range 3 {
		running.Go(func() { s.process(i) })
	}
	running.Wait()
}

func (s *clusterSchedule) process(i int) {
	ctx, client, r := s.t.Context(), s.memory.Connect(), rand.New(rand.NewPCG(s.seed, uint64(i)))
	document, err := cluster.OpenDocument(ctx, client, "approvals")
	if err != nil {
		s.t.Error(err)
		return
	}
	defer document.Close()
	book, err := approval.Open("", &approval.Options{Document: document, Now: client.Now})
	if err != nil {
		s.t.Error(err)
		return
	}
	time.Sleep(time.Millisecond)
	faults := rand.New(rand.NewPCG(s.seed, uint64(100+i)))
	client.SetFaults(func() clustertest.Fault { return clustertest.Fault(max(0, faults.IntN(20)-16)) })
	var known []string
	for range 30 {
		time.Sleep(time.Duration(r.Int64N(int64(time.Minute))))
		if r.IntN(5) == 0 {
			client.SetDown(r.IntN(3) == 0)
		}
		if len(known) > 0 && r.IntN(2) == 0 {
			id := known[r.IntN(len(known))]
			_, err := book.Decide(ctx, id, approval.Decision{Allow: r.IntN(3) > 0, Channel: approval.ByOperator})
			s.count(s.decided, id, err == nil)
			continue
		}
		item, outcome, err := book.Require(ctx, approval.Item{
			Subject: approval.Subject{Tool: fmt.Sprint(r.IntN(3))}, Way: approval.Other,
		}, nil)
		switch {
		case err != nil && !errors.Is(err, cluster.ErrUnavailable):
			s.t.Error(err)
		case err == nil:
			known = append(known, item.ID)
			s.count(s.granted, item.ID, outcome == approval.Granted)
		}
	}
	client.SetFaults(nil)
	client.SetDown(false)
	time.Sleep(time.Hour) // until all processes are here and every item has expired
	all, err := book.List(ctx, &approval.Filter{All: true})
	if err != nil || len(all) == 0 {
		s.t.Errorf("%d items, %v", len(all), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range all {
		if n := s.granted[item.ID]; n > 1 || n == 1 && item.State != approval.Spent || s.decided[item.ID] > 1 ||
			s.decided[item.ID] == 1 && item.Decided.IsZero() {
			s.t.Errorf("process %d: %d grants and %d decisions of %+v", i, n, s.decided[item.ID], item)
		}
	}
}

func (s *clusterSchedule) count(in map[string]int, id string, add bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if add {
		in[id]++
	}
}

// Two processes use a grant at the same time: one of them has it, and the other one asks again.
func TestGrantOfAnotherProcess(t *testing.T) {
	var m clustertest.Memory
	open := func(client *clustertest.Client) *approval.Book {
		document, err := cluster.OpenDocument(t.Context(), client, "approvals")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(document.Close)
		book, err := approval.Open("", &approval.Options{Document: document})
		if err != nil {
			t.Fatal(err)
		}
		return book
	}
	one, call := open(m.Connect()), approval.Item{Way: approval.Other}
	item, _, err := one.Require(t.Context(), call, nil)
	if err == nil {
		_, err = one.Decide(t.Context(), item.ID, approval.Decision{Allow: true, Channel: approval.ByOperator})
	}
	if err != nil {
		t.Fatal(err)
	}
	second := m.Connect()
	other := open(second) // it knows the grant
	steps := 0
	second.SetFaults(func() clustertest.Fault {
		if steps++; steps == 1 { // it knows the grant, and another process uses it
			if _, outcome, err := one.Require(t.Context(), call, nil); outcome != approval.Granted || err != nil {
				t.Errorf("the first process: %v, %v", outcome, err)
			}
		}
		return clustertest.None
	})
	again, outcome, err := other.Require(t.Context(), call, nil)
	if outcome != approval.Pending || again.ID == item.ID || err != nil {
		t.Errorf("the second process: %v of %s, %v", outcome, again.ID, err)
	}
}
