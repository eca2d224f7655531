package ledger

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// State is what a log says of servers that nobody has heard yet: which versions of their
// tools are approved, and what each listed last. It is a pure function of the log; a
// [File] keeps it in a checkpoint, so that who begins need not read all of the log.
type State struct {
	approved approvals
	runs     map[string]int // the numbers of the runs that go on, in the order in which they began
	began    int            // runs
	heard    map[origin]*heard
}

// origin is a server under one configuration.
type origin struct{ server, config string }

// heard is what a server listed in the newest run that heard it.
type heard struct {
	run  int
	at   time.Time // of the last Enroll, in any run
	live *fold     // without what was lost with its connection: that may be back
	says *Entry    // the last Describe, of any run; nil: there is none
	seen bool      // says has the tools, as a command saw them after live
}

func newState() *State {
	return &State{approved: newApprovals(), runs: map[string]int{}, heard: map[origin]*heard{}}
}

// StateOf is the state after these entries.
func StateOf(entries []Entry) *State {
	s := newState()
	for _, e := range sortedLog(entries) {
		s.take(e)
	}
	return s
}

func (s *State) take(e Entry) {
	s.approved.take(e)
	if e.Op == Describe {
		s.describe(e)
		return
	}
	number, ok := s.runs[e.Run]
	switch {
	case e.Op == End:
		delete(s.runs, e.Run)
		return
	case e.Op == Accept || e.Op == Reset: // each is a run of its own
		return
	case !ok:
		s.began++
		number = s.began
		s.runs[e.Run] = number
	}
	from := origin{e.Server, e.Config}
	h := s.heard[from]
	switch {
	case h == nil && e.Op == Enroll:
		h = &heard{live: newFold()}
		s.heard[from] = h
	case h == nil:
		return
	}
	switch {
	case e.Op == Enroll && h.run < number:
		h.run, h.live = number, newFold()
		fallthrough
	case e.Op == Enroll:
		h.at = e.At
	}
	if h.run == number && (e.Op == Enroll && !strings.HasPrefix(e.Note, noteSome) || e.Op == Retire && e.Note != NoteLost) {
		h.live.take(e)
		h.seen = false
	}
}

// describe takes a description: of a run that goes on, or with the tools of a server that a command saw.
func (s *State) describe(e Entry) {
	from := origin{e.Server, e.Config}
	h := s.heard[from]
	if h == nil {
		h = &heard{live: newFold()}
		s.heard[from] = h
	}
	if h.says, h.seen = &e, e.Note == noteSeen; h.seen {
		h.at = e.At
	}
}

// of is what was heard of a server last under its very configuration; nil: nothing.
func (s *State) of(server interop.Server) *heard {
	return s.heard[origin{server.ID, Fingerprint(server)}]
}

// Known is the warm start, for MountOptions.Known: what each server had in the newest
// run that heard it under this very configuration, or listed to a command since ([File.See]). What a server lost with its
// connection, or at the run's end, it is taken to have still; what it did not list
// any more, it has not.
func (s *State) Known(servers []interop.Server) func(server string) []toolbox.Wire {
	known := map[string][]toolbox.Wire{}
	for _, server := range servers {
		var tools []toolbox.Wire
		if h := s.of(server); h != nil && h.hasSeen() {
			tools = h.tools()
		} else if h != nil {
			for _, e := range h.live.entries() {
				if e.Capability != nil && len(e.Capability.Wire.JSON) > 0 {
					tools = append(tools, e.Capability.Wire)
				}
			}
		}
		known[server.ID] = tools
	}
	return func(server string) []toolbox.Wire { return known[server] }
}

// hasSeen reports whether the description has the tools that were listed last.
func (h *heard) hasSeen() bool {
	if !h.seen || h.says.Capability == nil {
		return false
	}
	_, ok := wire.Lookup(h.says.Capability.Wire.JSON, seenTools)
	return ok
}

// described is what each server said of itself last, under its very configuration.
func (s *State) described(servers []interop.Server) map[origin]json.RawMessage {
	out := map[origin]json.RawMessage{}
	for _, server := range servers {
		if h := s.of(server); h != nil && h.says != nil && h.says.Capability != nil && len(h.says.Capability.Wire.JSON) > 0 {
			out[origin{server.ID, Fingerprint(server)}] = withoutTools(h.says.Capability.Wire.JSON)
		}
	}
	return out
}

// entries is those of which the log has a text: what is live, and the description.
func (h *heard) entries() []Entry {
	if h.says == nil {
		return h.live.entries()
	}
	return append(slices.Clip(h.live.entries()), *h.says)
}

// Heard is when a server last listed something new under this very configuration; zero: never.
func (s *State) Heard(server interop.Server) time.Time {
	if h := s.of(server); h != nil {
		return h.at
	}
	return time.Time{}
}

// stateOf is the state of a log.
func stateOf(ctx context.Context, log Log, servers ...interop.Server) (*State, error) {
	if f, ok := log.(interface {
		State(context.Context, ...interop.Server) (*State, error)
	}); ok {
		return f.State(ctx, servers...)
	}
	entries, err := log.Read(ctx, 0)
	return StateOf(entries), err
}
