package gateway

import (
	"sync"
	"time"
)

// maxRates bounds the number of limits that are counted: one for each caller and rule.
const maxRates = 10_000

// rates counts the requests that limits permit, by caller and rule. The zero value is ready.
//
// A limit of N requests in a period is exact: no period of that length has more than N requests, wherever it begins. A
// token bucket would permit 2N in the first period.
type rates struct {
	mu     sync.Mutex
	counts map[rateKey]*window
}

// rateKey identifies a limit of one caller.
type rateKey struct{ principal, rule string }

// window has the times of the last requests, as a ring whose oldest entry is at next.
type window struct {
	times []time.Time
	next  int
	per   time.Duration
}

// wait returns the time until a request is possible, without counting it. The caller holds mu.
func (r *rates) wait(limits []rateLimit, now time.Time) (wait time.Duration) {
	for _, l := range limits {
		if w := r.counts[l.rateKey]; w != nil {
			wait = max(wait, w.wait(l.n, now))
		}
	}
	return wait
}

// take counts a request against all limits. If one of them is used up, it counts nothing, and returns the time until a
// request is possible. Without count, it only returns that time.
func (r *rates) take(limits []rateLimit, now time.Time, count bool) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
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

// rateLimit permits n requests in each period.
type rateLimit struct {
	rateKey
	n   int
	per time.Duration
}

// wait returns the time until another request is within the limit of n requests.
func (w *window) wait(n int, now time.Time) time.Duration {
	if len(w.times) < n {
		return 0
	}
	return w.times[w.next%len(w.times)].Add(w.per).Sub(now)
}

func (w *window) add(l rateLimit, now time.Time) {
	if l.n < len(w.times) || l.n > len(w.times) && w.next > 0 { // the rule has another limit now
		*w = window{}
	}
	w.per = l.per
	if len(w.times) < l.n {
		w.times = append(w.times, now)
		return
	}
	w.times[w.next] = now
	w.next = (w.next + 1) % len(w.times)
}

// makeRoom removes counts until another one fits: those whose period is over, and otherwise any. The caller holds mu.
func (r *rates) makeRoom(now time.Time) {
	if r.counts == nil {
		r.counts = map[rateKey]*window{}
	}
	if len(r.counts) < maxRates {
		return
	}
	for key, w := range r.counts {
		last := w.times[(w.next+len(w.times)-1)%len(w.times)]
		if len(r.counts) > maxRates/2 || now.Sub(last) > w.per {
			delete(r.counts, key)
		}
	}
}
