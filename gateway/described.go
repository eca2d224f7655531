package gateway

import (
	"encoding/json"
	"time"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/ledger"
)

// Beside the tools of a server, the ledger holds a description of the server, as one object:
//
//	{"capabilities":{…},"instructions":"…","info":{…},"lists":{"prompts/list":[rows],…}}
//
// Thus the lists of a lazy server are known while it does not run. Lists for one caller, or for clients that declare
// something, are not part of the description.

// maxDescribed bounds how often a description is written in one run, because a server may list something else each
// time. The last write, at the end of the run, is always possible.
const maxDescribed = 8

// describe writes the description of a server to the ledger, if it was written less than most times.
func (g *Gateway) describe(server string, most int) {
	g.describing.Lock() // keeps descriptions in order; the calls below do not wait
	defer g.describing.Unlock()
	g.mu.Lock()
	d := g.known[server]
	g.mu.Unlock()
	if d.capabilities == nil || d.written >= most {
		return
	}
	b := append([]byte(`{"capabilities":`), d.capabilities...)
	if d.instructions != "" {
		b = append(append(b, `,"instructions":`...), wire.Quote(d.instructions)...)
	}
	if d.info != nil {
		b = append(append(b, `,"info":`...), d.info...)
	}
	b = append(append(append(b, `,"lists":{`...), g.lists.toKeep(server, ledger.MaxDescription-len(b)-16)...), "}}"...)
	if g.attached.Describe(server, b) {
		g.mu.Lock()
		d = g.known[server]
		d.written++
		g.known[server] = d
		g.mu.Unlock()
	}
}

// toKeep returns the lists of a server that all clients see, as members of an object of at most room bytes.
func (s *serverLists) toKeep(server string, room int) (b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range methods() {
		k := s.lists[listKey{server: server, method: row.name}]
		if k == nil || k.private || k.last == nil || len(b)+k.last.length() > room {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(wire.AppendQuote(b, row.name), ":["...)
		for i, raw := range k.last.rows {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, raw...)
		}
		b = append(b, ']')
	}
	return b
}

// recall returns the description of a server from its last connection, in this run or an earlier one. The first call
// also restores the server's lists.
func (g *Gateway) recall(server string) declared {
	g.mu.Lock()
	d, ok := g.known[server]
	g.mu.Unlock()
	if ok {
		return d
	}
	raw, ok := g.attached.Described(server)
	if !ok { // the server is not attached, or not yet
		return declared{}
	}
	d.capabilities, _ = wire.Lookup(raw, "capabilities")
	d.info, _ = wire.Lookup(raw, "info")
	says, _ := wire.Lookup(raw, "instructions")
	d.instructions, _ = wire.Unquote(says)
	lists, _ := wire.Lookup(raw, "lists")
	g.lists.restore(server, lists)
	g.mu.Lock()
	defer g.mu.Unlock()
	if now, ok := g.known[server]; ok {
		return now
	}
	g.known[server] = d
	return d
}

// restore fills the cache with the lists of an earlier run, where it has none.
func (s *serverLists) restore(server string, lists json.RawMessage) {
	members, _ := wire.Members(lists)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		row := s.gateway.table[m.Key]
		rows, err := wire.Elements(m.Value)
		if row == nil || row.does != fromAll || err != nil {
			continue
		}
		if k := s.keyed(listKey{server: server, method: row.name}); k.last == nil && !k.private && k.asking == nil {
			k.last = &listing{rows: rows, size: len(m.Value), at: time.Now()}
		}
	}
}
