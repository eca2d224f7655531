package ledger

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// State is the knowledge that a log has about servers that did not answer yet: the approved versions of their tools,
// and the last list of each server. It is a pure function of the log.
type State struct {
	approved  approvals
	high      uint64
	histories map[origin]*serverHistory
}

// origin is a server under one configuration.
type origin struct{ server, config string }

// serverHistory is the list of a server in the newest run that enrolled one of its tools.
type serverHistory struct {
	lastListed  time.Time // of the last Enroll, in any run
	enrolled    Entry     // the last Enroll of that run
	events      []Entry   // of that run, except tools lost with a connection: these may be back
	description *Entry    // the last Describe, of any run; nil: there is none
	seenLater   bool      // says has the tools, as a command saw them after events
}

// StateOf returns the state after these entries.
func StateOf(entries []Entry) *State {
	entries = sortedLog(entries)
	s := &State{approved: approvalsOf(entries), histories: newestHistories(Runs(entries))}
	for _, e := range entries {
		s.high = e.Seq
		if from := (origin{e.Server, e.Config}); e.Op == Describe && s.histories[from] != nil {
			s.histories[from].description = &e
		} else if e.Op == Describe {
			s.histories[from] = &serverHistory{description: &e}
		}
	}
	for _, h := range s.histories {
		h.markSeen()
	}
	return s
}

// newestHistories returns the list of each server in the newest run that enrolled tools of it.
func newestHistories(runs []Run) map[origin]*serverHistory {
	newest := map[origin]*serverHistory{}
	for _, r := range runs {
		own := map[origin]*serverHistory{}
		for _, e := range r.Entries {
			from := origin{e.Server, e.Config}
			if own[from] == nil && e.Op == Enroll {
				own[from] = &serverHistory{}
			}
			if h := own[from]; h != nil {
				h.add(e)
			}
		}
		for from, h := range own {
			h.lastListed = h.enrolled.At
			if old := newest[from]; old != nil && old.lastListed.After(h.lastListed) {
				h.lastListed = old.lastListed
			}
			newest[from] = h
		}
	}
	return newest
}

func (h *serverHistory) add(e Entry) {
	if e.Op == Enroll {
		h.enrolled = e
	}
	if e.Op == Enroll && !strings.HasPrefix(e.Note, noteDeclared) || e.Op == Retire && e.Note != NoteLost {
		h.events = append(h.events, e)
	}
}

// markSeen uses the description if it has tools that a command saw after events.
func (h *serverHistory) markSeen() {
	n := len(h.events)
	h.seenLater = h.description != nil && h.description.Note == noteSeen &&
		(n == 0 || h.events[n-1].Seq < h.description.Seq)
	if h.seenLater && h.description.At.After(h.lastListed) {
		h.lastListed = h.description.At
	}
}

// historyOf returns the knowledge about a server under this configuration, or nil.
func (s *State) historyOf(server config.Server) *serverHistory {
	return s.histories[origin{server.ID, Fingerprint(server)}]
}

// Known returns a function for MountOptions.Known, for a warm start. It returns the tools of a server in the newest run
// under this configuration, or the tools that a command saw since ([File.See]). Tools that were lost with the
// connection, or at the end of the run, are included. Tools that the server no longer listed are not.
func (s *State) Known(servers []config.Server) func(server string) []toolbox.Wire {
	known := map[string][]toolbox.Wire{}
	for _, server := range servers {
		if h := s.historyOf(server); h != nil {
			known[server.ID] = h.tools()
		}
	}
	return func(server string) []toolbox.Wire { return known[server] }
}

// descriptionJSON returns the object of the last description, or nil if there is none. h may be nil.
func (h *serverHistory) descriptionJSON() json.RawMessage {
	if h == nil || h.description == nil || h.description.Capability == nil {
		return nil
	}
	return h.description.Capability.Wire.JSON
}

// descriptions returns the last description of each server under its present configuration, without the tools that a
// command saw.
func (s *State) descriptions(servers []config.Server) map[origin]json.RawMessage {
	out := map[origin]json.RawMessage{}
	for _, server := range servers {
		if raw := s.historyOf(server).descriptionJSON(); len(raw) > 0 {
			out[origin{server.ID, Fingerprint(server)}] = wire.Without(wire.Without(raw, seenTools), seenFormat)
		}
	}
	return out
}

// Heard returns the time at which a server last listed something new under this configuration. It is zero if it never
// did.
func (s *State) Heard(server config.Server) time.Time {
	if h := s.historyOf(server); h != nil {
		return h.lastListed
	}
	return time.Time{}
}
