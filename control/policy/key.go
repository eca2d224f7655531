package policy

import (
	"slices"
	"strconv"
	"sync"
)

const (
	maxResults = 5000    // results that a memory keeps
	maxKey     = 2 << 10 // the size of the longest key of a verdict, in bytes
)

// ListKey returns a key of the attributes of r that decide the result of [Set.MayList], together with the version of
// the policies: the attributes that a rule mentions, and no others. It returns false if the result must not be cached,
// because a rule mentions the time.
func (s *Set) ListKey(r *Request) (string, bool) {
	key, ok := s.mentions.appendCaller(appendPart(nil, s.version), r)
	return string(key), ok
}

// appendPart appends a text and its length, so that different lists of texts give different keys.
func appendPart[T ~string | ~[]byte](key []byte, text T) []byte {
	key = append(strconv.AppendInt(key, int64(len(text)), 10), ' ')
	return append(key, text...)
}

// appendCaller appends the attributes of the caller that a rule mentions. It returns false if a rule mentions the time.
func (m *mentions) appendCaller(key []byte, r *Request) ([]byte, bool) {
	if m.context["time"] {
		return nil, false
	}
	part := func(mentioned bool, text string) {
		if mentioned {
			key = appendPart(key, text)
		}
	}
	part(m.userName, r.Principal.Name)
	part(m.context["view"], r.View)
	part(m.context["client"], r.Client)
	part(m.context["era"], r.Era)
	if m.context["address"] {
		part(true, addressText(r.Address))
	}
	groups := append(make([]string, 0, 16), r.Principal.Groups...)
	slices.Sort(groups)
	for _, g := range slices.Compact(groups) {
		_, mentioned := slices.BinarySearch(m.groups, g)
		part(mentioned || m.anyGroup, g)
	}
	return key, true
}

// appendKey appends everything that decides about r. It returns false if the verdict must not be cached.
func (s *Set) appendKey(key []byte, r *Request) ([]byte, bool) {
	it := &r.Item
	if len(it.Name)+len(r.Arguments) > maxKey {
		return nil, false
	}
	key = append(key, flag(it.Template), flag(it.Changed), flag(r.AnyArguments))
	for _, claim := range []*bool{it.Claims.ReadOnly, it.Claims.Destructive, it.Claims.Idempotent, it.Claims.OpenWorld} {
		if claim == nil {
			key = append(key, '-')
		} else {
			key = append(key, flag(*claim))
		}
	}
	key = appendPart(appendPart(key, string(r.Action)), string(it.Kind))
	key = appendPart(appendPart(key, it.Server), it.Name)
	if len(s.mentions.uses) > 0 {
		key = appendPart(key, r.Arguments)
	}
	key, ok := s.mentions.appendCaller(key, r)
	return key, ok && len(key) <= maxKey
}

func flag(b bool) byte {
	if b {
		return '1'
	}
	return '0'
}

// memory holds earlier results by their keys. When it is full, it begins anew. The zero value is ready.
type memory[T any] struct {
	mu    sync.RWMutex
	byKey map[string]T
}

func (m *memory[T]) find(key []byte) (result T, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	result, ok = m.byKey[string(key)]
	return result, ok
}

func (m *memory[T]) store(key []byte, result T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byKey == nil || len(m.byKey) >= maxResults {
		m.byKey = map[string]T{}
	}
	m.byKey[string(key)] = result
}
