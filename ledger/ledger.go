package ledger

import (
	"encoding/json"
	"math"
	"time"

	"github.com/indusagi/indus/interop"
)

// Ledger is a log and what it comes to, as one value. Every transition gives a new
// one and leaves its receiver as it was. The zero Ledger is empty.
type Ledger struct {
	log      []Entry // never changed in place
	snapshot Snapshot
}

// Empty is a ledger in which nothing has happened. Its first entry will have the
// Seq 1.
func Empty() Ledger { return Ledger{} }

// FromLog is the ledger that has this log, in whatever order it is given. Entries
// go on one past its high-water mark.
func FromLog(entries []Entry) Ledger {
	log := append([]Entry(nil), sortedLog(entries)...)
	return Ledger{log: log, snapshot: Reduce(log)}
}

// Log is all entries, in order. Do not change it.
func (l Ledger) Log() []Entry { return l.log }

// Snapshot is what the log comes to: Reduce(l.Log()).
func (l Ledger) Snapshot() Snapshot { return l.snapshot }

// Next is the Seq of the next entry: one past the high-water mark.
func (l Ledger) Next() uint64 {
	if l.snapshot.HighWater == math.MaxUint64 {
		return math.MaxUint64 // a log that says so is broken, and no reason to begin anew
	}
	return l.snapshot.HighWater + 1
}

// Append is the ledger after these events, in their order. It gives each its Seq,
// and an Enroll without a key the [ContentKey] of its tool.
func (l Ledger) Append(entries ...Entry) Ledger {
	if len(entries) == 0 {
		return l
	}
	f := resume(l.snapshot)
	log := append(make([]Entry, 0, len(l.log)+len(entries)), l.log...)
	for _, e := range entries {
		if e.Op == Enroll && e.Key == "" {
			e.Key = e.contentKey()
		}
		e.Seq = Ledger{snapshot: Snapshot{HighWater: f.high}}.Next()
		f.take(e)
		log = append(log, e)
	}
	return Ledger{log: log, snapshot: f.snapshot()}
}

func (e Entry) contentKey() Key {
	var schema json.RawMessage
	if e.Capability != nil {
		schema = e.Capability.Schema
	}
	return ContentKey(interop.QualifiedName(e.Server, e.Tool), schema)
}

// Enroll is the ledger after these tools were enrolled under their content keys. A
// tool that is live under its key is replaced, and keeps its place.
func (l Ledger) Enroll(at time.Time, tools ...Capability) Ledger {
	entries := make([]Entry, len(tools))
	for i := range tools {
		entries[i] = tools[i].entry(Enroll, at)
	}
	return l.Append(entries...)
}

// Retire is the ledger after a key was retired. One that is not live is recorded
// all the same.
func (l Ledger) Retire(at time.Time, server string, key Key) Ledger {
	e := Entry{Op: Retire, Key: key, Server: server, At: at}
	for _, live := range l.snapshot.Live {
		if live.Key == key {
			e.Tool, e.Name = live.Tool, live.Name
		}
	}
	return l.Append(e)
}

// Withdraw is the ledger after all that is live of a server was retired.
func (l Ledger) Withdraw(at time.Time, server string) Ledger {
	var batch []Entry
	for _, e := range l.snapshot.Of(server) {
		batch = append(batch, e.retired(at, NoteRemoved))
	}
	return l.Append(batch...)
}

// retired is the Retire of a live entry.
func (e Entry) retired(at time.Time, why string) Entry {
	return Entry{Op: Retire, Key: e.Key, Server: e.Server, Tool: e.Tool, Name: e.Name, Config: e.Config, At: at, Note: why}
}

// Compact is the ledger without the entries that its snapshot does not need: of each
// live key the first and the newest enrollment stay, because of its place and of
// itself, and the newest entry of all, because of its number. The snapshot is the
// same.
func (l Ledger) Compact() Ledger {
	needed, last := map[Key][2]int{}, 0 // of each live key the first and the newest
	for i, e := range l.log {
		if e.Seq >= l.log[last].Seq {
			last = i
		}
		switch e.Op {
		case Enroll:
			place, ok := needed[e.Key]
			if !ok {
				place[0] = i
			}
			needed[e.Key] = [2]int{place[0], i}
		case Retire:
			delete(needed, e.Key)
		case End:
			clear(needed)
		}
	}
	var log []Entry
	for i, e := range l.log {
		place, ok := needed[e.Key]
		if i == last || ok && e.Op == Enroll && (i == place[0] || i == place[1]) {
			log = append(log, e)
		}
	}
	return Ledger{log: log, snapshot: l.snapshot}
}
