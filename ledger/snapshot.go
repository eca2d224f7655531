package ledger

import (
	"cmp"
	"maps"
	"slices"
)

// Snapshot is the state that a log leads to: the enrolled tools. It is shared. Treat it and its contents as read-only.
type Snapshot struct {
	// Live holds the Enroll entry of each live tool, in the order in which their keys came. A tool that is enrolled
	// again keeps its place.
	Live []Entry
	// ByServer counts the live tools of each server that has any.
	ByServer map[string]int
	// HighWater is the highest Seq, or 0 for an empty log.
	HighWater uint64
}

// Reduce folds a log to a [Snapshot], and is the only function that does. It is pure, and defined for every log. It
// does not depend on the order of entries, because it sorts them by Seq. It treats all entries as one run: [Runs]
// splits a log of several runs.
func Reduce(entries []Entry) Snapshot {
	f := resume(Snapshot{})
	for _, e := range sortedLog(entries) {
		f.apply(e)
	}
	return f.snapshot()
}

// sortedLog returns the entries in the order of the log. It returns entries itself if they are sorted.
func sortedLog(entries []Entry) []Entry {
	if slices.IsSortedFunc(entries, Entry.order) {
		return entries
	}
	return slices.SortedFunc(slices.Values(entries), Entry.order)
}

// fold takes entries in the order of the log.
type fold struct {
	live  map[Key]placedEntry
	count int // number of keys that came
	high  uint64
}

// placedEntry is a live entry with its place, by the time at which its key came.
type placedEntry struct {
	Entry
	place int
}

// resume returns a fold that continues from s.
func resume(s Snapshot) *fold {
	f := &fold{live: make(map[Key]placedEntry, len(s.Live)), count: len(s.Live), high: s.HighWater}
	for i, e := range s.Live {
		f.live[e.Key] = placedEntry{e, i}
	}
	return f
}

func (f *fold) apply(e Entry) {
	f.high = max(f.high, e.Seq)
	switch e.Op {
	case Enroll:
		place := f.count
		if old, ok := f.live[e.Key]; ok {
			place = old.place
		}
		f.live[e.Key] = placedEntry{e, place}
		f.count++
	case Retire:
		delete(f.live, e.Key)
	case End:
		clear(f.live)
	}
}

func (f *fold) snapshot() Snapshot {
	s := Snapshot{ByServer: map[string]int{}, HighWater: f.high}
	inOrder := slices.SortedFunc(maps.Values(f.live), func(a, b placedEntry) int { return cmp.Compare(a.place, b.place) })
	for _, p := range inOrder {
		s.Live = append(s.Live, p.Entry)
		s.ByServer[p.Server]++
	}
	return s
}

// Of returns the live tools of one server.
func (s Snapshot) Of(server string) []Entry {
	var out []Entry
	for _, e := range s.Live {
		if e.Server == server {
			out = append(out, e)
		}
	}
	return out
}

// Names returns the names under which the live tools are mounted, in order.
func (s Snapshot) Names() []string {
	out := make([]string, len(s.Live))
	for i, e := range s.Live {
		out[i] = e.Name
	}
	return out
}

// Capabilities returns the live tools, in order. It omits tools of which the log has only a sum.
func (s Snapshot) Capabilities() []Capability {
	out := make([]Capability, 0, len(s.Live))
	for _, e := range s.Live {
		if e.Capability != nil {
			out = append(out, *e.Capability)
		}
	}
	return out
}
