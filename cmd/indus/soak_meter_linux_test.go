package main

import (
	"slices"
	"time"
)

// meter measures an indus during a soak.
type meter struct {
	*soak
	p       *program
	before  health
	began   time.Time
	samples []health // one every five seconds after soakLevel
	watched chan struct{}
}

// soakLevel is the time after which the number of connections and open questions is stable. Each lasts at most five
// minutes.
const soakLevel = 6 * time.Minute

// meter starts to measure an indus for a time, in which its clients run.
func (s *soak) meter(p *program, wait time.Duration) *meter {
	s.until = time.Now().Add(wait)
	m := &meter{soak: s, p: p, before: s.health(p), began: time.Now(), watched: make(chan struct{})}
	go m.watch()
	return m
}

func (m *meter) watch() {
	defer close(m.watched)
	for n := 0; m.running(); {
		select {
		case <-time.After(min(5*time.Second, max(100*time.Millisecond, time.Until(m.until)))):
		case <-m.Context().Done():
			return
		}
		if time.Since(m.began) < soakWarm {
			continue
		}
		h := m.health(m.p)
		if n++; n%6 == 1 {
			m.Logf("after %v: %+v", time.Since(m.began).Round(time.Second), h)
		}
		if time.Since(m.began) >= soakLevel {
			m.samples = append(m.samples, h)
		}
	}
}

// bounds are the allowed variations of each value: a part of the earlier value plus a constant.
var bounds = []struct {
	what string
	of   func(health) int
	part float64
	some int
}{
	{"goroutines", func(h health) int { return h.Goroutines }, .15, 100},
	{"heap in KiB", func(h health) int { return h.Heap }, .15, 4 << 10},
	{"descriptors", func(h health) int { return h.Descriptors }, .15, 30},
	{"processes", func(h health) int { return h.Processes }, .15, 10},
	{"RSS in KiB", func(h health) int { return h.RSS }, .15, 20 << 10},
}

// wantNoGrowth compares the medians of the first and the last third after soakLevel. It needs a soak of at least eight
// minutes.
func (m *meter) wantNoGrowth() {
	<-m.watched
	n := len(m.samples) / 3
	if n < 5 {
		return
	}
	for _, b := range bounds {
		median := func(of []health) int {
			var all []int
			for _, h := range of {
				all = append(all, b.of(h))
			}
			slices.Sort(all)
			return all[len(all)/2]
		}
		first, last := median(m.samples[:n]), median(m.samples[len(m.samples)-n:])
		m.Logf("%s: %d in the first third after %v, %d in the last", b.what, first, soakLevel, last)
		if last > first+int(b.part*float64(first))+b.some {
			m.Errorf("%s grow from %d to %d", b.what, first, last)
		}
	}
}

// wantQuiet waits until an indus without clients is back at its earlier resources. The leftovers of clients last for
// ten minutes: five for unanswered questions, and five more for connections that could be asked. If patient is false,
// wantQuiet allows for these leftovers, and for connections that last as long.
func (m *meter) wantQuiet(patient bool, lasting int) {
	m.web.CloseIdleConnections()
	before, wait := m.before, 2*time.Second
	if patient {
		wait = 12 * time.Minute
	}
	var now health
	for late := time.Now().Add(wait); ; time.Sleep(100 * time.Millisecond) {
		now = m.health(m.p)
		left := max(0, now.Processes-before.Processes) + lasting
		if patient && left > 0 {
			left = 0
		}
		if now.Goroutines <= before.Goroutines+20+12*left && now.Descriptors <= before.Descriptors+10+8*left && (!patient ||
			now.Processes <= before.Processes+2) {
			break
		}
		if time.Now().After(late) {
			m.Errorf("before %+v, and when all were gone %+v:\n%.20000s", before, now, probed(m, m.socket, "/goroutines"))
			break
		}
	}
	m.Logf("before the clients: %+v; after: %+v", before, now)
}
