package lists

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// Beside the tools of a server, the ledger holds a description of the server, as one object:
//
//	{"capabilities":{…},"instructions":"…","info":{…},"lists":{"prompts/list":[rows],…}}
//
// Thus the lists of a lazy server are known while it does not run. Lists for one caller, or for clients that declare
// something, are not part of the description.

// Description is the description that a server gave when it was last connected.
type Description struct {
	Capabilities json.RawMessage // nil: the server was never connected
	Instructions string
	Info         json.RawMessage
	written      int // how often it was written to the ledger
}

// Store stores the description of a server, for the time when it is not connected and for the next run.
func (s *Cache) Store(server string) {
	d := s.Description(server)
	if d.Capabilities == nil {
		return
	}
	was := s.stored(server)
	s.mu.Lock()
	d.written = was.written
	s.descriptions[server] = d
	s.mu.Unlock()
	s.save(server, maxSaves)
}

// Description returns the description of a server: from its connection, or from its last one in this run or an earlier
// one.
func (s *Cache) Description(server string) Description {
	if e, err := s.o.Attached.Fleet.Endpoint(server, ""); err == nil {
		if caps := e.Capabilities(); caps != nil {
			return Description{Capabilities: caps, Instructions: e.Instructions(), Info: e.ServerInfo()}
		}
	}
	return s.stored(server)
}

// Declares reports whether a server declares the capability at a path of keys.
func (s *Cache) Declares(server string, path []string) bool {
	return protocol.Has(s.Description(server).Capabilities, path)
}

// mayDeclare reports the same as Declares, but true for a server without a description.
func (s *Cache) mayDeclare(server string, path []string) bool {
	d := s.Description(server)
	return d.Capabilities == nil || protocol.Has(d.Capabilities, path)
}

// Down returns a function that reports whether a server has nothing to show: it is not connected, and its lists are
// withdrawn. A server that has not answered yet shows the lists from the ledger.
func (s *Cache) Down() func(server string) bool {
	now := s.o.Attached.Fleet.Snapshot("")
	return func(server string) bool {
		if !slices.ContainsFunc(now.Down, func(d toolbox.Down) bool { return d.Server == server }) {
			return false
		}
		e, err := s.o.Attached.Fleet.Endpoint(server, "")
		return err != nil || !e.Phase().Usable()
	}
}

// IsPending reports whether a server has neither answered nor failed in this run.
func (s *Cache) IsPending(server string) bool {
	return slices.Contains(s.o.Attached.Fleet.Snapshot("").Pending, server)
}

// LogOnce logs that an entry of a server's list is left out, and the reason. It logs each note once. caller is the
// principal that the list is for, or "" if the list is for all.
func (s *Cache) LogOnce(server string, caller toolbox.Principal, reason string) {
	s.mu.Lock()
	key := server + "\x00" + string(caller) + "\x00" + reason
	logged := s.loggedNotes[key]
	if len(s.loggedNotes) >= maxLoggedNotes {
		clear(s.loggedNotes)
	}
	s.loggedNotes[key] = true
	s.mu.Unlock()
	if !logged && s.o.Logger != nil {
		s.o.Logger.Warn("a list is not complete", "server", server, "caller", caller, "why", reason)
	}
}

// maxLoggedNotes bounds the notes that are remembered as logged.
const maxLoggedNotes = 1000

// AwaitAnswer waits until a server has answered or failed once, or until ctx ends.
func (s *Cache) AwaitAnswer(ctx context.Context, server string) {
	defer s.o.Waits(ctx)()
	watch.Until(ctx, s.o.Attached.Fleet.Watch, func() bool { return !s.IsPending(server) })
}

// maxSaves bounds how often a description is written in one run, because a server may list something else each time.
const maxSaves = 8

// Save writes the description of a server to the ledger, at the end of the run.
func (s *Cache) Save(server string) { s.save(server, maxSaves+1) }

// save writes the description of a server to the ledger, if it was written less than most times.
func (s *Cache) save(server string, most int) {
	s.saveMu.Lock() // keeps descriptions in order; the calls below do not wait
	defer s.saveMu.Unlock()
	s.mu.Lock()
	d := s.descriptions[server]
	s.mu.Unlock()
	if d.Capabilities == nil || d.written >= most {
		return
	}
	o := wire.Object{}.Raw("capabilities", d.Capabilities).Text("instructions", d.Instructions).Raw("info", d.Info)
	lists := s.encodeCommon(server, ledger.MaxDescription-len(o)-16)
	if s.o.Attached.Describe(server, o.Raw("lists", slices.Concat([]byte("{"), lists, []byte("}"))).JSON()) {
		s.mu.Lock()
		d = s.descriptions[server]
		d.written++
		s.descriptions[server] = d
		s.mu.Unlock()
	}
}

// encodeCommon returns the lists of a server that all clients see, as members of an object of at most room bytes.
func (s *Cache) encodeCommon(server string, room int) (b []byte) {
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
		for i, raw := range k.last.Rows {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, raw...)
		}
		b = append(b, ']')
	}
	return b
}

// stored returns the description of a server from its last connection, in this run or an earlier one. The
// first call also restores the server's lists.
func (s *Cache) stored(server string) Description {
	s.mu.Lock()
	d, ok := s.descriptions[server]
	s.mu.Unlock()
	if ok {
		return d
	}
	raw, ok := s.o.Attached.Described(server)
	if !ok { // the server is not attached, or not yet
		return Description{}
	}
	d.Capabilities, _ = wire.Lookup(raw, "capabilities")
	d.Info, _ = wire.Lookup(raw, "info")
	instructions, _ := wire.Lookup(raw, "instructions")
	d.Instructions, _ = wire.Unquote(instructions)
	lists, _ := wire.Lookup(raw, "lists")
	s.restore(server, lists)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, ok := s.descriptions[server]; ok {
		return now
	}
	s.descriptions[server] = d
	return d
}

// restore fills the cache with the lists of an earlier run, where it has none.
func (s *Cache) restore(server string, lists json.RawMessage) {
	members, _ := wire.Members(lists)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		row := s.o.Table[m.Key]
		rows, err := wire.Elements(m.Value)
		if row == nil || row.Handler != methods.FromAll || err != nil {
			continue
		}
		if k := s.entry(listKey{server: server, method: row.Name}); k.last == nil && !k.private && k.reading == nil {
			k.last = &Listing{Rows: rows, size: len(m.Value), ReadAt: time.Now()}
		}
	}
}
