package wire

import (
	"bytes"
	"io"
)

const (
	smallBuffer = 4 << 10 // the memory of an idle stream
	emptyReads  = 100     // in a row, before a reader counts as broken
)

// feed splits a stream into lines, and lines that are longer than its buffer into fragments.
type feed struct {
	src     io.Reader
	buf     []byte // small, or the buffer of large
	small   []byte
	large   *chunk // nil unless the unread bytes did not fit into small
	r, w    int    // buf[r:w] is unread
	lf      int    // no LF is in buf[r:lf]; one is at lf, or lf is w
	scanned int    // no line end is in buf[r:scanned]
	err     error  // of src
	cr      bool   // CR and CRLF also end lines
	skip    bool   // an LF that comes next belongs to the CR before it
}

// fragment returns the next piece of a line, without the line end, and reports whether the line
// ends there. A piece that does not end its line is 64 KiB long, or the last of the stream. The
// piece is valid until the next call.
func (f *feed) fragment() (p []byte, end bool, err error) {
	for {
		if f.skip && f.r < f.w {
			if f.buf[f.r] == '\n' {
				f.r++
			}
			f.skip = false
		}
		if i := f.find(); i >= 0 {
			p = f.buf[f.r:i]
			f.skip = f.buf[i] == '\r'
			f.r = i + 1
			return p, true, nil
		}
		if f.err != nil || f.w-f.r == chunkSize {
			p = f.buf[f.r:f.w]
			f.r = f.w
			if len(p) == 0 {
				return nil, false, f.err
			}
			return p, false, nil
		}
		f.fill()
	}
}

// find returns the index of the first line end in buf[r:w], or -1. It checks each byte once for
// each kind of line end.
func (f *feed) find() int {
	f.lf, f.scanned = max(f.lf, f.r), max(f.scanned, f.r)
	if f.lf < f.w && f.buf[f.lf] != '\n' {
		if n := bytes.IndexByte(f.buf[f.lf:f.w], '\n'); n >= 0 {
			f.lf += n
		} else {
			f.lf = f.w
		}
	}
	if f.cr {
		if n := bytes.IndexByte(f.buf[f.scanned:f.lf], '\r'); n >= 0 {
			return f.scanned + n
		}
		f.scanned = f.lf
	}
	if f.lf < f.w {
		return f.lf
	}
	return -1
}

// fill makes room after w and reads once.
func (f *feed) fill() {
	switch {
	case f.small == nil:
		f.small = make([]byte, smallBuffer)
		f.buf = f.small
	case f.r > 0 && (f.r == f.w || f.w == len(f.buf)):
		f.shift(f.buf)
	case f.w == len(f.buf):
		f.large = newChunk()
		f.shift(f.large[:])
	}
	for range emptyReads {
		n, err := f.src.Read(f.buf[f.w:])
		f.w += n
		f.err = err
		if n > 0 || err != nil {
			return
		}
	}
	f.err = io.ErrNoProgress
}

// shrink returns the large buffer to the pool if no bytes are unread. It is called between messages.
func (f *feed) shrink() {
	if f.large != nil && f.r == f.w {
		recycle(f.large)
		f.large = nil
		f.shift(f.small)
	}
}

// shift moves the unread bytes to the beginning of buf.
func (f *feed) shift(buf []byte) {
	f.w = copy(buf, f.buf[f.r:f.w])
	f.lf, f.scanned = max(f.lf-f.r, 0), max(f.scanned-f.r, 0)
	f.r, f.buf = 0, buf
}
