package ledger

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/indusagi/indus/toolbox"
)

// guard is the part of an attachment that holds the approved versions of tools. The attachment's mu guards it.
type guard struct {
	active     bool              // changed tools of some server are held or denied
	recorded   map[toolID]Entry  // held or denied tools that were recorded
	heldByName map[string]toolID // held or denied tools, by name
	approved   approvals
	// enrolling has the servers that this run enrolled. A server is removed when it lists more to clients that declare
	// a capability, because that list still belongs to its first listing.
	enrolling   map[origin]bool
	shared      sharedApprovals
	acceptCount int    // calls of Accept
	polled      uint64 // the number up to which the log was read
	sumCache    map[string]cachedSum
}

// cachedSum is a tool object and its sum.
type cachedSum struct {
	raw json.RawMessage
	sum string
}

// load takes the approvals of a log. s is nil if the log could not be read.
func (g *guard) load(s *State) {
	if s == nil {
		g.approved.enrolled[origin{}] = ""
		return
	}
	g.polled = s.high
	maps.Copy(g.approved.sums, s.approved.sums)
	maps.Copy(g.approved.beside, s.approved.beside)
	maps.Copy(g.approved.enrolled, s.approved.enrolled)
}

// sumOf returns the sum of a tool object. It computes the sum once for the same bytes.
func (g *guard) sumOf(d *toolbox.Descriptor) string {
	if known, ok := g.sumCache[d.Name]; ok && len(d.Wire.JSON) > 0 && bytes.Equal(known.raw, d.Wire.JSON) {
		return known.sum
	}
	c := newCapability(*d, nil)
	g.sumCache[d.Name] = cachedSum{d.Wire.JSON, sumOf(&c)}
	return g.sumCache[d.Name].sum
}

// isChanged reports whether a listed version is not approved. note is the note for its Enroll.
func (g *guard) isChanged(t toolID, sum, note string) bool {
	if _, known := g.approved.sums[t]; !known && note == noteDeclared && g.enrolling[origin{t.server, t.config}] {
		return false
	}
	return g.approved.isChanged(t, sum)
}

// enroll records that an entry enrolls its server.
func (g *guard) enroll(e Entry) {
	server := origin{e.Server, e.Config}
	if e.Note == noteDeclared {
		delete(g.enrolling, server)
	} else if !g.approved.isEnrolled(server) && !g.approved.isEnrolled(origin{}) {
		g.enrolling[server] = true
	}
	g.approved.add(e)
}

// addApprovals takes the approvals that other processes have written, and reports whether there are any. After an
// Accept of this process, which may not be in entries, the log is read again instead. A tool that is denied stays
// denied in this run.
func (g *guard) addApprovals(entries []Entry, accepts int, isDenied func(server string) bool) (news bool) {
	if g.acceptCount != accepts {
		return false
	}
	again := false
	for _, e := range entries {
		again = again || isDenied(e.Server) // another configuration may change the denial
		if !again {
			g.polled = e.Seq
		}
		if e.Tool == "" || e.Sum == "" || isDenied(e.Server) {
			continue
		}
		before := g.approved.sums[e.toolID()]
		g.approved.approve(e)
		news = news || g.approved.sums[e.toolID()] != before
	}
	return news
}
