package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Edit is a change to one top-level member of an object.
type Edit struct {
	Key   string          // decoded
	Value json.RawMessage // one valid JSON value, written as it is; nil deletes the member
}

// Rewrite returns a valid JSON object with some members changed. Members are replaced in place (the key keeps its
// spelling), deleted with their comma, or appended at the end in the order of the edits. All other bytes and their
// order stay. It is not an error to delete an absent member. If several edits have the same key, the last one counts.
// An edited key that is repeated in obj is a [KeyError].
func Rewrite(obj json.RawMessage, edits ...Edit) (json.RawMessage, error) {
	return AppendRewrite(nil, obj, edits...)
}

// AppendRewrite appends the result of [Rewrite] to dst, which has no part of obj.
func AppendRewrite(dst []byte, obj json.RawMessage, edits ...Edit) ([]byte, error) {
	size := len(obj)
	for _, e := range edits {
		if e.Value != nil && len(e.Value) == 0 {
			return nil, fmt.Errorf("wire: rewrite: empty value for key %q", strings.Clone(e.Key))
		}
		size += len(e.Key) + len(e.Value) + len(`,"":`)
	}
	c, ok := openContainer(obj, '{')
	if !ok {
		return nil, c.fail()
	}
	var few [8]bool
	done := append(few[:0], make([]bool, len(edits))...) // which edits found their member
	p := patch{out: slices.Grow(dst, size), obj: obj}
	var err error
	for c.next() {
		if p, err = p.member(c.span, edits, done); err != nil {
			return nil, err
		}
	}
	if c.bad {
		return nil, c.fail()
	}
	return p.finish(c.i, edits, done), nil
}

// Without returns a valid JSON object without the member at a path of keys. It returns obj itself if there is no such
// member, or if [Rewrite] fails.
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

// patch is the state of a rewrite: obj before copied is done. Its methods neither change it in place nor keep
// an edit, so that the buffer and the edits of a caller can be on its stack.
type patch struct {
	out      []byte
	obj      []byte
	copied   int
	last     int  // end of the last member
	nonEmpty bool // some member before copied remains
}

// member handles the next member of the object.
func (p patch) member(m span, edits []Edit, done []bool) (patch, error) {
	e := findEdit(edits, p.obj[m.start:m.keyEnd])
	if !p.nonEmpty && p.last > 0 {
		p.copied = m.start // all earlier members were deleted, so the comma before this one goes too
	}
	last := p.last
	p.last = m.end
	if e < 0 {
		p.nonEmpty = true
		return p, nil
	}
	switch {
	case done[e]:
		key := strings.Clone(edits[e].Key)
		return p, &KeyError{Key: key, Resembles: key, Offset: m.start}
	case edits[e].Value != nil:
		p.out = append(append(p.out, p.obj[p.copied:m.value]...), edits[e].Value...)
		p.nonEmpty = true
	case p.nonEmpty:
		p.out = append(p.out, p.obj[p.copied:last]...)
	default:
		p.out = append(p.out, p.obj[p.copied:m.start]...)
	}
	p.copied = m.end
	done[e] = true
	return p, nil
}

// findEdit returns the index of the last edit of a quoted key, or -1.
func findEdit(edits []Edit, raw []byte) int {
	for i := len(edits) - 1; i >= 0; i-- {
		if equalsKey(raw, edits[i].Key) {
			return i
		}
	}
	return -1
}

// finish appends the edits without a member and the rest of the object. The closing brace is at end.
func (p patch) finish(end int, edits []Edit, done []bool) []byte {
	rest := max(p.copied, p.last)
	if rest == 0 {
		rest = end // the object is empty
	}
	p.out = append(p.out, p.obj[p.copied:rest]...)
	for i := range edits {
		if done[i] || edits[i].Value == nil || superseded(edits, i) {
			continue
		}
		if p.nonEmpty {
			p.out = append(p.out, ',')
		}
		p.nonEmpty = true
		p.out = append(AppendQuote(p.out, edits[i].Key), ':')
		p.out = append(p.out, edits[i].Value...)
	}
	return append(p.out, p.obj[rest:]...)
}

// superseded reports whether a later edit has the key of edit i.
func superseded(edits []Edit, i int) bool {
	for _, e := range edits[i+1:] {
		if e.Key == edits[i].Key {
			return true
		}
	}
	return false
}
