package mcpconfig

import (
	"bytes"
	"sort"
)

// index keeps the text without its byte order mark, and where its lines begin.
func (f *file) index(text []byte) {
	f.text = bytes.TrimPrefix(text, []byte("\ufeff"))
	f.starts = []int{0}
	for i, c := range f.text {
		if c == '\n' {
			f.starts = append(f.starts, i+1)
		}
	}
}

// position counts lines and columns from 1.
func (f *file) position(at int) (line, column int) {
	line = sort.SearchInts(f.starts, at+1)
	return line, at - f.starts[line-1] + 1
}

func (f *file) noteAt(at int, reason, hint string) Note {
	line, column := f.position(at)
	return Note{File: f.path, Line: line, Column: column, Reason: reason, Hint: hint}
}
