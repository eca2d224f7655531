package rates

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// No period of a limit has more requests than the limit, wherever the period begins, and a caller that asks all the time
// gets all of them. That includes limits of more requests than a window has spans.
func TestALimitIsExact(t *testing.T) {
	for _, n := range []int{1, 7, maxSpans, maxSpans + 1, 40 * maxSpans} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r Counts
				limits := []Limit{{Key{"ann", "rule"}, n, time.Minute}}
				const periods = 5
				pause := time.Minute / time.Duration(3*n) // three times as often as the limit permits
				var accepted []time.Time
				begun := time.Now()
				for time.Since(begun) < periods*time.Minute {
					wait := r.Take(limits, true)
					if wait == 0 {
						accepted = append(accepted, time.Now())
					}
					if wait > 0 && r.Take(limits, false) != wait {
						t.Fatal("a question without a count changes the time to wait")
					}
					time.Sleep(pause)
				}
				for i := n; i < len(accepted); i++ {
					if lasted := accepted[i].Sub(accepted[i-n]); lasted < time.Minute {
						t.Fatalf("%d requests in %v", n+1, lasted)
					}
				}
				if got, want := len(accepted), periods*n; got > want || got < want-want/500 {
					t.Errorf("%d requests are accepted in %d periods, want %d", got, periods, want)
				}
				if spans := len(r.counts[limits[0].Key].own.spans); spans > maxSpans+1 {
					t.Errorf("%d spans", spans)
				}
			})
		})
	}
}

// A rule whose limit changed counts the earlier requests.
func TestAChangedLimitCountsEarlierRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Counts
		limit := func(n int) []Limit { return []Limit{{Key{"ann", "rule"}, n, time.Minute}} }
		for range 10 {
			if r.Take(limit(10), true) != 0 {
				t.Fatal("a request within the limit is refused")
			}
			time.Sleep(time.Second)
		}
		if wait := r.Take(limit(4), true); wait != 56*time.Second { // the first seven have to be over
			t.Errorf("wait %v", wait)
		}
		if r.Take(limit(11), true) != 0 || r.Take(limit(11), true) == 0 {
			t.Error("a larger limit permits one request more")
		}
	})
}

// Limits whose period is over make room for others first.
func TestLimitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Counts
		take := func(caller string, per time.Duration) {
			if r.Take([]Limit{{Key{caller, "rule"}, 1, per}}, true) != 0 {
				t.Fatalf("%s is refused", caller)
			}
		}
		take("ann", time.Hour)
		for i := range maxRates - 1 {
			take(fmt.Sprint("short ", i), time.Second)
		}
		time.Sleep(2 * time.Second)
		take("eve", time.Hour)
		if len(r.counts) != 2 {
			t.Errorf("%d limits are counted, want those of ann and eve", len(r.counts))
		}
		for i := range 2 * maxRates {
			take(fmt.Sprint("long ", i), time.Hour)
		}
		if len(r.counts) > maxRates {
			t.Errorf("%d limits are counted", len(r.counts))
		}
	})
}
