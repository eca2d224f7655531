package gateway

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/indusagi/indus/gateway/internal/methods"
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

// recordDescription writes the description of a server to the ledger, if it was written less than maxWrites times.
func (g *Gateway) recordDescription(server string, maxWrites int) {
	g.describeMu.Lock() // keeps descriptions in order; the calls below do not wait
	defer g.describeMu.Unlock()
	g.mu.Lock()
	d := g.descriptions[server]
	g.mu.Unlock()
	if d.capabilities == nil || d.written >= maxWrites {
		return
	}
	o := wire.Object{}.Raw("capabilities", d.capabilities).Text("instructions", d.instructions).Raw("info", d.info)
	lists := g.lists.encodeCommon(server, ledger.MaxDescription-len(o)-16)
	if g.attached.Describe(server, o.Raw("lists", slices.Concat([]byte("{"), lists, []byte("}"))).JSON()) {
		g.mu.Lock()
		d = g.descriptions[server]
		d.written++
		g.descriptions[server] = d
		g.mu.Unlock()
	}
}

// encodeCommon returns the lists of a server that all clients see, as members of an object of at most room bytes.
func (s *serverLists) encodeCommon(server string, room int) (b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range methods.Rows() {
		k := s.lists[listKey{server: server, method: row.Name}]
		if k == nil || k.private || k.last == nil || len(b)+k.last.length() > room {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(wire.AppendQuote(b, row.Name), ":["...)
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

// storedDescription returns the description of a server from its last connection, in this run or an earlier one. The
// first call also restores the server's lists.
func (g *Gateway) storedDescription(server string) serverDescription {
	g.mu.Lock()
	d, ok := g.descriptions[server]
	g.mu.Unlock()
	if ok {
		return d
	}
	raw, ok := g.attached.Described(server)
	if !ok { // the server is not attached, or not yet
		return serverDescription{}
	}
	d.capabilities, _ = wire.Lookup(raw, "capabilities")
	d.info, _ = wire.Lookup(raw, "info")
	instructions, _ := wire.Lookup(raw, "instructions")
	d.instructions, _ = wire.Unquote(instructions)
	lists, _ := wire.Lookup(raw, "lists")
	g.lists.restore(server, lists)
	g.mu.Lock()
	defer g.mu.Unlock()
	if now, ok := g.descriptions[server]; ok {
		return now
	}
	g.descriptions[server] = d
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
		if row == nil || row.Handler != methods.FromAll || err != nil {
			continue
		}
		if k := s.entry(listKey{server: server, method: row.Name}); k.last == nil && !k.private && k.reading == nil {
			k.last = &listing{rows: rows, size: len(m.Value), readAt: time.Now()}
		}
	}
}
