package ledger

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// State is what a log says of servers that did not answer yet: which versions of their tools are approved, and what
// each listed last. It is a pure function of the log.
type State struct {
	approved approvals
	high     uint64
	heard    map[origin]*heard
}

// origin is a server under one configuration.
type origin struct{ server, config string }

// heard is what a server listed in the newest run that enrolled a tool of it.
type heard struct {
	at       time.Time // of the last Enroll, in any run
	enrolled Entry     // the last Enroll of that run
	events   []Entry   // of that run, without what was lost with its connection: that may be back
	says     *Entry    // the last Describe, of any run; nil: there is none
	seen     bool      // says has the tools, as a command saw them after events
}

// StateOf is the state after these entries.
func StateOf(entries []Entry) *State {
	entries = sortedLog(entries)
	s := &State{approved: approvalsOf(entries), heard: heardIn(Runs(entries))}
	for _, e := range entries {
		s.high = e.Seq
		if from := (origin{e.Server, e.Config}); e.Op == Describe && s.heard[from] != nil {
			s.heard[from].says = &e
		} else if e.Op == Describe {
			s.heard[from] = &heard{says: &e}
		}
	}
	for _, h := range s.heard {
		h.see()
	}
	return s
}

// heardIn returns what each server listed in the newest of the runs that enrolled tools of it.
func heardIn(runs []Run) map[origin]*heard {
	newest := map[origin]*heard{}
	for _, r := range runs {
		own := map[origin]*heard{}
		for _, e := range r.Entries {
			from := origin{e.Server, e.Config}
			if own[from] == nil && e.Op == Enroll {
				own[from] = &heard{}
			}
			if h := own[from]; h != nil {
				h.take(e)
			}
		}
		for from, h := range own {
			h.at = h.enrolled.At
			if old := newest[from]; old != nil && old.at.After(h.at) {
				h.at = old.at
			}
			newest[from] = h
		}
	}
	return newest
}

func (h *heard) take(e Entry) {
	if e.Op == Enroll {
		h.enrolled = e
	}
	if e.Op == Enroll && !strings.HasPrefix(e.Note, noteSome) || e.Op == Retire && e.Note != NoteLost {
		h.events = append(h.events, e)
	}
}

// see goes by the description, if it has the tools that a command saw after events.
func (h *heard) see() {
	n := len(h.events)
	h.seen = h.says != nil && h.says.Note == noteSeen && (n == 0 || h.events[n-1].Seq < h.says.Seq)
	if h.seen && h.says.At.After(h.at) {
		h.at = h.says.At
	}
}

// of is what was heard of a server last under its very configuration; nil: nothing.
func (s *State) of(server interop.Server) *heard {
	return s.heard[origin{server.ID, Fingerprint(server)}]
}

// Known is the warm start, for MountOptions.Known: what each server had in the newest run that heard it under this very
// configuration, or listed to a command since ([File.See]). What a server lost with its connection, or at the run's
// end, it is taken to have still; what it did not list any more, it has not.
func (s *State) Known(servers []interop.Server) func(server string) []toolbox.Wire {
	known := map[string][]toolbox.Wire{}
	for _, server := range servers {
		var tools []toolbox.Wire
		if h := s.of(server); h != nil && h.hasSeen() {
			tools = h.tools()
		} else if h != nil {
			for _, e := range Reduce(h.events).Live {
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

// Heard is when a server last listed something new under this very configuration; zero: never.
func (s *State) Heard(server interop.Server) time.Time {
	if h := s.of(server); h != nil {
		return h.at
	}
	return time.Time{}
}
