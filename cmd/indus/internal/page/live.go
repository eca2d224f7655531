package page

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
)

const (
	// maxStreams bounds the open streams of /events of a visitor. Each browser tab has one.
	maxStreams = 50
	// eventTick is the shortest time between two events of a stream.
	eventTick = time.Second
	// keepAlive bounds one write to a stream.
	keepAlive = 15 * time.Second
	// visitorCheck is the time after which the visitor of a stream is checked again. A stream ends within 5 s once its
	// key is removed.
	visitorCheck = 4 * time.Second
)

// The topics of events. A part of the page with data-live="calls servers" is fetched again after an event of one of
// them.
const (
	topicServers   = "servers"
	topicCalls     = "calls"
	topicApprovals = "approvals"
	topicTools     = "tools"
	topicPolicy    = "policy"
	topicAudit     = "audit"
)

// changes counts the open streams of each visitor, so that none takes the streams of another.
type changes struct {
	mu      sync.Mutex
	streams map[string]int // by principal
}

func (c *changes) add(principal string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams[principal] >= maxStreams {
		return false
	}
	c.streams[principal]++
	return true
}

func (c *changes) remove(principal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams[principal]--; c.streams[principal] == 0 {
		delete(c.streams, principal)
	}
}

// pending collects topics until a stream sends them.
type pending struct {
	mu     sync.Mutex
	topics map[string]bool
	wake   chan struct{}
}

func (p *pending) add(topic string) {
	p.mu.Lock()
	p.topics[topic] = true
	p.mu.Unlock()
	watch.Signal(p.wake)
}

func (p *pending) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer clear(p.topics)
	return slices.Collect(maps.Keys(p.topics))
}

// watch adds topics of the gateway to p until stop is called.
func (s *Site) watch(p *pending) (stop func()) {
	stops := []func(){
		s.Gateway.Attached().Fleet.Events(func(e interop.Event) {
			p.add(topicServers)
			if e.Kind == interop.ServerListed || e.Kind == interop.ServerReady || e.Kind == interop.ServerWithdrawn {
				p.add(topicTools)
			}
		}),
		// Held tools that are accepted change without an event of the fleet.
		s.Gateway.Attached().Watch(func() { p.add(topicTools) }),
		s.Control.Approvals.Watch(func() { p.add(topicApprovals) }),
		s.Control.Activity.Watch(func() { p.add(topicCalls) }),
		s.WatchPolicy(func() { p.add(topicPolicy) }),
	}
	if log := s.Control.Audit; log != nil {
		stops = append(stops, log.Watch(func() { p.add(topicAudit) }))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// serveEvents sends the names of the topics that change: server-sent events, whose data are topics in a line.
func (s *Site) serveEvents(w http.ResponseWriter, v *visit) {
	principal := v.visitor.principal()
	if !s.changes.add(principal) {
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer s.changes.remove(principal)
	ctx, cancel := context.WithCancel(v.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	p := &pending{topics: map[string]bool{}, wake: make(chan struct{}, 1)}
	defer s.watch(p)()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{})
	write := func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(keepAlive))
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	if !write(": open\n\n") {
		return
	}
	check := time.NewTicker(visitorCheck)
	defer check.Stop()
	mayRead := func() bool {
		_, err := s.access.identify(s, v.Request)
		return err == nil
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-check.C:
			if !mayRead() || !write(": alive\n\n") {
				return
			}
		case <-p.wake:
			if !mayRead() || !write("data: "+strings.Join(p.take(), " ")+"\n\n") {
				return
			}
			watch.Sleep(ctx, eventTick) // others that change meanwhile come with the next event
		}
	}
}
