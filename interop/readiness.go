package interop

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

// ready is the server's endpoint, waited for while there is hope: as long as the
// server's tools are listed, and, where the fleet holds calls, until it was heard. A
// call counts as begun, so that the endpoint is kept for it: [Endpoint.end] must follow.
func (s *slot) ready(ctx context.Context, tool string) (*Endpoint, error) {
	var late <-chan time.Time
	for {
		e, hope, changed := s.look()
		switch {
		case e != nil:
			return e, nil
		case !hope:
			return nil, s.refused(tool, "not connected")
		}
		if late == nil {
			if wait := protocol.Duration(s.server.Timeouts.Connect, defaultConnect); wait > 0 {
				t := time.NewTimer(wait)
				defer t.Stop()
				late = t.C
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late:
			return nil, s.refused(tool, "still not connected")
		}
	}
}

// look is the endpoint of a server that is up, with a call begun, else nil, and whether to wait for it.
func (s *slot) look() (e *Endpoint, hope bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.up && s.endpoint.Phase().Usable() {
		s.endpoint.begin()
		return s.endpoint, true, nil
	}
	hope = s.coming && (s.list != nil || !s.heard && s.fleet.opts.Hold)
	return nil, hope, s.changed
}

func (s *slot) refused(tool, why string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal(tool, why)
}

// refusal is the fault of a call that did not go out: why, or that the server is down, and
// for how long at least. Call it with mu held.
func (s *slot) refusal(tool, why string) *Fault {
	if s.heard && !s.up && !s.retired {
		why = "its server is down"
		switch wait := time.Until(s.retry); {
		case wait > 0:
			why += fmt.Sprintf(", and is tried again in %d s", (wait+time.Second-1)/time.Second)
		case s.coming:
			why += ", and is being tried again now"
		}
	}
	f := NewFault(NotConnected, s.server.ID, why, nil)
	if fault := s.statusNow().Fault; fault != nil {
		f.Message += ": " + strings.TrimPrefix(fault.Message, s.server.ID+": ")
		f.Cause = fault
	}
	f.Tool = tool
	return f
}

// settled waits until the server was heard.
func (s *slot) settled(ctx context.Context) error {
	for {
		s.mu.Lock()
		over, changed := s.heard || s.retired, s.changed
		s.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *slot) current() *Endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endpoint
}

func (s *slot) status() EndpointStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statusNow()
}

// statusNow is the endpoint's, with the tools that are listed, and the fault
// that explains what is not. Call it with mu or Fleet.mu held.
func (s *slot) statusNow() EndpointStatus {
	st := s.endpoint.Status()
	st.Tools, st.Replacing = 0, s.next != nil
	if s.list != nil {
		st.Tools = len(s.list.tools)
	}
	switch {
	case st.Fault != nil:
	case !s.up:
		st.Fault = s.lastFault
	default:
		st.Fault = s.listFault
	}
	return st
}

func (s *slot) quarantined() []Quarantine {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		return nil
	}
	return s.list.rejected
}

// serves reports whether the server has tools that can be called now. Call it with
// Fleet.mu held.
func (s *slot) serves() bool {
	return s.up && s.list != nil && s.endpoint.Phase().Usable()
}

// succeed sets who is to come in the slot's place. Call it with Fleet.mu held.
func (s *slot) succeed(next *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next = next; next != nil {
		next.of = s
	}
	s.broadcast()
}

// inherit publishes what the slot before it did, until the server is heard. Call it
// with Fleet.mu held, and mu once the slot runs.
func (s *slot) inherit(old *slot) {
	if old.list != nil && s.fleet.opts.Grace > 0 {
		s.list = old.list.shaped(s.shape)
	}
}

// adopt makes a shape the slot's, and what is listed like it. Call it with Fleet.mu
// held.
func (s *slot) adopt(by *shape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shape.same(by) {
		return
	}
	s.shape, s.list = by, s.list.shaped(by)
	s.endpoint.adopt(by)
	if s.up {
		s.tell(s.event(ServerListed))
	}
	s.broadcast()
}

// config is the server's configuration, with the rules that hold now.
func (s *slot) config() Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shape.of(s.server)
}

// newest is the configuration that was applied last. Call it with Fleet.mu held.
func (s *slot) newest() Server {
	if s.next != nil {
		s = s.next
	}
	return s.shape.of(s.server).clone()
}
