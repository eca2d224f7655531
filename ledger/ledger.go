package ledger

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/indusagi/indus/interop/config"
)

// Ledger is a log and its snapshot, as one value. Every method returns a new ledger and leaves its receiver unchanged.
// The zero Ledger is empty: its first entry will have the Seq 1.
type Ledger struct {
	log      []Entry // never changed in place
	snapshot Snapshot
}

// FromLog returns the ledger of a log, which may be in any order. New entries follow its highest Seq.
func FromLog(entries []Entry) Ledger {
	log := append([]Entry(nil), sortedLog(entries)...)
	return Ledger{log: log, snapshot: Reduce(log)}
}

// Log returns all entries, in order. Do not change them.
func (l Ledger) Log() []Entry { return l.log }

// Snapshot returns the snapshot of the log: Reduce(l.Log()).
func (l Ledger) Snapshot() Snapshot { return l.snapshot }

// Next returns the Seq of the next entry: one above the highest.
func (l Ledger) Next() uint64 {
	if l.snapshot.HighWater == math.MaxUint64 {
		return math.MaxUint64 // such a log is broken, but that is no reason to begin anew
	}
	return l.snapshot.HighWater + 1
}

// Append returns the ledger after these events, in their order. It sets the Seq of each. It gives an Enroll without a
// key the [ContentKey] of its tool.
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
		f.apply(e)
		log = append(log, e)
	}
	return Ledger{log: log, snapshot: f.snapshot()}
}

func (e Entry) contentKey() Key {
	var schema json.RawMessage
	if e.Capability != nil {
		schema = e.Capability.Schema
	}
	return ContentKey(config.QualifiedName(e.Server, e.Tool), schema)
}

// Enroll returns the ledger after these tools were enrolled under their content keys. A tool that is live under its key
// is replaced, and keeps its place.
func (l Ledger) Enroll(at time.Time, tools ...Capability) Ledger {
	entries := make([]Entry, len(tools))
	for i := range tools {
		entries[i] = tools[i].entry(Enroll, at)
	}
	return l.Append(entries...)
}

// Retire returns the ledger after a key was retired. It records the Retire even if the key is not live.
func (l Ledger) Retire(at time.Time, server string, key Key) Ledger {
	e := Entry{Key: key, Server: server}
	if i := slices.IndexFunc(l.snapshot.Live, func(live Entry) bool { return live.Key == key }); i >= 0 {
		e = l.snapshot.Live[i]
	}
	return l.Append(e.retired(at, ""))
}

// Withdraw returns the ledger after all live tools of a server were retired.
func (l Ledger) Withdraw(at time.Time, server string) Ledger {
	var batch []Entry
	for _, e := range l.snapshot.Of(server) {
		batch = append(batch, e.retired(at, NoteRemoved))
	}
	return l.Append(batch...)
}

// retired returns the Retire of a live entry.
func (e Entry) retired(at time.Time, reason string) Entry {
	return Entry{
		Op: Retire, Key: e.Key, Server: e.Server, Tool: e.Tool, Name: e.Name,
		Config: e.Config, At: at, Note: reason,
	}
}

// Compact returns the ledger without the entries that its snapshot does not need. For each live key, the first
// enrollment (for its place) and the newest one stay. The newest entry of all stays for its number. The snapshot is the
// same.
func (l Ledger) Compact() Ledger {
	needed, last := map[Key][2]int{}, 0 // the first and the newest entry of each live key
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
