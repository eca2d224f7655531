package gateway

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

// rates counts the requests that limits permit, by caller and rule. The zero value is ready.
//
// A limit of N requests in a period is never exceeded: no period of that length has more than N requests, wherever it
// begins. A token bucket would permit 2N in the first period.
type rates struct {
	mu     sync.Mutex
	counts map[rateKey]*window
}

// rateKey identifies a limit of one caller.
type rateKey struct{ principal, rule string }

// rateLimit permits n requests in each period.
type rateLimit struct {
	rateKey
	n   int
	per time.Duration
}

// window counts the requests of the last period.
type window struct {
	spans []span // the oldest first
	total int
	per   time.Duration
}

// span counts consecutive requests. All of them count as long as the last one.
type span struct {
	last  time.Time
	count int
}

// wait returns the time until a request is possible, without counting it. The caller holds mu.
func (r *rates) wait(limits []rateLimit, now time.Time) (wait time.Duration) {
	for _, l := range limits {
		if w := r.counts[l.rateKey]; w != nil {
			wait = max(wait, w.wait(l, now))
		}
	}
	return wait
}

// take counts a request against all limits. If one of them is used up, it counts nothing, and returns the time until a
// request is possible. Without count, it only returns that time.
func (r *rates) take(limits []rateLimit, count bool) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now() // the times of a window are in order
	if wait := r.wait(limits, now); wait > 0 || !count {
		return wait
	}
	for _, l := range limits {
		w := r.counts[l.rateKey]
		if w == nil {
			r.makeRoom(now)
			w = &window{}
			r.counts[l.rateKey] = w
		}
		w.add(l, now)
	}
	return 0
}

// wait returns the time until another request is within the limit.
func (w *window) wait(l rateLimit, now time.Time) time.Duration {
	for len(w.spans) > 0 && now.Sub(w.spans[0].last) >= l.per {
		w.total -= w.spans[0].count
		w.spans = w.spans[1:]
	}
	left := w.total
	for _, s := range w.spans {
		if left < l.n {
			break
		}
		left -= s.count
		if left < l.n {
			return s.last.Add(l.per).Sub(now)
		}
	}
	return 0
}

func (w *window) add(l rateLimit, now time.Time) {
	w.per = l.per
	w.total++
	each := (l.n + maxSpans - 1) / maxSpans // requests of a span
	if n := len(w.spans); n > 0 && w.spans[n-1].count < each {
		w.spans[n-1].count++
		w.spans[n-1].last = now
		return
	}
	w.spans = append(w.spans, span{now, 1})
}

// makeRoom removes counts until another one fits: those whose period is over, and if there are none, half of all. The
// caller holds mu.
func (r *rates) makeRoom(now time.Time) {
	if r.counts == nil {
		r.counts = map[rateKey]*window{}
	}
	if len(r.counts) < maxRates {
		return
	}
	maps.DeleteFunc(r.counts, func(_ rateKey, w *window) bool {
		return len(w.spans) == 0 || now.Sub(w.spans[len(w.spans)-1].last) >= w.per
	})
	if len(r.counts) < maxRates {
		return
	}
	maps.DeleteFunc(r.counts, func(rateKey, *window) bool { return len(r.counts) > maxRates/2 })
}
