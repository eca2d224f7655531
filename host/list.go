package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// maxKept bounds the principals whose listings are kept.
const maxKept = 16

const (
	// largeList is from which size on, in bytes, a list is worth a collection: what its servers and
	// its rendering took is garbage, of several times its size, that the runtime would keep for minutes.
	largeList    = 1 << 20
	releaseDelay = 2 * time.Second // more lists may be on their way
)

// toolList is one snapshot as tools/list publishes it.
type toolList struct {
	snapshot *toolbox.Snapshot
	names    []string
	legacy   eraList
	modern   eraList
	caching  []string                          // members of the result
	headers  map[string][]protocol.ParamHeader // by published name; nil where no tool has any
}

// eraList is a list as the clients of one family of revisions can read it.
type eraList struct {
	result json.RawMessage // all of it
	rows   [][]byte        // its tools, extents of result
}

func (l *toolList) of(era interop.Era) *eraList {
	if era == interop.Modern {
		return &l.modern
	}
	return &l.legacy
}

// keptList is the listing that a principal was shown last.
type keptList struct {
	caller toolbox.Principal
	*toolList
}

// list is what p is shown now. It is rendered once for each snapshot.
func (t *toolsBackend) list(p toolbox.Principal) *toolList {
	s := t.src.Snapshot(p)
	t.mu.Lock()
	l := t.find(p, s)
	t.mu.Unlock()
	if l != nil {
		return l
	}
	rendered := t.render(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(rendered.modern.result) > largeList {
		if t.release != nil {
			t.release.Stop()
		}
		t.release = time.AfterFunc(releaseDelay, debug.FreeOSMemory)
	}
	if l := t.find(p, s); l != nil {
		return l
	}
	t.keep(p, rendered)
	return rendered
}

// find is the kept listing of a snapshot, which is p's from now on. Call it
// with mu held.
func (t *toolsBackend) find(p toolbox.Principal, s *toolbox.Snapshot) *toolList {
	for i := range t.kept {
		if k := &t.kept[i]; k.snapshot == s {
			l := k.toolList
			if k.caller != p {
				t.keep(p, l)
			}
			return l
		}
	}
	return nil
}

// keep puts a listing in the place of p's last one. Call it with mu held.
func (t *toolsBackend) keep(p toolbox.Principal, l *toolList) {
	i := slices.IndexFunc(t.kept, func(k keptList) bool { return k.caller == p })
	switch {
	case i >= 0:
		t.kept[i].toolList = l
	case len(t.kept) < maxKept:
		t.kept = append(t.kept, keptList{p, l})
	default:
		t.kept = append(t.kept[:0], t.kept[1:]...)
		t.kept = append(t.kept, keptList{p, l})
	}
}

func (t *toolsBackend) render(s *toolbox.Snapshot) *toolList {
	l := &toolList{snapshot: s}
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
		if err == nil && !t.exact {
			raw := forModern
			var flaws []protocol.Flaw
			if forLegacy, flaws = protocol.Mend(raw, true); len(flaws) > 0 {
				forModern, _ = protocol.Mend(raw, false)
				differ = differ || !bytes.Equal(forLegacy, forModern)
			}
			if forLegacy == nil || forModern == nil {
				err = errors.New(flaws[0].Why)
			} else if ids.taken(raw) {
				forLegacy, forModern = withoutOutput(forLegacy), withoutOutput(forModern)
				if t.log != nil {
					t.log.Warn("an output schema is not published: another tool's has its $id", "tool", d.Name, "server", d.Server)
				}
			}
		}
		schema, _ := wire.Lookup(forModern, "inputSchema")
		if reason := protocol.Unpublishable(schema); err == nil && reason != "" {
			err = errors.New(reason)
		}
		if err != nil {
			if t.log != nil {
				t.log.Warn("a tool is not published", "tool", d.Name, "server", d.Server, "reason", err.Error())
			}
			continue
		}
		seen[d.Name] = true
		l.names, legacy, modern = append(l.names, d.Name), append(legacy, forLegacy), append(modern, forModern)
		if params, err := protocol.ParamHeaders(schema); err == nil && len(params) > 0 {
			if l.headers == nil {
				l.headers = map[string][]protocol.ParamHeader{}
			}
			l.headers[d.Name] = params
		}
	}
	l.caching = cachingOf(s)
	l.modern = listOf(modern, l.caching)
	if l.legacy = l.modern; differ {
		l.legacy = listOf(legacy, l.caching)
	}
	return l
}

// listOf is rows as a list, of which the rows are extents from then on.
func listOf(rows [][]byte, caching []string) eraList {
	b := joinRows(rows, caching...)
	at := len(`{"tools":[`)
	for i, row := range rows {
		rows[i] = b[at : at+len(row) : at+len(row)]
		at += len(row) + 1
	}
	return eraList{b, rows}
}

// joinRows is the result of tools/list with these tools, and these members behind them.
func joinRows(rows [][]byte, members ...string) []byte {
	size := 16
	for _, row := range rows {
		size += len(row) + 1
	}
	b := append(make([]byte, 0, size), `{"tools":[`...)
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, row...)
	}
	b = append(b, ']')
	for _, m := range members {
		b = append(append(b, ','), m...)
	}
	return append(b, '}')
}

// publish is one tool as it is, under its published name.
func (t *toolsBackend) publish(d *toolbox.Descriptor) ([]byte, error) {
	schema := d.Schema
	if t.parameters && d.Parameters != nil {
		schema = d.Parameters
	}
	if schema == nil && d.Wire.IsZero() {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	if !wire.Valid(schema) || !utf8.Valid(schema) {
		return nil, errors.New("its input schema is not valid JSON in UTF-8")
	}
	if !isMCP(d.Wire) {
		return appendLocal(nil, d, schema), nil
	}
	if !wire.Valid(d.Wire.JSON) || !utf8.Valid(d.Wire.JSON) {
		return nil, errors.New("it is not valid JSON in UTF-8")
	}
	edits := []wire.Edit{{Key: "name", Value: wire.Quote(d.Name)}}
	if t.parameters && d.Parameters != nil {
		edits = append(edits, wire.Edit{Key: "inputSchema", Value: schema})
	}
	return wire.Rewrite(d.Wire.JSON, edits...)
}

// appendLocal appends the tool object of a tool that is no server's.
func appendLocal(b []byte, d *toolbox.Descriptor, schema json.RawMessage) []byte {
	b = append(append(b, `{"name":`...), wire.Quote(d.Name)...)
	if d.Title != "" {
		b = append(append(b, `,"title":`...), wire.Quote(d.Title)...)
	}
	if d.Description != "" {
		b = append(append(b, `,"description":`...), wire.Quote(d.Description)...)
	}
	b = append(append(b, `,"inputSchema":`...), schema...)
	if d.Output != nil {
		b = append(append(b, `,"outputSchema":`...), d.Output...)
	}
	if d.Annotations != nil {
		hints, _ := json.Marshal(d.Annotations) // booleans always can be written
		b = append(append(b, `,"annotations":`...), hints...)
	}
	return append(b, '}')
}

// isMCP reports whether a wire is in MCP's own grammar.
func isMCP(w toolbox.Wire) bool { return strings.HasPrefix(w.Format, "mcp/") }

// outputIDs are the output schemas that have a name, by it. A client that compiles all of them
// with one validator, as those of the TypeScript SDKs do, takes the first schema of a name
// for every later one: of two servers one would say what the other's results must be.
type outputIDs map[string]string

// taken reports whether another tool has the name of this one's output schema, for another schema.
func (ids outputIDs) taken(tool json.RawMessage) bool {
	schema, _ := wire.Lookup(tool, "outputSchema")
	id, ok := protocol.LookupString(schema, "$id")
	if !ok {
		return false
	}
	id = strings.TrimRight(id, "#")
	if before, known := ids[id]; known {
		return before != string(schema)
	}
	ids[id] = string(schema)
	return false
}

func withoutOutput(tool json.RawMessage) json.RawMessage {
	out, err := wire.Rewrite(tool, wire.Edit{Key: "outputSchema"})
	if err != nil {
		return tool
	}
	return out
}

// page is the part of a list that a cursor asks for, as a result of tools/list. size is
// how many tools it has; 0: all. cursor is the JSON of the request's; nil: the first page.
func (l *toolList) page(era interop.Era, cursor json.RawMessage, size int) (json.RawMessage, error) {
	list, from := l.of(era), 0
	if len(cursor) > 0 && string(cursor) != "null" && string(cursor) != `""` {
		s, _ := wire.Unquote(cursor)
		var ok bool
		if from, ok = l.behind(s); !ok || size == 0 {
			return nil, &interop.RPCError{Code: interop.CodeInvalidParams, Message: "tools/list: unknown cursor"}
		}
	}
	if size == 0 || from == 0 && size >= len(list.rows) {
		return list.result, nil
	}
	to := min(from+size, len(list.rows))
	members := slices.Clone(l.caching)
	if to < len(list.rows) {
		members = append(members, `"nextCursor":"`+l.cursor(to)+`"`)
	}
	return joinRows(list.rows[from:to], members...), nil
}

// sumSize is the length of what a cursor says of a name: too long for a server to choose a
// name that counts as another's.
const sumSize = 6

// cursor names the tools before to, all of which were sent, so that what comes behind them is
// found again in a list that has changed meanwhile: neither is a tool that stays skipped, nor
// one sent twice.
func (l *toolList) cursor(to int) string {
	b := make([]byte, 0, to*sumSize+crc32.Size)
	for _, name := range l.names[:to] {
		sum := nameSum(name)
		b = append(b, sum[:]...)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

func nameSum(name string) [sumSize]byte {
	sum := sha256.Sum256([]byte(name))
	return [sumSize]byte(sum[:])
}

// behind is where the page after the tools that a cursor names begins: behind the last of
// them that is still there.
func (l *toolList) behind(cursor string) (from int, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) < sumSize+crc32.Size || len(b)%sumSize != crc32.Size {
		return 0, false
	}
	b, sum := b[:len(b)-crc32.Size], b[len(b)-crc32.Size:]
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(b) {
		return 0, false
	}
	at := make(map[[sumSize]byte]int, len(l.names))
	for i, name := range l.names {
		at[nameSum(name)] = i
	}
	for len(b) > 0 {
		last := len(b) - sumSize
		if i, ok := at[[sumSize]byte(b[last:])]; ok {
			return i + 1, true
		}
		b = b[:last]
	}
	return 0, true
}

// cachingOf is the members that say how long and for whom a list may be kept
// (2026-07-28, server/utilities/caching): as long as the server allows that allows least,
// and not at all while servers are yet to be heard.
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

// shownOwners is the owners of which some tool is shown: what another says concerns nobody, and
// may be why its tools are held back.
func shownOwners(s *toolbox.Snapshot) []toolbox.Owner {
	shown := map[string]bool{}
	for i := range s.Tools {
		shown[s.Tools[i].Server] = true
	}
	return slices.DeleteFunc(slices.Clone(s.Owners), func(o toolbox.Owner) bool { return !shown[o.Server] })
}

// What servers may tell a client's model, in bytes: each, and all.
const (
	maxInstructions    = 4 << 10
	maxAllInstructions = 16 << 10
)

// instructionsOf is what the servers say that have been heard so far, each under its
// name, quoted so that none can speak as another.
func instructionsOf(s *toolbox.Snapshot) string {
	var b strings.Builder
	for _, o := range shownOwners(s) {
		says, _ := text.Visible(text.Lines(o.Instructions))
		if says = strings.TrimSpace(says); says == "" {
			continue
		}
		if b.Len() > maxAllInstructions {
			b.WriteString("\n\nFurther servers have instructions, which are left out.")
			break
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "The server %q says of its tools, whose names here begin with %q:\n> %s", o.Server, o.Prefix,
			strings.ReplaceAll(text.Clip(says, maxInstructions), "\n", "\n> "))
	}
	return b.String()
}
