package host

import (
	"bytes"
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

// cacheable reports whether a method's results carry ttlMs and cacheScope (2026-07-28, server/utilities/caching).
func cacheable(method string) bool {
	return strings.HasSuffix(method, "/list") || method == "resources/read"
}

// hopFields are the members of a result that belong to one hop.
var hopFields = [...]string{"resultType", "_meta", "ttlMs", "cacheScope"}

// hopMembers returns where each of the hopFields is among members, or nil for absent ones. repeated is a hop field that
// occurs twice. Of such a field one reader would use the first, another the last.
func hopMembers(members []wire.Member) (hop [len(hopFields)]*wire.Member, repeated string) {
	for i := range members {
		if k := slices.Index(hopFields[:], members[i].Key); k >= 0 {
			if hop[k] != nil {
				return hop, members[i].Key
			}
			hop[k] = &members[i]
		}
	}
	return hop, ""
}

// adapt fits a backend's result to the era of the client. It sets or removes the fields of the hop. All other bytes
// stay, and are not copied.
func (f *front) adapt(r *frontRequest, raw json.RawMessage) frontAnswer {
	isList := strings.HasSuffix(r.method, "/list")
	key := adaptedKey{r.era, r.method, r.caller}
	if isList {
		if result := f.lists.get(key, raw); result != nil {
			return frontAnswer{result: result}
		}
	}
	members, err := wire.Members(raw)
	if err != nil {
		return frontError(0, interop.CodeInternal, "%s: the result is not an object", r.method)
	}
	hop, repeated := hopMembers(members)
	if repeated != "" {
		return frontError(0, interop.CodeInternal, "%s: %q stands twice in the result", r.method, repeated)
	}
	if r.method == protocol.MethodToolsCall && !f.exact {
		if mended := protocol.MendResult(raw, members, r.era == interop.Legacy); mended != nil {
			return f.adapt(r, mended)
		}
	}
	kind := "complete"
	if hop[0] != nil {
		kind, _ = wire.Unquote(hop[0].Value)
	}
	if kind != "complete" && r.era == interop.Legacy {
		return frontError(0, interop.CodeInternal, "%s: the answer is of type %q, which is not known before %s",
			r.method, protocol.Printable(string(hop[0].Value), 40), protocol.VersionModern)
	}
	asks := func(m wire.Member) bool { return m.Key == "inputRequests" }
	if kind != "input_required" && !f.exact && protocol.MayRequireInput(r.method) && slices.ContainsFunc(members, asks) {
		return frontError(0, interop.CodeInternal,
			"%s: the answer has inputRequests, which some clients obey, and is of type %q",
			r.method, protocol.Printable(kind, 40))
	}
	if kind == "input_required" && !protocol.MayRequireInput(r.method) {
		return frontError(0, interop.CodeInternal,
			"%s: the answer is of type %q, which this method does not have", r.method, kind)
	}
	var head []byte // the added members, each with a comma
	if r.era == interop.Modern {
		if hop[0] == nil {
			head = append(head, `"resultType":"complete",`...)
		}
		if cacheable(r.method) && kind != "input_required" {
			if hop[2] == nil {
				head = append(head, `"ttlMs":0,`...)
			}
			if hop[3] == nil {
				head = append(head, `"cacheScope":"`+f.scope+`",`...)
			}
		}
		if hop[1] == nil {
			head = append(f.appendMeta(head, nil), ',')
		}
	}
	result := splice(raw, members, head, func(m *wire.Member) []byte { return f.member(r.era, raw, m) })
	if isList {
		f.lists.put(key, raw, result)
	}
	return frontAnswer{result: result, status: http.StatusOK}
}

// member returns a member of a result in the form for an era. It returns nil if the member is left out.
func (f *front) member(era interop.Era, raw json.RawMessage, m *wire.Member) []byte {
	switch m.Key {
	case "resultType", "ttlMs", "cacheScope":
		if era == interop.Legacy {
			return nil
		}
	case "_meta":
		rest, cut := foreignMeta(m.Value)
		switch {
		case era == interop.Modern:
			return f.appendMeta(nil, rest)
		case cut && len(rest) == 0:
			return nil
		case cut:
			return append(append([]byte(`"_meta":{`), rest...), '}')
		}
	}
	return raw[m.Start:m.End]
}

// appendMeta appends the member _meta with the host's name and the other members in rest.
func (f *front) appendMeta(b, rest []byte) []byte {
	b = append(append(b, `"_meta":{"`+protocol.MetaServerInfo+`":`...), f.serverInfo()...)
	if len(bytes.TrimSpace(rest)) > 0 {
		b = append(append(b, ','), rest...)
	}
	return append(b, '}')
}

// foreignMeta returns the text between the braces of a _meta, without its reserved keys. cut reports whether it had
// reserved keys. If meta is not an object, rest is nil.
func foreignMeta(meta json.RawMessage) (rest []byte, cut bool) {
	members, err := wire.Members(meta)
	if err != nil {
		return nil, false
	}
	for i := range members {
		m := &members[i]
		if protocol.Reserved(m.Key) {
			cut = true
			continue
		}
		rest = append(append(rest, meta[m.Start:m.End]...), ',')
	}
	if !cut {
		return meta[1 : len(meta)-1], false
	}
	return bytes.TrimSuffix(rest, []byte(",")), true
}

// splice returns an object in pieces: head, and the output of member for each of members. Unchanged members are not
// copied.
func splice(raw json.RawMessage, members []wire.Member, head []byte, member func(*wire.Member) []byte) [][]byte {
	parts := append(make([][]byte, 0, 6), append([]byte{'{'}, head...))
	from, to := -1, 0 // of a run of unchanged members
	flush := func() {
		if from >= 0 {
			parts = append(parts, raw[from:to], []byte(","))
		}
		from = -1
	}
	changed := head != nil
	for i := range members {
		m := &members[i]
		out := member(m)
		if out != nil && &out[0] == &raw[m.Start] {
			if from < 0 {
				from = m.Start
			}
			to = m.End
			continue
		}
		changed = true
		flush()
		if out != nil {
			parts = append(parts, out, []byte(","))
		}
	}
	if !changed {
		return [][]byte{raw}
	}
	flush()
	last := &parts[len(parts)-1] // it ends with a comma, unless the object is empty
	*last = append(bytes.TrimSuffix(bytes.Clone(*last), []byte(",")), '}')
	return parts
}

// maxAdaptedLists bounds the cached lists of all principals, eras and methods.
const maxAdaptedLists = 32

// adaptedCache caches adapted lists. A list that a backend serves from cached bytes is not parsed again.
type adaptedCache struct {
	mu    sync.Mutex
	lists map[adaptedKey]adaptedList
}

// adaptedKey is the key of a cached list. For each key, only the last list is kept.
type adaptedKey struct {
	era    interop.Era
	method string
	caller toolbox.Principal
}

type adaptedList struct {
	raw    json.RawMessage
	result [][]byte
}

// get returns the adapted form of raw, or nil if it is not cached.
func (a *adaptedCache) get(key adaptedKey, raw json.RawMessage) [][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.lists[key]; len(raw) > 0 && len(l.raw) == len(raw) && &l.raw[0] == &raw[0] {
		return l.result
	}
	return nil
}

func (a *adaptedCache) put(key adaptedKey, raw json.RawMessage, result [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lists == nil || len(a.lists) >= maxAdaptedLists {
		a.lists = map[adaptedKey]adaptedList{}
	}
	a.lists[key] = adaptedList{raw, result}
}
