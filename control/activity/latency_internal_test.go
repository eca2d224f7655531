package activity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/internal/protocol"
)

// call returns the record of a call that ends now.
func call(tool string, took time.Duration, outcome audit.Outcome) *audit.Record {
	return &audit.Record{
		At: time.Now().Add(-took), Server: "s", Tool: tool, Method: protocol.MethodToolsCall, Outcome: outcome, Duration: took,
	}
}

// A quantile is within a tenth of the exact one, for durations of all sizes.
func TestQuantilesAreWithinATenth(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for _, n := range []int{1, 2, 19, 1000} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Hour) // the calls began after 1970, and in one slot
			a := New()
			var exact []time.Duration
			for range n {
				d := time.Duration(float64(firstBucket) * math.Exp(random.Float64()*math.Log(4000*1000)))
				exact = append(exact, d)
				a.Record(call("t", d, audit.Allowed), false)
			}
			slices.Sort(exact)
			got := a.Latencies(OfTools, Hour)[0]
			for q, one := range map[float64]time.Duration{0.5: got.P50, 0.95: got.P95} {
				want := exact[int(math.Ceil(q*float64(n)))-1]
				if off := math.Abs(float64(one-want)) / float64(want); off > accuracy+1e-9 {
					t.Errorf("seed %d: quantile %v of %d is %v, not %v", seed, q, n, one, want)
				}
			}
			if got.Longest != exact[n-1] || got.Requests != int64(n) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Failures come first, then slow tools, and the tools that callers invent come last. Refused requests have no duration.
func TestTheToolThatFailsIsFirst(t *testing.T) {
	t.Parallel()
	a := New()
	a.Record(call("fast", time.Millisecond, audit.Allowed), false)
	a.Record(call("slow", time.Second, audit.Allowed), false)
	a.Record(call("slow", time.Hour, audit.Denied), false)
	a.Record(call("fails", time.Millisecond, audit.Error), false)
	a.Record(call("invented", time.Minute, audit.Error), true)
	var names []string
	for _, l := range a.Latencies(OfTools, Hour) {
		names = append(names, fmt.Sprint(l.Name, " ", l.Requests, " ", l.Failed, " ", l.Denied, " ", l.Longest))
	}
	want := []string{"fails 1 1 0 1ms", "slow 2 0 1 1s", "fast 1 0 0 1ms", " 1 1 0 1m0s"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, not %q", names, want)
	}
	if all := a.Latencies(OfServers, Hour); len(all) != 1 || all[0].Requests != 5 || all[0].Failed != 2 {
		t.Errorf("%+v", all)
	}
}

// Requests leave the last hour and the last day as time passes. The course has each in its slot.
func TestLatenciesAreThoseOfAPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := New()
		time.Sleep(time.Hour)
		a.Record(call("t", time.Second, audit.Allowed), false)
		time.Sleep(30 * time.Minute)
		a.Record(call("t", time.Millisecond, audit.Error), false)
		sums := func(p Period) (requests int64) {
			for _, l := range a.Latencies(OfTools, p) {
				requests += l.Requests
			}
			return requests
		}
		course := a.Course(OfTools, "s", "t", Hour)
		if last := course[len(course)-1]; last.Failed != 1 || last.Requests != 1 || last.From.After(time.Now()) {
			t.Errorf("%+v", last)
		}
		if before := course[len(course)-7]; before.Longest != time.Second || before.Failed != 0 {
			t.Errorf("%+v", before)
		}
		if all := a.Course(OfServers, "", "", Day); len(all) != 24 || all[23].Requests != 2 {
			t.Errorf("%+v", all)
		}
		if other := a.Course(OfTools, "s", "other", Hour); other[len(other)-1].Requests != 0 {
			t.Errorf("%+v", other)
		}
		for _, step := range []struct {
			after     time.Duration
			hour, day int64
		}{{0, 2, 2}, {35 * time.Minute, 1, 2}, {25 * time.Minute, 0, 2}, {24 * time.Hour, 0, 0}} {
			time.Sleep(step.after)
			if hour, day := sums(Hour), sums(Day); hour != step.hour || day != step.day {
				t.Errorf("%v later: %d in the hour, %d in the day", step.after, hour, day)
			}
		}
		a.Record(call("t", time.Second, audit.Allowed), false) // in the slots of the first call
		if hour, day := sums(Hour), sums(Day); hour != 1 || day != 1 {
			t.Errorf("a slot is used again: %d in the hour, %d in the day", hour, day)
		}
	})
}

// Thousands of tools take the memory of 500. A tool that was not called for a day makes room for another.
func TestLatenciesOfManyToolsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := New()
		time.Sleep(time.Hour)
		const most, rounds = maxMeasured + 100, 3
		for range rounds {
			for i := range most {
				a.Record(call(fmt.Sprint("t", i), time.Second, audit.Allowed), false)
			}
			time.Sleep(time.Hour)
		}
		if n := len(a.latencies[OfTools]); n > maxMeasured+1 {
			t.Error(n, "tools")
		}
		all := a.Latencies(OfTools, Day)
		if last := all[len(all)-1]; !last.Other || last.Requests != (most-maxMeasured)*rounds {
			t.Errorf("%+v", last)
		}
		if old := a.Latencies(OfTools, Day)[0]; old.Other {
			t.Errorf("%+v", old)
		}
		time.Sleep(25 * time.Hour)
		a.Record(call("new", time.Second, audit.Allowed), false)
		if all := a.Latencies(OfTools, Hour); len(all) != 1 || all[0].Name != "new" {
			t.Errorf("%+v", all)
		}
		m := &measured{}
		for range 60 {
			m.add(time.Now(), call("t", time.Second, audit.Allowed))
			time.Sleep(30 * time.Minute)
		}
		if bytes := uintptr(len(m[Hour])+len(m[Day])) * unsafe.Sizeof(slot{}); bytes > 13_000 {
			t.Error(bytes, "bytes of a tool")
		}
	})
}

// Requests are counted while others read.
func TestLatenciesAreReadWhileRequestsEnd(t *testing.T) {
	t.Parallel()
	a := New()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 200 {
				a.Record(call(fmt.Sprint("t", (n+i)%3), time.Duration(n)*time.Millisecond, audit.Allowed), false)
			}
		})
		all.Go(func() {
			for range 20 {
				_ = a.Latencies(OfTools, Day)
				_ = a.Course(OfServers, "", "", Hour)
			}
		})
	}
	all.Wait()
	if l := a.Latencies(OfServers, Hour); len(l) != 1 || l[0].Requests != 800 {
		t.Errorf("%+v", l)
	}
}

// Without a page there is no tracker, and nothing is measured.
func TestWithoutATrackerNothingIsMeasured(t *testing.T) {
	var none *Tracker
	r := call("t", time.Second, audit.Allowed)
	if n := testing.AllocsPerRun(10, func() { none.Record(r, false) }); n != 0 {
		t.Error(n, "allocations")
	}
}
