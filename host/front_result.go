package host

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// cacheable reports whether a method's results carry ttlMs and cacheScope
// (2026-07-28, server/utilities/caching).
func cacheable(method string) bool {
	return strings.HasSuffix(method, "/list") || method == "resources/read"
}

// adapt fits a backend's result to the era of the client: the fields of the hop
// are set or taken away, every other byte stays, and none is copied.
func (f *front) adapt(r *frontRequest, raw json.RawMessage) frontAnswer {
	era, method := r.era, r.method
	list := strings.HasSuffix(method, "/list")
	key := keptKey{era, method, r.caller}
	if list {
		if kept, ok := f.kept.get(key, raw); ok {
			return frontAnswer{result: kept}
		}
	}
	members, err := wire.Members(raw)
	if err != nil {
		return frontError(0, interop.CodeInternal, "%s: the result is not an object", method)
	}
	if key := twice(members); key != "" {
		return frontError(0, interop.CodeInternal, "%s: %q stands twice in the result", method, key)
	}
	if method == protocol.MethodToolsCall && !f.exact {
		if mended := protocol.MendResult(raw, members, era == interop.Legacy); mended != nil {
			return f.adapt(r, mended)
		}
	}
	var result [][]byte
	if era == interop.Modern {
		result = f.toModern(method, raw, members)
	} else {
		if bad := notLegacy(members); bad != "" {
			return frontError(0, interop.CodeInternal, "%s: the answer is of type %q, which is not known before %s", method, bad, protocol.VersionModern)
		}
		result = toLegacy(raw, members)
	}
	if list {
		f.kept.put(key, raw, result)
	}
	return frontAnswer{result: result, status: http.StatusOK}
}

// twice is a field of the hop that stands twice; "" where none does. One reader
// would take the first for what it is, another the last.
func twice(members []wire.Member) string {
	var seen [4]bool
	for i := range members {
		k := slices.Index([]string{"resultType", "_meta", "ttlMs", "cacheScope"}, members[i].Key)
		if k < 0 {
			continue
		}
		if seen[k] {
			return members[i].Key
		}
		seen[k] = true
	}
	return ""
}

// notLegacy is the type of a result that a legacy client cannot take; "" where it can.
func notLegacy(members []wire.Member) string {
	for i := range members {
		if members[i].Key == "resultType" {
			if s, _ := wire.Unquote(members[i].Value); s != "complete" {
				return protocol.Printable(string(members[i].Value), 40)
			}
		}
	}
	return ""
}

// toLegacy takes the modern fields out of a result.
func toLegacy(raw json.RawMessage, members []wire.Member) [][]byte {
	p := splice{raw: raw}
	for i := range members {
		switch m := &members[i]; m.Key {
		case "resultType", "ttlMs", "cacheScope":
			p.drop(m)
		case "_meta":
			switch rest := foreignMeta(m.Value); {
			case rest == nil:
				p.keep(m)
			case len(rest) == 0:
				p.drop(m)
			default:
				p.replace(m, append(append([]byte(`"_meta":{`), rest...), '}'))
			}
		default:
			p.keep(m)
		}
	}
	return p.pieces(nil)
}

// toModern gives a result what every modern one has: its type, who answered,
// and how long it may be kept.
func (f *front) toModern(method string, raw json.RawMessage, members []wire.Member) [][]byte {
	p := splice{raw: raw}
	var typed, waiting, ttl, scope, meta bool
	for i := range members {
		switch m := &members[i]; m.Key {
		case "_meta":
			meta = true
			rest := foreignMeta(m.Value)
			if rest == nil && len(m.Value) > 2 && m.Value[0] == '{' {
				rest = m.Value[1 : len(m.Value)-1]
			}
			p.replace(m, f.meta(rest))
			continue
		case "resultType":
			typed = true
			s, _ := wire.Unquote(m.Value)
			waiting = s == "input_required"
		case "ttlMs":
			ttl = true
		case "cacheScope":
			scope = true
		}
		p.keep(&members[i])
	}
	var head []string
	if !typed {
		head = append(head, `"resultType":"complete"`)
	}
	if cacheable(method) && !waiting && !ttl {
		head = append(head, `"ttlMs":0`)
	}
	if cacheable(method) && !waiting && !scope {
		head = append(head, `"cacheScope":"`+f.scope+`"`)
	}
	if !meta {
		head = append(head, string(f.meta(nil)))
	}
	return p.pieces([]byte(strings.Join(head, ",")))
}

// meta is the member _meta with our name and the rest of another's members.
func (f *front) meta(rest []byte) []byte {
	b := append([]byte(`"_meta":{"`+protocol.MetaServerInfo+`":`), f.info...)
	if len(rest) > 0 && strings.TrimSpace(string(rest)) != "" {
		b = append(append(b, ','), rest...)
	}
	return append(b, '}')
}

// foreignMeta is what stands between the braces of a _meta without its reserved
// keys; nil where it has none, empty where nothing is left.
func foreignMeta(meta json.RawMessage) []byte {
	members, err := wire.Members(meta)
	if err != nil {
		return nil
	}
	rest := []byte{}
	found := false
	for i := range members {
		if protocol.Reserved(members[i].Key) {
			found = true
			continue
		}
		if len(rest) > 0 {
			rest = append(rest, ',')
		}
		rest = append(rest, meta[members[i].Start:members[i].End]...)
	}
	if !found {
		return nil
	}
	return rest
}

// splice cuts an object into the runs of members that stay and puts others in
// between, without copying what stays.
type splice struct {
	raw     json.RawMessage
	out     [][]byte // runs, which commas are to part
	from    int      // where the open run begins
	to      int      // where it ends; 0: none is open
	changed bool
}

func (p *splice) keep(m *wire.Member) {
	if p.to == 0 {
		p.from = m.Start
	}
	p.to = m.End
}

func (p *splice) flush() {
	if p.to > 0 {
		p.out = append(p.out, p.raw[p.from:p.to])
		p.to = 0
	}
	p.changed = true
}

func (p *splice) drop(*wire.Member) { p.flush() }

func (p *splice) replace(_ *wire.Member, member []byte) {
	p.flush()
	p.out = append(p.out, member)
}

// pieces is the object, with head as its first members.
func (p *splice) pieces(head []byte) [][]byte {
	if !p.changed && len(head) == 0 {
		return [][]byte{p.raw}
	}
	p.flush()
	parts := make([][]byte, 0, 2*len(p.out)+3)
	first := append(append(make([]byte, 0, len(head)+2), '{'), head...)
	if len(head) > 0 && len(p.out) > 0 {
		first = append(first, ',')
	}
	parts = append(parts, first)
	for i, run := range p.out {
		if i > 0 {
			parts = append(parts, []byte(","))
		}
		parts = append(parts, run)
	}
	return append(parts, []byte("}"))
}

// frontKept remembers how lists were adapted, so that a list that a backend
// serves from kept bytes is not even looked at again.
type frontKept struct {
	mu   sync.Mutex
	list []keptResult // the oldest first
}

// keptKey is for what one list is kept: the last one counts.
type keptKey struct {
	era    interop.Era
	method string
	caller toolbox.Principal
}

type keptResult struct {
	keptKey
	raw    json.RawMessage
	result [][]byte
}

func (k *frontKept) get(key keptKey, raw json.RawMessage) ([][]byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.list {
		c := &k.list[i]
		if c.keptKey == key && len(c.raw) == len(raw) && len(raw) > 0 && &c.raw[0] == &raw[0] {
			return c.result, true
		}
	}
	return nil, false
}

func (k *frontKept) put(key keptKey, raw json.RawMessage, result [][]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept := slices.DeleteFunc(k.list, func(c keptResult) bool { return c.keptKey == key })
	if len(kept) >= 2*maxKept { // of each era
		kept = slices.Delete(kept, 0, 1)
	}
	k.list = append(kept, keptResult{key, raw, result})
}
