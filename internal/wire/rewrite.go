package wire

import (
	"encoding/json"
	"fmt"
)

// Edit is a change to one top-level member of an object.
type Edit struct {
	Key   string          // decoded
	Value json.RawMessage // one valid JSON value, written as it is; nil: delete
}

// Rewrite returns a valid JSON object with some members changed: replaced in
// place (the key keeps its spelling), deleted with their comma, or appended at
// the end in the order of the edits. All else keeps its bytes and its order. To
// delete what is absent is no error. Of several edits of one key the last
// counts. A key that is edited and stands twice in obj is a [KeyError].
func Rewrite(obj json.RawMessage, edits ...Edit) (json.RawMessage, error) {
	size := len(obj)
	for _, e := range edits {
		if e.Value != nil && len(e.Value) == 0 {
			return nil, fmt.Errorf("wire: rewrite: empty value for key %q", e.Key)
		}
		size += len(e.Key) + len(e.Value) + len(`,"":`)
	}
	c, ok := enter(obj, '{')
	if !ok {
		return nil, c.fail()
	}
	p := patch{out: make([]byte, 0, size), obj: obj, edits: edits, done: make([]bool, len(edits))}
	for c.next() {
		if err := p.member(c.span); err != nil {
			return nil, err
		}
	}
	if c.bad {
		return nil, c.fail()
	}
	return p.finish(c.i), nil
}

// Without returns a valid JSON object without the member at a path of keys. It returns obj itself if there is no such member, or
// if [Rewrite] fails.
func Without(obj json.RawMessage, path ...string) json.RawMessage {
	value, found := Lookup(obj, path[0])
	edit := Edit{Key: path[0]}
	if len(path) > 1 {
		edit.Value = Without(value, path[1:]...)
		found = len(edit.Value) != len(value)
	}
	if out, err := Rewrite(obj, edit); found && err == nil {
		return out
	}
	return obj
}

// patch is a rewrite under way: obj before from is dealt with.
type patch struct {
	out   []byte
	obj   []byte
	edits []Edit
	done  []bool // which edits found their member
	from  int
	last  int  // end of the last member seen
	kept  bool // some member before from remains
}

// member deals with the next member of the object.
func (p *patch) member(m span) error {
	e := p.edit(p.obj[m.start:m.keyEnd])
	if !p.kept && p.last > 0 {
		p.from = m.start // all before were deleted, and this one's comma with them
	}
	last := p.last
	p.last = m.end
	if e < 0 {
		p.kept = true
		return nil
	}
	switch {
	case p.done[e]:
		return &KeyError{Key: p.edits[e].Key, Like: p.edits[e].Key, Offset: m.start}
	case p.edits[e].Value != nil:
		p.out = append(append(p.out, p.obj[p.from:m.value]...), p.edits[e].Value...)
		p.kept = true
	case p.kept:
		p.out = append(p.out, p.obj[p.from:last]...)
	default:
		p.out = append(p.out, p.obj[p.from:m.start]...)
	}
	p.from = m.end
	p.done[e] = true
	return nil
}

// edit returns the index of the last edit of a quoted key, or -1.
func (p *patch) edit(raw []byte) int {
	for i := len(p.edits) - 1; i >= 0; i-- {
		if keyIs(raw, p.edits[i].Key) {
			return i
		}
	}
	return -1
}

// finish appends the edits that found no member and the rest of the object,
// whose closing brace is at end.
func (p *patch) finish(end int) []byte {
	at := max(p.from, p.last)
	if at == 0 {
		at = end // the object is empty
	}
	p.out = append(p.out, p.obj[p.from:at]...)
	for i := range p.edits {
		if p.done[i] || p.edits[i].Value == nil || p.superseded(i) {
			continue
		}
		if p.kept {
			p.out = append(p.out, ',')
		}
		p.kept = true
		p.out = append(AppendQuote(p.out, p.edits[i].Key), ':')
		p.out = append(p.out, p.edits[i].Value...)
	}
	return append(p.out, p.obj[at:]...)
}

// superseded reports whether a later edit has the same key.
func (p *patch) superseded(i int) bool {
	for _, e := range p.edits[i+1:] {
		if e.Key == p.edits[i].Key {
			return true
		}
	}
	return false
}

// Map returns a valid JSON array with each element replaced by what edit makes of it, which is one valid
// JSON value, or the element itself. All else keeps its bytes; arr itself is returned where nothing changes.
func Map(arr json.RawMessage, edit func(json.RawMessage) json.RawMessage) (json.RawMessage, error) {
	c, ok := enter(arr, '[')
	if !ok {
		return nil, c.fail()
	}
	var out []byte
	from := 0
	for c.next() {
		element := arr[c.value:c.end:c.end]
		edited := edit(element)
		if len(edited) == len(element) && &edited[0] == &element[0] {
			continue
		}
		out = append(append(out, arr[from:c.value]...), edited...)
		from = c.end
	}
	switch {
	case c.bad:
		return nil, c.fail()
	case from == 0:
		return arr, nil
	}
	return append(out, arr[from:]...), nil
}
