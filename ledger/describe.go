package ledger

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// MaxDescription is the largest description of a server that is stored, in bytes.
const MaxDescription = 512 << 10

// describeFormat is the format of a description's object.
const describeFormat = "indus/description"

// Describe stores the description of a server: one JSON object of at most [MaxDescription], also in the log. Only its
// writer knows its meaning. If the description is not new, nothing happens, and news is false. Describe never waits.
// The caller limits how often it is called.
func (a *Attachment) Describe(server string, description json.RawMessage) (news bool) {
	from, ok := a.originOf(server)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !ok || len(description) > MaxDescription || a.closed || a.pending {
		return false
	}
	if bytes.Equal(a.journal.descriptions[from], description) {
		return false
	}
	a.journal.descriptions[from] = description
	c := &Capability{Server: server, Wire: toolbox.Wire{Format: describeFormat, JSON: description}}
	a.journal.commit(Entry{Op: Describe, Server: server, Config: from.config, Capability: c, At: time.Now()})
	return true
}

// Described returns the description that [Attachment.Describe] got last for a server under this configuration, in this
// run or an earlier one. It returns nil if there is none. ok is false if the server does not exist, or does not exist
// yet.
func (a *Attachment) Described(server string) (description json.RawMessage, ok bool) {
	from, ok := a.originOf(server)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.journal.descriptions[from], ok
}

// originOf returns a server with its present configuration. It returns false if there is none.
func (a *Attachment) originOf(id string) (origin, bool) {
	s, ok := a.Fleet.Server(id)
	return origin{id, Fingerprint(s)}, ok
}
