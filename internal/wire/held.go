package wire

import (
	"bytes"
	"io"
	"sync"

	"github.com/indusagi/indus/internal/memory"
)

const (
	chunkSize  = 64 << 10 // what a pipe holds
	prefixSize = 4 << 10
)

type chunk [chunkSize]byte

// chunks are shared by all streams: one holds them only while a message passes, and what
// is returned to a caller never lies in one.
var chunks = sync.Pool{New: func() any { return new(chunk) }}

// recycled is called with each chunk that goes back. Tests overwrite the chunk with it.
var recycled func(*chunk)

func newChunk() *chunk { return chunks.Get().(*chunk) }

func recycle(c *chunk) {
	if recycled != nil {
		recycled(c)
	}
	chunks.Put(c)
}

// held gathers a message whose length is not known before its end. It lies in chunks, and
// is copied out of them once. Above half the limit it moves into a buffer that has room
// for the limit, so that what is held stays below one and a half times that.
type held struct {
	limit int
	meter memory.Meter
	size  int64    // of the message so far
	parts [][]byte // the message, each part in a chunk
	large []byte   // instead of parts
	over  *TooLong // instead of all: the message is over the limit
}

// add appends to the message.
func (h *held) add(p []byte) {
	h.size += int64(len(p))
	switch {
	case h.over != nil:
		h.over.keep(p)
	case h.size > int64(h.limit), !h.meter.Grow(h.size):
		over := &TooLong{Limit: h.limit}
		for _, part := range append(h.parts, h.large, p) {
			over.keep(part)
		}
		h.meter.Drop()
		h.release()
		h.over = over
	case h.large != nil:
		h.large = append(h.large, p...)
	case h.size > 16*chunkSize && h.size > int64(h.limit/2):
		large := make([]byte, 0, h.limit)
		for _, part := range append(h.parts, p) {
			large = append(large, part...)
		}
		h.release()
		h.large = large
	default:
		for len(p) > 0 {
			last := len(h.parts) - 1
			if last < 0 || len(h.parts[last]) == chunkSize {
				h.parts = append(h.parts, newChunk()[:0])
				last++
			}
			n := min(chunkSize-len(h.parts[last]), len(p))
			h.parts[last] = append(h.parts[last], p[:n]...)
			p = p[n:]
		}
	}
}

// release gives the chunks back.
func (h *held) release() {
	for _, part := range h.parts {
		recycle((*chunk)(part[:chunkSize]))
	}
	clear(h.parts)
	h.parts, h.large, h.over = h.parts[:0], nil, nil
}

// drop discards the message.
func (h *held) drop() {
	h.meter.Drop()
	h.release()
	h.size = 0
}

// take returns the message, which is the caller's, and begins the next.
func (h *held) take() ([]byte, error) {
	defer h.drop()
	if h.over != nil {
		h.over.Size = h.size
		return nil, h.over
	}
	message := h.large[:len(h.large):len(h.large)]
	if h.large == nil {
		message = bytes.Join(h.parts, nil)
	}
	h.meter.Keep(message)
	return message, nil
}

// ReadAll reads r to its end as one message of at most limit bytes, which is the caller's.
// More is a [*TooLong], and so is a message for which the meter's budget has no room. size is how many it
// has, which are set aside at once; below 0: that is not known, or not to be believed. What came before
// another error is returned with it.
func ReadAll(r io.Reader, size int64, limit int, m memory.Meter) ([]byte, error) {
	if size > int64(limit) || size >= 0 && !m.Grow(size) {
		return nil, &TooLong{Size: size, Limit: limit}
	}
	if size >= 0 {
		b := make([]byte, size)
		n, err := io.ReadFull(r, b)
		if err != nil {
			m.Drop()
		}
		m.Keep(b)
		return b[:n], err
	}
	h := held{limit: limit, meter: m}
	c := newChunk()
	defer recycle(c)
	for {
		n, err := r.Read(c[:])
		h.add(c[:n])
		switch {
		case h.over != nil || err == io.EOF:
			return h.take()
		case err != nil:
			begun, _ := h.take()
			return begun, err
		}
	}
}

func (e *TooLong) keep(p []byte) {
	e.Prefix = append(e.Prefix, p[:min(prefixSize-len(e.Prefix), len(p))]...)
}
