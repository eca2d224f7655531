package activity

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/indusagi/indus/control/audit"
)

// Period is a time up to now for which a [Tracker] has latencies.
type Period int

const (
	Hour Period = iota // the last hour, in slots of five minutes
	Day                // the last day, in slots of an hour
)

// slotsOf has the length and the number of the slots of each period. The last slot is the present one: it has only a
// part of its time.
var slotsOf = [...]struct {
	length time.Duration
	kept   int
}{Hour: {5 * time.Minute, 12}, Day: {time.Hour, 24}}

// Durations are counted in buckets whose bounds grow by the same factor. Each duration is at most a tenth from the
// middle of its bucket.
const (
	accuracy     = 0.1 // of a quantile, relative
	bucketGrowth = (1 + accuracy) / (1 - accuracy)
	firstBucket  = 200 * time.Microsecond // all shorter durations are in the first bucket
	buckets      = 78                     // the last one begins after 14 minutes
)

// maxMeasured is the number of tools, and of servers, that have their own latencies. A tool that was called in every
// slot takes about 13 kB.
const maxMeasured = 500

// Latency has the rate, the failures and the durations of requests in a time.
type Latency struct {
	// Server and Name are the key, as in [Usage]. They are empty in [Tracker.Course].
	Server string `json:"server,omitempty"`
	Name   string `json:"name,omitempty"`
	Other  bool   `json:"other,omitempty"`
	// From is the begin of the time.
	From time.Time `json:"from"`

	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed"` // with the outcome [audit.Error]
	Denied   int64 `json:"denied"`
	// P50 and P95 are quantiles of the durations, and Longest is the longest duration. Requests that were denied or wait
	// for an approval have none. From 0.2 ms to 14 minutes, the error of a quantile is at most a tenth of it.
	P50     time.Duration `json:"p50"`
	P95     time.Duration `json:"p95"`
	Longest time.Duration `json:"longest"`
}

// slot counts the requests of a time.
type slot struct {
	at       int64 // lengths of a slot since 1970
	requests uint32
	failed   uint32
	denied   uint32
	longest  time.Duration
	counts   [buckets]uint32 // durations
}

func (s *slot) add(r *audit.Record) {
	s.requests++
	switch r.Outcome {
	case audit.Denied:
		s.denied++
	case audit.Allowed, audit.Error:
		if r.Outcome == audit.Error {
			s.failed++
		}
		s.longest = max(s.longest, r.Duration)
		s.counts[bucketOf(r.Duration)]++
	}
}

// merge adds the requests of another slot.
func (s *slot) merge(other *slot) {
	s.requests += other.requests
	s.failed += other.failed
	s.denied += other.denied
	s.longest = max(s.longest, other.longest)
	for i, n := range other.counts {
		s.counts[i] += n
	}
}

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	if d <= firstBucket {
		return 0
	}
	n := math.Ceil(math.Log(float64(d)/float64(firstBucket)) / math.Log(bucketGrowth))
	return min(int(n), buckets-1)
}

// quantile returns the duration that the share q of the durations does not exceed.
func (s *slot) quantile(q float64) time.Duration {
	var all, sum uint64
	for _, n := range s.counts {
		all += uint64(n)
	}
	rank := uint64(math.Ceil(q * float64(all)))
	for i, n := range s.counts {
		if sum += uint64(n); sum >= max(rank, 1) {
			middle := float64(firstBucket) * math.Pow(bucketGrowth, float64(i)) * (1 - accuracy)
			return min(time.Duration(middle), s.longest)
		}
	}
	return 0
}

func (s *slot) latency(key usageKey, from time.Time) Latency {
	return Latency{
		Server: key.server, Name: key.name, Other: key.other, From: from, Requests: int64(s.requests),
		Failed: int64(s.failed), Denied: int64(s.denied), P50: s.quantile(0.5), P95: s.quantile(0.95), Longest: s.longest,
	}
}

// measured has the slots of a tool or a server by period. Slots are made when they are needed, and used again.
type measured [len(slotsOf)][]*slot

func (m *measured) add(at time.Time, r *audit.Record) {
	for p, slots := range slotsOf {
		if m[p] == nil {
			m[p] = make([]*slot, slots.kept)
		}
		n := max(at.UnixNano(), 0) / int64(slots.length)
		place := &m[p][int(n%int64(slots.kept))]
		switch {
		case *place == nil:
			*place = &slot{at: n}
		case (*place).at > n: // of a clock that was set back
			return
		case (*place).at < n:
			**place = slot{at: n}
		}
		(*place).add(r)
	}
}

// isUsed reports whether there is a request in a period that ends now.
func (m *measured) isUsed(p Period, now time.Time) bool {
	return slices.ContainsFunc(m[p], func(s *slot) bool { return s != nil && s.at >= firstSlot(p, now) })
}

// firstSlot returns the number of the first slot of a period that ends now.
func firstSlot(p Period, now time.Time) int64 {
	return now.UnixNano()/int64(slotsOf[p].length) - int64(slotsOf[p].kept) + 1
}

// measure adds a request to the latencies of a key. If too many keys are in use, it is added to the other keys. Call it
// with mu held.
func (t *Tracker) measure(kind Kind, key usageKey, at time.Time, r *audit.Record) {
	all := t.latencies[kind]
	if all[key] == nil && len(all) >= maxMeasured {
		if now := at.Unix() / 60; t.forgot[kind] != now { // once a minute, so that new names cost little
			t.forgot[kind] = now
			for other, m := range all {
				if !m.isUsed(Day, at) {
					delete(all, other)
				}
			}
		}
		if len(all) >= maxMeasured {
			key = usageKey{other: true}
		}
	}
	m := all[key]
	if m == nil {
		m = &measured{}
		all[key] = m
	}
	m.add(at, r)
}

// Latencies returns the latencies of each tool or server in a period, those with the most failures first, and then
// those with the longest P95. Tools beyond the first 500 that were called within a day, and tools that are in no list
// of their server, have one sum, which is the last.
func (t *Tracker) Latencies(kind Kind, p Period) []Latency {
	first := firstSlot(p, time.Now())
	from := time.Unix(0, first*int64(slotsOf[p].length))
	all, others := []Latency{}, []Latency{}
	t.mu.Lock()
	for key, m := range t.latencies[kind] {
		switch sum := m.sum(p, first); {
		case sum.requests == 0:
		case key.other:
			others = append(others, sum.latency(key, from))
		default:
			all = append(all, sum.latency(key, from))
		}
	}
	t.mu.Unlock()
	slices.SortFunc(all, func(x, y Latency) int {
		return cmp.Or(cmp.Compare(y.Failed, x.Failed), cmp.Compare(y.P95, x.P95), cmp.Compare(x.Server, y.Server),
			cmp.Compare(x.Name, y.Name))
	})
	return append(all, others...)
}

// sum returns the sum of the slots from the first on.
func (m *measured) sum(p Period, first int64) (sum slot) {
	for _, s := range m[p] {
		if s != nil && s.at >= first {
			sum.merge(s)
		}
	}
	return sum
}

// Course returns the latency in each slot of a period, the oldest first. It has the requests of one tool or server, or
// those of all if server and name are "".
func (t *Tracker) Course(kind Kind, server, name string, p Period) []Latency {
	first := firstSlot(p, time.Now())
	sums := make([]slot, slotsOf[p].kept)
	t.mu.Lock()
	for key, m := range t.latencies[kind] {
		if server+name != "" && key != (usageKey{server: server, name: name}) {
			continue
		}
		for _, s := range m[p] {
			if s != nil && s.at >= first && s.at-first < int64(len(sums)) {
				sums[s.at-first].merge(s)
			}
		}
	}
	t.mu.Unlock()
	all := make([]Latency, len(sums))
	for i := range sums {
		all[i] = sums[i].latency(usageKey{}, time.Unix(0, (first+int64(i))*int64(slotsOf[p].length)))
	}
	return all
}
