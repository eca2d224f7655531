package gateway

import (
	"encoding/json"
	"time"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/ledger"
)

// The ledger has beside a server's tools what else it says of itself, as one object:
//
//	{"capabilities":{…},"instructions":"…","info":{…},"lists":{"prompts/list":[rows],…}}
//
// So what a lazy server has is known while it does not run. What is listed to one caller, or to clients that declare
// something, is not in it.

// maxDescribed bounds how often a server's is written in one run, but for the last time, at its end: a server may list something
// else each time.
const maxDescribed = 8

// describe writes to the ledger what a server says of itself, if that was written less than most times.
func (g *Gateway) describe(server string, most int) {
	g.describing.Lock() // else an older description is written after a newer one; neither of what is called here waits
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

// toKeep is the lists of a server that all see, as members of an object of so many bytes: what has no room is left out.
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

// recall is what a server said of itself when it was connected last, in this run or an earlier one, with which its lists then begin.
func (g *Gateway) recall(server string) declared {
	g.mu.Lock()
	d, ok := g.known[server]
	g.mu.Unlock()
	if ok {
		return d
	}
	raw, ok := g.attached.Described(server)
	if !ok { // nor is it known yet what is known of it
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

// restore begins with what a server listed in an earlier run.
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
