package ledger

import "slices"

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
	f := newFold()
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

// fold takes entries in the order of the log. Retired places are kept empty until
// there are too many of them, so that each step is cheap.
type fold struct {
	live []Entry // retired: Op is ""
	at   map[Key]int
	gone int
	high uint64
}

func newFold() *fold { return &fold{at: map[Key]int{}} }

// entries is what is live.
func (f *fold) entries() []Entry {
	f.close()
	return f.live
}

// resume is the fold that gave s, to go on with.
func resume(s Snapshot) *fold {
	f := &fold{live: slices.Clone(s.Live), at: make(map[Key]int, len(s.Live)), high: s.HighWater}
	for i, e := range s.Live {
		f.at[e.Key] = i
	}
	return f
}

func (f *fold) take(e Entry) {
	f.high = max(f.high, e.Seq)
	switch e.Op {
	case Enroll:
		if i, ok := f.at[e.Key]; ok {
			f.live[i] = e
			return
		}
		f.at[e.Key] = len(f.live)
		f.live = append(f.live, e)
	case Retire:
		if i, ok := f.at[e.Key]; ok {
			delete(f.at, e.Key)
			f.live[i] = Entry{}
			if f.gone++; f.gone >= 32 && f.gone*2 >= len(f.live) {
				f.close()
			}
		}
	case End:
		clear(f.at)
		f.live, f.gone = nil, 0
	}
}

// close closes the gaps.
func (f *fold) close() {
	if f.gone == 0 {
		return
	}
	f.live, f.gone = slices.DeleteFunc(f.live, func(e Entry) bool { return e.Op == "" }), 0
	for i, e := range f.live {
		f.at[e.Key] = i
	}
}

func (f *fold) snapshot() Snapshot {
	s := Snapshot{Live: slices.Clip(f.entries()), ByServer: map[string]int{}, HighWater: f.high}
	for _, e := range s.Live {
		s.ByServer[e.Server]++
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
