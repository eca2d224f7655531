package ledger

import (
	"cmp"
	"maps"
	"slices"
)

// Snapshot is what a log comes to: who is enrolled. It is shared: treat it and all
// it holds as read-only.
type Snapshot struct {
	// Live is the Enroll entry of each live tool, in the order in which their keys
	// came: one that is enrolled again keeps its place.
	Live []Entry
	// ByServer counts the live tools of each server that has any.
	ByServer map[string]int
	// HighWater is the highest Seq, 0 of an empty log.
	HighWater uint64
}

// Reduce is the one way from a log to a [Snapshot]. It is pure, defined for every
// log, and independent of the order of entries, for it goes by Seq. It takes them
// for one run's: [Runs] parts a log that many have written.
func Reduce(entries []Entry) Snapshot {
	f := resume(Snapshot{})
	for _, e := range sortedLog(entries) {
		f.take(e)
	}
	return f.snapshot()
}

// sortedLog is entries in the order of the log, entries itself where they are.
func sortedLog(entries []Entry) []Entry {
	if slices.IsSortedFunc(entries, Entry.order) {
		return entries
	}
	return slices.SortedFunc(slices.Values(entries), Entry.order)
}

// fold takes entries in the order of the log.
type fold struct {
	live  map[Key]placed
	count int // how many keys came
	high  uint64
}

// placed is a live entry, and when its key came.
type placed struct {
	Entry
	place int
}

// resume is the fold that gave s, to go on with.
func resume(s Snapshot) *fold {
	f := &fold{live: make(map[Key]placed, len(s.Live)), count: len(s.Live), high: s.HighWater}
	for i, e := range s.Live {
		f.live[e.Key] = placed{e, i}
	}
	return f
}

func (f *fold) take(e Entry) {
	f.high = max(f.high, e.Seq)
	switch e.Op {
	case Enroll:
		place := f.count
		if old, ok := f.live[e.Key]; ok {
			place = old.place
		}
		f.live[e.Key] = placed{e, place}
		f.count++
	case Retire:
		delete(f.live, e.Key)
	case End:
		clear(f.live)
	}
}

func (f *fold) snapshot() Snapshot {
	s := Snapshot{ByServer: map[string]int{}, HighWater: f.high}
	inOrder := slices.SortedFunc(maps.Values(f.live), func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	for _, p := range inOrder {
		s.Live = append(s.Live, p.Entry)
		s.ByServer[p.Server]++
	}
	return s
}

// Of is the live tools of one server.
func (s Snapshot) Of(server string) []Entry {
	var out []Entry
	for _, e := range s.Live {
		if e.Server == server {
			out = append(out, e)
		}
	}
	return out
}

// Names is what the live tools are mounted as, in order.
func (s Snapshot) Names() []string {
	out := make([]string, len(s.Live))
	for i, e := range s.Live {
		out[i] = e.Name
	}
	return out
}

// Capabilities is the live tools themselves, in order, but for those of which the
// log has kept no more than a sum.
func (s Snapshot) Capabilities() []Capability {
	out := make([]Capability, 0, len(s.Live))
	for _, e := range s.Live {
		if e.Capability != nil {
			out = append(out, *e.Capability)
		}
	}
	return out
}
