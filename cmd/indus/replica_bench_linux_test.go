package main

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/replicas"
)

// BenchmarkReplicas calls a tool by 16 clients, at one, two and four replicas behind a balancer. Each replica has a
// process of the stdio server. With sessions, n-1 of n requests reach another replica than the session's.
func BenchmarkReplicas(b *testing.B) {
	for _, n := range []int{1, 2, 4} {
		for _, era := range []string{"modern", "sessions"} {
			b.Run(fmt.Sprintf("replicas=%d/%s", n, era), func(b *testing.B) {
				s := newGossip(b, n)
				balancer := replicas.NewBalancer(b, s.urls()...)
				balancer.WaitReady(b, n)
				var turn atomic.Int64
				times := make([]time.Duration, b.N)
				var clients sync.WaitGroup
				sessions := make([]string, 16)
				for i := range sessions {
					if era == "sessions" {
						sessions[i] = s.begin(b, balancer.URL)
					}
				}
				b.ResetTimer()
				for _, session := range sessions {
					clients.Go(func() {
						for i := turn.Add(1); i <= int64(b.N); i = turn.Add(1) {
							times[i-1] = s.call(b, balancer.URL, session)
						}
					})
				}
				clients.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
				slices.Sort(times)
				b.ReportMetric(times[len(times)*99/100].Seconds()*1000, "p99-ms")
				memory := 0
				for _, m := range s.members {
					memory += m.resident()
				}
				b.ReportMetric(float64(memory)/float64(n)/1024, "MiB/replica")
			})
		}
	}
}

// BenchmarkHop calls a tool in one session, in turn at the replica of the session and at another one.
func BenchmarkHop(b *testing.B) {
	s := newGossip(b, 2)
	owner, other := s.members[0].url, s.members[1].url
	session := s.begin(b, owner)
	var direct, hop []time.Duration
	for b.Loop() {
		direct = append(direct, s.call(b, owner, session))
		hop = append(hop, s.call(b, other, session))
	}
	slices.Sort(direct)
	slices.Sort(hop)
	d, h := direct[len(direct)/2], hop[len(hop)/2]
	b.ReportMetric(float64(d.Microseconds()), "direct-µs")
	b.ReportMetric(float64(h.Microseconds()), "hop-µs")
	b.ReportMetric(float64(h)/float64(d), "ratio")
}

// BenchmarkDeadReplica measures the time in which a request for a session of a replica that was killed or stopped gets
// its 404 at another replica.
func BenchmarkDeadReplica(b *testing.B) {
	for name, end := range map[string]func(*member){
		"killed": func(m *member) { m.signal(syscall.SIGKILL) }, "stopped": func(m *member) { m.pause() },
	} {
		b.Run(name, func(b *testing.B) {
			s := newGossip(b, 2)
			owner, other := s.members[0], s.members[1].url
			session := s.begin(b, owner.url)
			s.call(b, other, session)
			end(owner)
			for b.Loop() {
				a, err := s.send(b.Context(), other, "", session, toolCall(1, "g__sleep", `{"nonce":"n","ms":0}`, false))
				if err != nil || a.status != http.StatusNotFound {
					b.Fatalf("%d %s %v", a.status, a.text, err)
				}
			}
		})
	}
}

// newGossip starts n replicas with one server.
func newGossip(b *testing.B, n int) site {
	return newSite(b, n, map[string]row{"g": {fixture.Gossip(b), []string{"-name", "g"}, nil}})
}

// begin opens a session, and returns its id.
func (s *site) begin(b testing.TB, url string) string {
	a, err := s.send(b.Context(), url, "", "", initialization)
	if err != nil || a.session == "" {
		b.Fatalf("%d %s %v", a.status, a.text, err)
	}
	return a.session
}

// call calls a tool, in the modern era if there is no session, and returns the time that it took.
func (s *site) call(b testing.TB, url, session string) time.Duration {
	began := time.Now()
	a, err := s.send(b.Context(), url, "", session, toolCall(1, "g__sleep", `{"nonce":"n","ms":0}`, session == ""))
	if err != nil || a.text != "n" {
		b.Errorf("%d %s %v", a.status, a.text, err)
	}
	return time.Since(began)
}

// resident returns the memory of a process, in KiB.
func (m *member) resident() (kib int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	_, _ = fmt.Sscan(rest, &kib)
	return kib
}
