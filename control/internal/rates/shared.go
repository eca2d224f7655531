package rates

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/replica/cluster"
)

// Replicas send each other the counts of limits that changed: the whole count of the sender, so that a lost message
// does no harm once another one arrives. No request waits for this. A message has ages instead of times, so the clocks
// of replicas may differ. A limit of N is exact for the requests of each replica, and approximate for all together: it
// is exceeded by what the other replicas permit between two messages. That is at most N for each of them.

const (
	ratesTopic = "rates"
	// sharePause is the time between two messages of a replica. Without a change, it sends none.
	sharePause = 20 * time.Millisecond
	// shareAgain is the time after which a replica repeats a count that others do not know, or may have missed.
	shareAgain = time.Second
	// maxShare bounds a message, in bytes. Counts that do not fit are sent in the next one.
	maxShare = 64 << 10
	// shareSpans is the number of spans into which the sender combines its count: a request counts for others longer
	// than a period, by up to the time in which the sender permitted a thirtieth of its requests.
	shareSpans = 30
	// maxReplicas bounds the counters of other replicas in a window. A replica has a new one after each start.
	maxReplicas = 32
	idSize      = 26 // of rand.Text
	// maxSharePeriod and maxShareCount are above every limit of a policy.
	maxSharePeriod = 10_000 * 24 * time.Hour
	maxShareCount  = 1_000_000_000
)

// rateMessage has counts of one replica.
type rateMessage struct {
	From   string      `json:"from"`
	Counts []rateCount `json:"counts"`
}

// rateCount is the count of one replica for a limit of a caller.
type rateCount struct {
	Replica string        `json:"replica,omitempty"` // if it is not the sender
	Caller  string        `json:"caller"`
	Rule    string        `json:"rule"`
	Period  time.Duration `json:"period"`
	// Spans has the age of the last request in milliseconds, and the number of requests. The oldest is the first.
	Spans [][2]int64 `json:"spans"`
}

// Join prepares Share. It is called before the first request.
func (r *Counts) Join() {
	r.id, r.changed, r.unsent = rand.Text(), make(chan struct{}, 1), map[Key]bool{}
}

// Share sends counts to the other replicas, and receives theirs, until the context ends.
func (r *Counts) Share(ctx context.Context, bus cluster.Bus) {
	stop, err := bus.Subscribe(ratesTopic, r.receive)
	for err != nil {
		if !watch.Sleep(ctx, shareAgain) {
			return
		}
		stop, err = bus.Subscribe(ratesTopic, r.receive)
	}
	defer stop()
	defer func() { r.publish(context.WithoutCancel(ctx), bus) }() // the requests here count until their period is over
	for {
		select {
		case <-r.changed:
		case <-ctx.Done():
			return
		}
		pause := sharePause
		if !r.publish(ctx, bus) {
			pause = shareAgain
		}
		if !watch.Sleep(ctx, pause) {
			return
		}
	}
}

// send makes the next message have the count of a limit: of this replica, or of all. The caller holds mu.
func (r *Counts) send(k Key, all bool) {
	if r.id == "" {
		return
	}
	r.unsent[k] = r.unsent[k] || all
	watch.Signal(r.changed)
}

// publish sends counts that changed. If it returns false, they are sent again.
func (r *Counts) publish(ctx context.Context, bus cluster.Bus) bool {
	m := r.nextMessage()
	if len(m.Counts) == 0 {
		return true
	}
	data, err := json.Marshal(m)
	if err == nil && bus.Publish(ctx, ratesTopic, data) == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range m.Counts {
		r.send(Key{c.Caller, c.Rule}, c.Replica != "")
	}
	return false
}

// nextMessage returns counts that changed, as many as fit into a message.
func (r *Counts) nextMessage() *rateMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, now, size := &rateMessage{From: r.id}, time.Now(), 0
	for k, all := range r.unsent {
		if size > maxShare {
			r.send(k, all)
			break
		}
		delete(r.unsent, k)
		w := r.counts[k]
		if w == nil {
			continue
		}
		w.sent = now
		counters := []counter{w.own}
		if all {
			counters = append(counters, w.others...)
		}
		for _, c := range counters {
			if c.count(w.per, now) > 0 {
				shared := rateCount{c.replica, k.Principal, k.Rule, w.per, c.shared(now)}
				size += 64 + len(k.Principal) + len(k.Rule) + 16*len(shared.Spans)
				m.Counts = append(m.Counts, shared)
			}
		}
	}
	return m
}

// shared returns the spans for other replicas.
func (c *counter) shared(now time.Time) (all [][2]int64) {
	each := int64((c.total + shareSpans - 1) / shareSpans)
	for _, s := range c.spans {
		next := [2]int64{now.Sub(s.last).Milliseconds(), int64(s.count)}
		if n := len(all); n > 0 && all[n-1][1] < each {
			next[1] += all[n-1][1]
			all[n-1] = next
		} else {
			all = append(all, next)
		}
	}
	return all
}

// receive takes the counts of another replica, or ignores a message that no replica sends.
func (r *Counts) receive(data []byte) {
	var m rateMessage
	if len(data) > 8*maxShare || json.Unmarshal(data, &m) != nil || len(m.From) != idSize || m.From == r.id {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, isFull := time.Now(), false
	for i := range m.Counts {
		c := &m.Counts[i]
		other, ok := c.counter(now)
		if !ok || c.Replica == r.id {
			continue
		}
		k := Key{c.Caller, c.Rule}
		w := r.counts[k]
		if w == nil {
			if isFull = isFull || !r.dropOld(now); isFull {
				continue
			}
			w = &window{per: c.Period}
			r.counts[k] = w
		}
		if c.Replica != "" { // the sender may know an old count
			if !w.knows(c.Replica) {
				w.replace(other)
			}
			continue
		}
		other.replica = m.From
		isNew := !w.knows(m.From)
		w.replace(other)
		// The sender may not know the requests here: it has just started, or had no connection.
		if isNew || w.own.count(w.per, now) > 0 && now.Sub(w.sent) > shareAgain {
			r.send(k, isNew)
		}
	}
}

// counter returns the counter. Without ok, no replica sends such a count.
func (c *rateCount) counter(now time.Time) (counter, bool) {
	to := counter{replica: c.Replica}
	if c.Period <= 0 || c.Period > maxSharePeriod || len(c.Spans) == 0 || len(c.Spans) > shareSpans+1 ||
		c.Replica != "" && len(c.Replica) != idSize {
		return to, false
	}
	older := c.Period.Milliseconds()
	for _, s := range c.Spans {
		age, n := s[0], s[1]
		if age < 0 || age > older || n < 1 || n > maxShareCount {
			return to, false
		}
		older = age
		to.spans = append(to.spans, span{now.Add(-time.Duration(age) * time.Millisecond), int(n)})
		to.total += int(n)
	}
	return to, true
}

// knows reports whether there is a counter of a replica.
func (w *window) knows(replica string) bool {
	return slices.ContainsFunc(w.others, func(c counter) bool { return c.replica == replica })
}

// replace stores the counter of a replica. If there are too many, it replaces the one with the oldest requests.
func (w *window) replace(c counter) {
	w.others = slices.DeleteFunc(w.others, func(o counter) bool { return o.replica == c.replica || len(o.spans) == 0 })
	if len(w.others) >= maxReplicas {
		oldest := slices.MinFunc(w.others, func(a, b counter) int { return a.spans[0].last.Compare(b.spans[0].last) })
		w.others = slices.DeleteFunc(w.others, func(o counter) bool { return o.replica == oldest.replica })
	}
	w.others = append(w.others, c)
}
