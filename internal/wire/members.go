package wire

import (
	"encoding/json"
	"fmt"
)

// Member is one key and value of an object, as extents of it.
type Member struct {
	Key           string // decoded
	RawKey, Value json.RawMessage
	Start, End    int  // the whole member in the object's bytes, without commas
	Null          bool // Value is null, or contains null at any depth
}

// MaxParts bounds the results of [Members] and [Elements]. Such a list takes up to forty times the
// bytes of its input.
const MaxParts = 100_000

// ErrTooManyParts is returned for an object or an array with more than [MaxParts].
var ErrTooManyParts = fmt.Errorf("more than %d members or elements", MaxParts)

// Members returns the members of a valid JSON object in their order, including duplicates. It skips
// values at the speed of memory.
func Members(obj json.RawMessage) ([]Member, error) {
	c, ok := openContainer(obj, '{')
	if !ok {
		return nil, c.fail()
	}
	list := make([]Member, 0, 4)
	for c.next() {
		if len(list) == MaxParts {
			return nil, ErrTooManyParts
		}
		m := c.span
		raw := obj[m.start:m.keyEnd:m.keyEnd]
		list = append(list, Member{
			Key: decodeInside(raw[1 : len(raw)-1]), RawKey: raw, Value: obj[m.value:m.end:m.end],
			Start: m.start, End: m.end, Null: c.null,
		})
	}
	if c.bad {
		return nil, c.fail()
	}
	return list, nil
}

// Elements returns the elements of a valid JSON array.
func Elements(arr json.RawMessage) ([]json.RawMessage, error) {
	c, ok := openContainer(arr, '[')
	if !ok {
		return nil, c.fail()
	}
	var list []json.RawMessage
	for c.next() {
		if len(list) == MaxParts {
			return nil, ErrTooManyParts
		}
		list = append(list, arr[c.value:c.end:c.end])
	}
	if c.bad {
		return nil, c.fail()
	}
	return list, nil
}

// Lookup returns the value of a key in a valid JSON object. It returns false if the key is absent
// or obj is not an object. If the key is repeated, the last value counts, as in encoding/json,
// JavaScript and Python. If duplicates are dangerous, use [Members] and [Unique]. It allocates only
// to decode keys with escapes.
func Lookup(obj json.RawMessage, key string) (json.RawMessage, bool) {
	c, ok := openContainer(obj, '{')
	if !ok {
		return nil, false
	}
	var found json.RawMessage
	for c.next() {
		if equalsKey(obj[c.start:c.keyEnd], key) {
			found = obj[c.value:c.end:c.end]
		}
	}
	if c.bad {
		return nil, false
	}
	return found, found != nil
}

// FindKey returns the first decoded key of a valid JSON object for which match returns true, or nil. It allocates as
// [Lookup] does.
func FindKey(obj json.RawMessage, match func(key []byte) bool) []byte {
	c, ok := openContainer(obj, '{')
	for ok && c.next() {
		if key := Text(obj[c.start:c.keyEnd]); match(key) {
			return key
		}
	}
	return nil
}

// EachMember calls read with each raw key, without its quotes, and value of an object without its braces, until read
// returns false. It reports whether b is such an object and read accepted all members. It allocates nothing.
func EachMember(b []byte, read func(key, value []byte) bool) bool {
	c := cursor{b: b, close: '}', first: true}
	for c.i < len(b) {
		if !c.next() || !read(b[c.start+1:c.keyEnd-1], b[c.value:c.end]) {
			return false
		}
	}
	return true
}

// Unique returns a [KeyError] for the first member with a decoded key that an earlier member has.
func Unique(members []Member) error {
	if len(members) <= 16 {
		for i := range members {
			for k := range i {
				if members[k].Key == members[i].Key {
					return repeatedKey(&members[i])
				}
			}
		}
		return nil
	}
	seen := make(map[string]struct{}, len(members))
	for i := range members {
		seen[members[i].Key] = struct{}{}
		if len(seen) == i {
			return repeatedKey(&members[i])
		}
	}
	return nil
}

func repeatedKey(m *Member) error {
	return &KeyError{Key: m.Key, Resembles: m.Key, Offset: m.Start}
}

// equalsKey reports whether a quoted key decodes to key.
func equalsKey(raw []byte, key string) bool {
	return string(Text(raw)) == key
}

// cursor steps through a valid JSON container, using only its quotes and brackets.
type cursor struct {
	span  // the current member; for an element only value and end
	b     []byte
	close byte // the byte that ends the container
	i     int  // start of the next step
	first bool
	null  bool // the current value is null or contains null at any depth
	bad   bool // the container is invalid at i
}

// openContainer returns a cursor before the first member of the container in b.
func openContainer(b []byte, open byte) (cursor, bool) {
	i := skipSpace(b, 0)
	c := cursor{b: b, close: open + 2, i: i + 1, first: true}
	if i == len(b) || b[i] != open {
		c.i, c.bad = i, true
	}
	return c, !c.bad
}

// next moves to the next member or element. If it returns false, i is at the closing bracket, or
// bad is set.
func (c *cursor) next() bool {
	c.i = skipSpace(c.b, c.i)
	if c.i < len(c.b) && c.b[c.i] == c.close {
		if end := skipSpace(c.b, c.i+1); end < len(c.b) {
			c.i, c.bad = end, true
		}
		return false
	}
	if !c.first {
		if c.i >= len(c.b) || c.b[c.i] != ',' {
			c.bad = true
			return false
		}
		c.i = skipSpace(c.b, c.i+1)
	}
	c.first = false
	c.start = c.i
	if c.close == '}' && !c.key() {
		c.bad = true
		return false
	}
	c.value = c.i
	c.end, c.null = skipValue(c.b, c.i)
	if c.end < 0 {
		c.bad = true
		return false
	}
	c.i = c.end
	return true
}

// key steps over a key and its colon.
func (c *cursor) key() bool {
	if c.i >= len(c.b) || c.b[c.i] != '"' {
		return false
	}
	end := skipText(c.b, c.i+1)
	if end < 0 {
		return false
	}
	c.keyEnd = end
	c.i = skipSpace(c.b, end)
	if c.i >= len(c.b) || c.b[c.i] != ':' {
		return false
	}
	c.i = skipSpace(c.b, c.i+1)
	return true
}

func (c *cursor) fail() error { return syntaxError(c.b, c.i, stopUnexpected) }
