package wire

import (
	"bytes"
	"io"
	"sync"

	"github.com/indusagi/indus/internal/memory"
)

const (
	chunkSize  = 64 << 10 // the capacity of a pipe
	prefixSize = 4 << 10
)

type chunk [chunkSize]byte

// chunks is shared by all streams. A stream holds chunks only while it reads a message, and results never
// share memory with a chunk.
var chunks = sync.Pool{New: func() any { return new(chunk) }}

// recycled is called with each returned chunk. Tests use it to overwrite the chunk.
var recycled func(*chunk)

func newChunk() *chunk { return chunks.Get().(*chunk) }

func recycle(c *chunk) {
	if recycled != nil {
		recycled(c)
	}
	chunks.Put(c)
}

// collector collects a message of unknown length. The message is stored in chunks, and is copied out of them
// once. Above half the limit it moves into a buffer with room for the limit, so that it never needs more
// than one and a half times the limit.
type collector struct {
	limit   int
	meter   memory.Meter
	size    int64    // of the message so far
	parts   [][]byte // the message, with each part in a chunk
	large   []byte   // instead of parts
	tooLong *TooLong // set instead of the message if it is over the limit
}

// add appends to the message.
func (h *collector) add(p []byte) {
	h.size += int64(len(p))
	switch {
	case h.tooLong != nil:
		h.tooLong.addPrefix(p)
	case h.size > int64(h.limit), !h.meter.Grow(h.size):
		tooLong := &TooLong{Limit: h.limit}
		for _, part := range append(h.parts, h.large, p) {
			tooLong.addPrefix(part)
		}
		h.meter.Drop()
		h.release()
		h.tooLong = tooLong
	case h.large != nil:
		h.large = append(h.large, p...)
	case h.size > 16*chunkSize && h.size > int64(h.limit/2):
		buffer := make([]byte, 0, h.limit)
		for _, part := range append(h.parts, p) {
			buffer = append(buffer, part...)
		}
		h.release()
		h.large = buffer
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

// release returns the chunks to the pool.
func (h *collector) release() {
	for _, part := range h.parts {
		recycle((*chunk)(part[:chunkSize]))
	}
	clear(h.parts)
	h.parts, h.large, h.tooLong = h.parts[:0], nil, nil
}

// drop discards the message.
func (h *collector) drop() {
	h.meter.Drop()
	h.release()
	h.size = 0
}

// take returns the message, which the caller owns, and begins the next.
func (h *collector) take() ([]byte, error) {
	defer h.drop()
	if h.tooLong != nil {
		h.tooLong.Size = h.size
		return nil, h.tooLong
	}
	message := h.large[:len(h.large):len(h.large)]
	if h.large == nil {
		message = bytes.Join(h.parts, nil)
	}
	h.meter.Keep(message)
	return message, nil
}

// ReadAll reads r until its end as one message of at most limit bytes, which the caller owns. If the
// message is longer, or the meter's budget has no room for it, the error is a [*TooLong]. size is the
// length of the message, which is reserved at once. If size is negative, the length is unknown or not
// trusted. With any other error it returns the bytes before the error.
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
	h := collector{limit: limit, meter: m}
	c := newChunk()
	defer recycle(c)
	for {
		n, err := r.Read(c[:])
		h.add(c[:n])
		switch {
		case h.tooLong != nil || err == io.EOF:
			return h.take()
		case err != nil:
			begun, _ := h.take()
			return begun, err
		}
	}
}

func (e *TooLong) addPrefix(p []byte) {
	e.Prefix = append(e.Prefix, p[:min(prefixSize-len(e.Prefix), len(p))]...)
}
