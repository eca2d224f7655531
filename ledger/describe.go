package ledger

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// MaxDescription is the largest description of a server that is kept, in bytes.
const MaxDescription = 512 << 10

// describeFormat is the format of a description's object.
const describeFormat = "indus/description"

// Describe keeps what a server says of itself and lists beside its tools, in the log too: one JSON object of at most
// [MaxDescription], which means something to its writer alone. It reports whether that is news; else nothing happens. It never
// waits, and how often it is called is the caller's to bound.
func (a *Attachment) Describe(server string, description json.RawMessage) (news bool) {
	from, ok := a.originOf(server)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !ok || len(description) > MaxDescription || a.closed || a.pending || bytes.Equal(a.journal.says[from], description) {
		return false
	}
	a.journal.says[from] = description
	c := &Capability{Server: server, Wire: toolbox.Wire{Format: describeFormat, JSON: description}}
	a.journal.commit(Entry{Op: Describe, Server: server, Config: from.config, Capability: c, At: time.Now()})
	return true
}

// Described is what [Attachment.Describe] was given of a server last under its very configuration, by this run or an earlier one;
// nil: nothing. ok is false where there is no such server, or not yet.
func (a *Attachment) Described(server string) (description json.RawMessage, ok bool) {
	from, ok := a.originOf(server)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.journal.says[from], ok
}

// originOf is a server as it is configured now; false: there is none.
func (a *Attachment) originOf(id string) (origin, bool) {
	for _, s := range a.Fleet.Servers() {
		if s.ID == id {
			return origin{id, Fingerprint(s)}, true
		}
	}
	return origin{}, false
}
