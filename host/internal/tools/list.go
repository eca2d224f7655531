package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// maxCachedLists bounds the principals with a cached list.
const maxCachedLists = 16

const (
	// largeList is the size of a list, in bytes, from which on memory is returned to the system. The list's servers and
	// its rendering leave several times its size as garbage, which the runtime would keep for minutes.
	largeList    = 1 << 20
	releaseDelay = 2 * time.Second // waits for more lists
)

// toolList is one snapshot in the form in which tools/list publishes it.
type toolList struct {
	snapshot *toolbox.Snapshot
	legacy   *protocol.List // in the form that legacy clients can read
	modern   *protocol.List
	headers  map[string][]protocol.ParamHeader // by published name; nil if no tool has any
}

// list returns the list that p is shown now. It is rendered once for each snapshot.
func (t *Backend) list(p toolbox.Principal) *toolList {
	s := t.src.Snapshot(p)
	t.mu.Lock()
	l := t.cachedList(p, s)
	t.mu.Unlock()
	if l != nil {
		return l
	}
	rendered := t.render(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(rendered.modern.Result) > largeList {
		if t.release != nil {
			t.release.Stop()
		}
		t.release = time.AfterFunc(releaseDelay, debug.FreeOSMemory)
	}
	if l := t.cachedList(p, s); l != nil {
		return l
	}
	t.cacheList(p, rendered)
	return rendered
}

// cachedList returns the cached list of a snapshot, and makes it the list of p. Call it with mu held.
func (t *Backend) cachedList(p toolbox.Principal, s *toolbox.Snapshot) *toolList {
	for _, l := range t.lists {
		if l.snapshot == s {
			t.cacheList(p, l)
			return l
		}
	}
	return nil
}

// cacheList replaces p's cached list. If there are too many principals, all other lists are evicted. Call it with mu
// held.
func (t *Backend) cacheList(p toolbox.Principal, l *toolList) {
	if _, known := t.lists[p]; t.lists == nil || !known && len(t.lists) >= maxCachedLists {
		t.lists = map[toolbox.Principal]*toolList{}
	}
	t.lists[p] = l
}

func (t *Backend) render(s *toolbox.Snapshot) *toolList {
	l := &toolList{snapshot: s}
	var names []string
	var legacy, modern [][]byte
	seen := make(map[string]bool, len(s.Tools))
	ids := outputIDs{}
	differ := false
	for i := range s.Tools {
		d := &s.Tools[i]
		if seen[d.Name] {
			continue
		}
		forModern, err := t.publish(d)
		forLegacy := forModern
		if err == nil && !t.opts.Exact {
			raw := forModern
			var flaws []protocol.Flaw
			forLegacy, flaws = protocol.Mend(raw, true)
			if len(flaws) > 0 {
				forModern, _ = protocol.Mend(raw, false)
				differ = differ || !bytes.Equal(forLegacy, forModern)
			}
			if forLegacy == nil || forModern == nil {
				err = errors.New(flaws[0].Why)
			} else if ids.conflicts(raw) {
				forLegacy, forModern = wire.Without(forLegacy, "outputSchema"), wire.Without(forModern, "outputSchema")
				t.opts.Logger.Warn("an output schema is not published: another tool's has its $id",
					"tool", d.Name, "server", d.Server)
			}
		}
		schema, _ := wire.Lookup(forModern, "inputSchema")
		if reason := protocol.Unpublishable(schema); err == nil && reason != "" {
			err = errors.New(reason)
		}
		if err != nil {
			t.opts.Logger.Warn("a tool is not published", "tool", d.Name, "server", d.Server, "reason", err.Error())
			continue
		}
		seen[d.Name] = true
		names = append(names, d.Name)
		legacy = append(legacy, forLegacy)
		modern = append(modern, forModern)
		if params, err := protocol.ParamHeaders(schema); err == nil && len(params) > 0 {
			if l.headers == nil {
				l.headers = map[string][]protocol.ParamHeader{}
			}
			l.headers[d.Name] = params
		}
	}
	caching := cachingOf(s)
	l.modern = protocol.NewList("tools", names, modern, caching...)
	l.legacy = l.modern
	if differ {
		l.legacy = protocol.NewList("tools", names, legacy, caching...)
	}
	return l
}

// publish returns a tool unchanged except for its published name.
func (t *Backend) publish(d *toolbox.Descriptor) ([]byte, error) {
	schema := d.Schema
	if t.opts.Parameters && d.Parameters != nil {
		schema = d.Parameters
	}
	if schema == nil && d.Wire.IsZero() {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	if !wire.Valid(schema) || !utf8.Valid(schema) {
		return nil, errors.New("its input schema is not valid JSON in UTF-8")
	}
	if !isMCP(d.Wire) {
		return encodeLocal(d, schema), nil
	}
	if !wire.Valid(d.Wire.JSON) || !utf8.Valid(d.Wire.JSON) {
		return nil, errors.New("it is not valid JSON in UTF-8")
	}
	edits := []wire.Edit{{Key: "name", Value: wire.Quote(d.Name)}}
	if t.opts.Parameters && d.Parameters != nil {
		edits = append(edits, wire.Edit{Key: "inputSchema", Value: schema})
	}
	return wire.Rewrite(d.Wire.JSON, edits...)
}

// encodeLocal returns the tool object of a tool that belongs to no server.
func encodeLocal(d *toolbox.Descriptor, schema json.RawMessage) []byte {
	var hints []byte
	if d.Annotations != nil {
		hints, _ = json.Marshal(d.Annotations) // booleans can always be encoded
	}
	return wire.Object{}.Raw("name", wire.Quote(d.Name)).Text("title", d.Title).Text("description", d.Description).
		Raw("inputSchema", schema).Raw("outputSchema", d.Output).Raw("annotations", hints).JSON()
}

// isMCP reports whether a wire is in MCP's own grammar.
func isMCP(w toolbox.Wire) bool { return strings.HasPrefix(w.Format, "mcp/") }

// outputIDs maps the $id of an output schema to the schema. Some clients compile all output schemas with one validator,
// for example clients of the TypeScript SDK. Such a client uses the first schema of an id for every later one. Then the
// schema of one server would decide about the results of another.
type outputIDs map[string]string

// conflicts reports whether another tool has a different output schema with the same $id.
func (ids outputIDs) conflicts(tool json.RawMessage) bool {
	schema, _ := wire.Lookup(tool, "outputSchema")
	id, ok := protocol.LookupString(schema, "$id")
	if !ok {
		return false
	}
	id = strings.TrimRight(id, "#")
	if previous, known := ids[id]; known {
		return previous != string(schema)
	}
	ids[id] = string(schema)
	return false
}

// cachingOf returns the members with the time and the scope for which a list may be cached (2026-07-28,
// server/utilities/caching). The time is the shortest that a server allows. While a server has not answered yet, the
// list may not be cached.
func cachingOf(s *toolbox.Snapshot) (members []string) {
	owners := shownOwners(s)
	ttl, known := time.Duration(0), len(owners) > 0 && len(s.Pending) == 0
	for i, o := range owners {
		if i == 0 || o.TTL < ttl {
			ttl = o.TTL
		}
		if o.Private && members == nil {
			members = append(members, `"cacheScope":"private"`)
		}
	}
	if known && ttl > 0 {
		members = append(members, fmt.Sprintf(`"ttlMs":%d`, ttl.Milliseconds()))
	}
	return members
}

// shownOwners returns the owners with at least one visible tool. Caching hints and instructions of other owners do not
// matter, and may be the reason why their tools are held.
func shownOwners(s *toolbox.Snapshot) []toolbox.Owner {
	shown := map[string]bool{}
	for i := range s.Tools {
		shown[s.Tools[i].Server] = true
	}
	return slices.DeleteFunc(slices.Clone(s.Owners), func(o toolbox.Owner) bool { return !shown[o.Server] })
}

// instructionsOf returns the instructions of the servers that have answered so far.
func instructionsOf(s *toolbox.Snapshot) string {
	var all []protocol.ServerInstructions
	for _, o := range shownOwners(s) {
		all = append(all, protocol.ServerInstructions{
			Server: o.Server, Kind: "tools", Prefix: o.Prefix, Text: o.Instructions,
		})
	}
	return protocol.JoinInstructions(all)
}
