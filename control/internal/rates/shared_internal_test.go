package rates

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/internal/testkit/clustertest"
)

// sharing is a replica that shares its counts.
type sharing struct {
	Counts
	client *clustertest.Client
	end    context.CancelFunc
	done   chan struct{}
}

func startSharing(ctx context.Context, m *clustertest.Memory) *sharing {
	s := &sharing{client: m.Connect(), done: make(chan struct{})}
	s.Join()
	ctx, s.end = context.WithCancel(ctx)
	go func() {
		defer close(s.done)
		s.Share(ctx, s.client)
	}()
	synctest.Wait()
	return s
}

// permits sends n requests at once, and returns how many of them a limit of 100 in 10 s permits.
func (s *sharing) permits(n int) (permitted int) {
	for range n {
		if s.Take([]Limit{{Key{"ann", "rule"}, 100, 10 * time.Second}}, true) == 0 {
			permitted++
		}
	}
	return permitted
}

// settle lets time pass, and waits until all replicas wait.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// sharingTest runs a test with replicas in virtual time.
func sharingTest(t *testing.T, n int, test func(t *testing.T, m *clustertest.Memory, all []*sharing)) {
	synctest.Test(t, func(t *testing.T) {
		var m clustertest.Memory
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all []*sharing
		for range n {
			all = append(all, startSharing(ctx, &m))
		}
		test(t, &m, all)
		cancel()
		for _, s := range all {
			<-s.done
		}
	})
}

// No period has more requests than the limit and those that other replicas permit between two messages.
func TestReplicasShareALimit(t *testing.T) {
	sharingTest(t, 3, func(t *testing.T, m *clustertest.Memory, all []*sharing) {
		const limit, periods, pause = 100, 5, 5 * time.Millisecond
		var permitted []time.Time
		for begun := time.Now(); time.Since(begun) < periods*10*time.Second; time.Sleep(pause) {
			for _, s := range all {
				if s.permits(1) == 1 {
					permitted = append(permitted, time.Now())
				}
			}
			if passed := time.Since(begun); passed == 15*time.Second || passed == 25*time.Second {
				all[0].end()
				<-all[0].done
				all[0] = startSharing(t.Context(), m)
				defer all[0].end()
			}
		}
		const bound = limit + 3*int(sharePause/pause+1) // two other replicas, and one that starts
		for i := bound; i < len(permitted); i++ {
			if lasted := permitted[i].Sub(permitted[i-bound]); lasted < 10*time.Second {
				t.Fatalf("%d requests in %v", bound+1, lasted)
			}
		}
		if n := len(permitted); n < periods*limit*9/10 {
			t.Errorf("%d requests in %d periods, and %d are within the limit", n, periods, periods*limit)
		}
	})
}

// Replicas that cannot reach each other permit at most the limit each. Once they can, none permits more until the period
// is over. The requests of a replica that ended count as long as the others.
func TestTheBoundOfASharedLimit(t *testing.T) {
	sharingTest(t, 3, func(t *testing.T, _ *clustertest.Memory, all []*sharing) {
		for _, s := range all {
			s.client.SetDown(true)
			if n := s.permits(150); n != 100 {
				t.Errorf("a replica permits %d", n)
			}
		}
		settle(sharePause)
		for _, s := range all {
			s.client.SetDown(false)
		}
		settle(shareAgain)
		all[1].end()
		for _, s := range all {
			if w := s.counts[Key{"ann", "rule"}]; w.count(w.per, time.Now()) != 300 {
				t.Errorf("a replica knows %+v", w)
			}
		}
		settle(10*time.Second - sharePause - shareAgain - time.Millisecond)
		if n := all[0].permits(1); n != 0 {
			t.Error("the period is not over, and a request is permitted")
		}
		settle(time.Millisecond + sharePause)
		if n := all[0].permits(150); n != 100 {
			t.Errorf("%d are permitted in the next period", n)
		}
	})
}

// A replica that has started, or had no connection, knows the counts of the others soon after its first request.
func TestAReplicaLearnsSharedCounts(t *testing.T) {
	sharingTest(t, 2, func(t *testing.T, m *clustertest.Memory, all []*sharing) {
		a, b := all[0], all[1]
		if n := a.permits(60); n != 60 {
			t.Fatal(n)
		}
		settle(sharePause)
		b.client.SetDown(true)
		if n := a.permits(30); n != 30 {
			t.Fatal(n)
		}
		settle(2 * time.Second)
		if n := b.permits(5); n != 5 { // it knows 60
			t.Fatal(n)
		}
		settle(sharePause)
		b.client.SetDown(false)
		settle(2 * shareAgain)
		c := startSharing(t.Context(), m)
		defer c.end()
		if n := c.permits(1); n != 1 {
			t.Fatal(n)
		}
		settle(3 * sharePause)
		if n := b.permits(10); n != 4 {
			t.Errorf("after an interruption, with 96 requests in all, the replica permits %d", n)
		}
		settle(3 * sharePause)
		if n := b.permits(10) + a.permits(10) + c.permits(10); n > 0 {
			t.Errorf("%d more are permitted", n)
		}
	})
}

// Many counts are sent in several bounded messages.
func TestSharedCountsAreSentInParts(t *testing.T) {
	sharingTest(t, 2, func(t *testing.T, _ *clustertest.Memory, all []*sharing) {
		messages := 0
		stop, err := all[0].client.Subscribe(ratesTopic, func(data []byte) {
			if messages++; len(data) > 2*maxShare {
				t.Errorf("a message of %d bytes", len(data))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		const callers = 3000
		for i := range callers {
			all[0].Take([]Limit{{Key{fmt.Sprint("caller ", i), "rule"}, 1, time.Hour}}, true)
		}
		settle(time.Second)
		if n := len(all[1].counts); n != callers || messages < 2 {
			t.Errorf("the other replica knows %d callers by %d messages", n, messages)
		}
	})
}

// A message that no replica sends changes nothing, and no number of messages takes all memory.
func TestHostileCounts(t *testing.T) {
	sharingTest(t, 1, func(t *testing.T, _ *clustertest.Memory, all []*sharing) {
		s := all[0]
		from := func(i int) string { return fmt.Sprintf("%026d", i) }
		message := func(replica, caller, period, spans string) []byte {
			return fmt.Appendf(nil, `{"from":%q,"counts":[{"caller":%q,"rule":"rule","period":%s,"spans":%s}]}`, replica, caller, period, spans)
		}
		many := "[" + strings.Repeat("[1,1],", shareSpans+1) + "[1,1]]"
		for _, text := range [][]byte{
			nil, []byte("null"), []byte("{"), []byte(`{"from":"` + from(1) + `","counts":[null]}`),
			message("", "ann", "1000000000", "[[1,1]]"), message(s.id, "ann", "1000000000", "[[1,1]]"),
			message(from(1)+"x", "ann", "1000000000", "[[1,1]]"), message(from(1), "ann", "0", "[[0,1]]"),
			message(from(1), "ann", "-1", "[[0,1]]"), message(from(1), "ann", "9223372036854775807", "[[0,1]]"),
			message(from(1), "ann", "1000000000", "[]"), message(from(1), "ann", "1000000000", "[[-1,1]]"),
			message(from(1), "ann", "1000000000", "[[1001,1]]"), message(from(1), "ann", "1000000000", "[[1,0]]"),
			message(from(1), "ann", "1000000000", "[[1,-5]]"), message(from(1), "ann", "1000000000", "[[1,9223372036854775807]]"),
			message(from(1), "ann", "1000000000", "[[1,1],[2,1]]"), message(from(1), "ann", "1000000000", many),
			message(from(1), strings.Repeat("a", 8*maxShare), "1000000000", "[[1,1]]"),
		} {
			s.receive(text)
			if len(s.counts) > 0 {
				t.Fatalf("%.200s is accepted", text)
			}
		}
		for i := range 3 * maxReplicas {
			s.receive(message(from(i), "ann", "10000000000", "[[1,1]]"))
		}
		if n := len(s.counts[Key{"ann", "rule"}].others); n != maxReplicas {
			t.Errorf("%d replicas are counted", n)
		}
		if s.permits(100) != 100-maxReplicas {
			t.Error("the requests of replicas are not counted")
		}
		for i := range 50 {
			var m strings.Builder
			for n := range maxRates / 25 {
				fmt.Fprintf(&m, `{"caller":"%d %d","rule":"rule","period":10000000000,"spans":[[1,1]]},`, i, n)
			}
			s.receive(fmt.Appendf(nil, `{"from":%q,"counts":[%s]}`, from(1), strings.TrimSuffix(m.String(), ",")))
		}
		if n := len(s.counts); n != maxRates || s.permits(1) != 0 {
			t.Errorf("%d limits are counted, or ann's is gone", n)
		}
		settle(10 * time.Second)
		s.receive(message(from(1), "eve", "10000000000", "[[1,1]]"))
		if n := len(s.counts); n > 2 {
			t.Errorf("%d limits are counted after their period", n)
		}
	})
}
