package schema

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// maxNesting is how deep JSON may nest before encoding/json takes it for malformed.
const maxNesting = 10_000

// document is a valid JSON text without whitespace, and where each of its containers ends. So any value can be stepped
// over at once, however much is in it, and a walk that looks ahead at every level stays linear.
type document struct {
	text       []byte
	containers []container // one for each { and [, in the order they open
}

type container struct {
	end  int // offset behind the closing bracket
	next int // number of the first container that opens behind it
}

// place is where a value starts.
type place struct {
	offset    int
	container int // number of the first container that opens at offset or behind it
}

// parse reports false if input is not one valid JSON value in UTF-8.
func parse(input []byte) (*document, bool) {
	var compact bytes.Buffer
	if !utf8.Valid(input) || json.Compact(&compact, input) != nil {
		return nil, false
	}
	d := &document{text: compact.Bytes()}
	var open []int // numbers of the containers around i
	for i := 0; i < len(d.text); i++ {
		switch d.text[i] {
		case '"':
			i = endOfString(d.text, i) - 1
		case '{', '[':
			open = append(open, len(d.containers))
			d.containers = append(d.containers, container{})
		case '}', ']':
			last := len(open) - 1
			d.containers[open[last]] = container{end: i + 1, next: len(d.containers)}
			open = open[:last]
		}
	}
	return d, true
}

// kind is the first byte of the value at p: one of { [ " t f n, or of a number.
func (d *document) kind(p place) byte { return d.text[p.offset] }

func (d *document) isBoolean(p place) bool { return d.kind(p) == 't' || d.kind(p) == 'f' }

// after is the place behind the value at p, where a comma, a colon, a closing bracket or the end of the text stands.
func (d *document) after(p place) place {
	switch d.kind(p) {
	case '{', '[':
		c := d.containers[p.container]
		return place{c.end, c.next}
	case '"':
		p.offset = endOfString(d.text, p.offset)
	default:
		p.offset = endOfLiteral(d.text, p.offset)
	}
	return p
}

func (d *document) bytes(p place) []byte { return d.text[p.offset:d.after(p).offset] }

// elements yields the values of the array at p.
func (d *document) elements(p place) iter.Seq[place] {
	return func(yield func(place) bool) {
		end := d.after(p).offset - 1
		for at := (place{p.offset + 1, p.container + 1}); at.offset < end; at.offset++ {
			if !yield(at) {
				return
			}
			at = d.after(at)
		}
	}
}

// record reads the members of the object at p.
func (d *document) record(p place) record {
	r := record{members: make([]member, 0, 4)} // many schemas have no more
	end := d.after(p).offset - 1
	for at := (place{p.offset + 1, p.container + 1}); at.offset < end; at.offset++ {
		key := d.bytes(at)
		value := place{at.offset + len(key) + 1, at.container}
		at = d.after(value)
		r.set(member{key: key, name: unquote(key), value: value, end: at.offset})
	}
	return r
}
