// Package rates counts requests against the limits of a policy, alone or together with other replicas.
//
// All methods of [Counts] may be called from any goroutine. They return no errors: counts that cannot be sent are sent
// again, and messages that no replica sends are ignored.
package rates

import (
	"maps"
	"sync"
	"time"
)

const (
	// maxRates bounds the number of limits that are counted: one for each caller and rule.
	maxRates = 10_000
	// maxSpans bounds the spans of one limit. Limits of more requests are exact to a thousandth.
	maxSpans = 1000
)

// Counts has the requests that limits permitted, by caller and rule. The zero value is ready.
//
// A limit of N requests in a period is never exceeded: no period of that length has more than N requests, wherever it
// begins. A token bucket would permit 2N in the first period. See Share for the requests at other replicas.
type Counts struct {
	mu     sync.Mutex
	counts map[Key]*window

	id      string        // of this process among the replicas; "": nothing is shared
	changed chan struct{} // has a value if unsent has a key
	unsent  map[Key]bool  // true: with the counts of other replicas
}

// Key identifies a limit of one caller.
type Key struct{ Principal, Rule string }

// Limit permits N requests in each period.
type Limit struct {
	Key
	N   int
	Per time.Duration
}

// window counts the requests of the last period.
type window struct {
	own    counter
	others []counter // of other replicas
	per    time.Duration
	sent   time.Time // when own was last sent to the other replicas
}

// counter counts the requests at one replica.
type counter struct {
	replica string // "": this one
	spans   []span // the oldest first
	total   int
}

// span counts consecutive requests. All of them count as long as the last one.
type span struct {
	last  time.Time
	count int
}

// Take counts a request against all limits. If one of them is used up, it counts nothing, and returns the time until a
// request is possible. Without count, it only returns that time.
func (r *Counts) Take(limits []Limit, count bool) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now() // the times of a window are in order
	for _, l := range limits {
		if w := r.counts[l.Key]; w != nil {
			wait = max(wait, w.wait(l, now))
		}
	}
	if wait > 0 || !count {
		return wait
	}
	for _, l := range limits {
		w := r.counts[l.Key]
		if w == nil {
			if !r.dropOld(now) { // no period is over: half of all is dropped
				maps.DeleteFunc(r.counts, func(Key, *window) bool { return len(r.counts) > maxRates/2 })
			}
			w = &window{}
			r.counts[l.Key] = w
		}
		w.per = l.Per
		w.own.add(l.N, now)
		r.send(l.Key, false)
	}
	return 0
}

// wait returns the time until another request is within the limit.
func (w *window) wait(l Limit, now time.Time) time.Duration {
	left := w.count(l.Per, now)
	if left < l.N {
		return 0
	}
	rest := [][]span{w.own.spans}
	for _, c := range w.others {
		rest = append(rest, c.spans)
	}
	for {
		oldest := -1
		for i, spans := range rest {
			if len(spans) > 0 && (oldest < 0 || spans[0].last.Before(rest[oldest][0].last)) {
				oldest = i
			}
		}
		first := rest[oldest][0]
		rest[oldest] = rest[oldest][1:]
		if left -= first.count; left < l.N {
			return first.last.Add(l.Per).Sub(now)
		}
	}
}

// count returns the number of requests in the last period, at all replicas.
func (w *window) count(per time.Duration, now time.Time) int {
	n := w.own.count(per, now)
	for i := range w.others {
		n += w.others[i].count(per, now)
	}
	return n
}

// count removes the requests before the last period, and returns the number of the others.
func (c *counter) count(per time.Duration, now time.Time) int {
	for len(c.spans) > 0 && now.Sub(c.spans[0].last) >= per {
		c.total -= c.spans[0].count
		c.spans = c.spans[1:]
	}
	return c.total
}

func (c *counter) add(limit int, now time.Time) {
	c.total++
	each := (limit + maxSpans - 1) / maxSpans // requests of a span
	if n := len(c.spans); n > 0 && c.spans[n-1].count < each {
		c.spans[n-1].count++
		c.spans[n-1].last = now
		return
	}
	c.spans = append(c.spans, span{now, 1})
}

// dropOld removes counts whose period is over if there is no room for another one, and reports whether there is room
// then. The caller holds mu.
func (r *Counts) dropOld(now time.Time) bool {
	if r.counts == nil {
		r.counts = map[Key]*window{}
	}
	if len(r.counts) >= maxRates {
		maps.DeleteFunc(r.counts, func(_ Key, w *window) bool { return w.count(w.per, now) == 0 })
	}
	return len(r.counts) < maxRates
}
