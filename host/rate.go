package host

import (
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxRates bounds the clients with a limiter. Clients that were idle for a while need none.
const maxRates = 10_000

var errTooFast = errors.New("this client sends too many requests in too short a time")

// Rates bounds how many requests each client sends over HTTP. Several hosts may share one. Its methods may be called
// from any goroutine.
type Rates struct {
	limit rate.Limit
	burst int

	mu       sync.Mutex
	limiters map[client]*rate.Limiter
}

// NewRates allows each client perSecond requests a second on average, and burst requests at once. If burst is below 1,
// two seconds of requests are allowed at once, and at least ten.
func NewRates(perSecond float64, burst int) *Rates {
	if burst < 1 {
		burst = max(10, int(2*perSecond))
	}
	return &Rates{limit: rate.Limit(perSecond), burst: burst, limiters: map[client]*rate.Limiter{}}
}

// wait counts a request of a client and returns 0, or returns the time until the client may send it.
func (r *Rates) wait(c client) time.Duration {
	if r == nil || c == (client{}) {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.limiters[c]
	if l == nil {
		if len(r.limiters) >= maxRates {
			maps.DeleteFunc(r.limiters, func(_ client, l *rate.Limiter) bool { return l.Tokens() >= float64(r.burst) })
		}
		if len(r.limiters) >= maxRates {
			return time.Second
		}
		l = rate.NewLimiter(r.limit, r.burst)
		r.limiters[c] = l
	}
	next := l.Reserve()
	wait := next.Delay()
	if wait > 0 {
		next.Cancel()
	}
	return wait
}
