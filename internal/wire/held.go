package wire

import "github.com/indusagi/indus/internal/memory"

const (
	prefixSize = 4 << 10
	suffixSize = 1 << 10
	firstChunk = 4 << 10
	largeChunk = 1 << 20
	spareSize  = 256 << 10 // in chunks that are kept for the next message
)

// held gathers a message whose length is not known before its end. It lies in
// chunks that need no copying when it grows, and is joined once. Above half the
// limit it moves into a buffer that has room for the limit, so that what is
// held stays below one and a half times that.
type held struct {
	limit  int
	meter  memory.Meter
	size   int64    // of the message so far
	chunks [][]byte // the first used of them hold the message, the others are spare
	used   int
	whole  []byte   // instead of chunks
	over   *TooLong // instead of all: the message is over the limit
}

// add appends to the message.
func (h *held) add(p []byte) {
	h.size += int64(len(p))
	switch {
	case h.over != nil:
		h.over.keep(p)
	case h.size > int64(h.limit), !h.meter.Grow(h.size):
		h.giveUp(p)
	case h.whole != nil:
		h.whole = append(h.whole, p...)
	case h.size > largeChunk && h.size > int64(h.limit/2):
		h.whole = append(h.join(make([]byte, 0, h.limit)), p...)
		h.release()
	default:
		h.spread(p)
	}
}

// drop forgets the message.
func (h *held) drop() {
	h.meter.Drop()
	*h = held{limit: h.limit, meter: h.meter}
}

// spread appends p to the chunks.
func (h *held) spread(p []byte) {
	for len(p) > 0 {
		if h.used == 0 || len(h.chunks[h.used-1]) == cap(h.chunks[h.used-1]) {
			if h.used == len(h.chunks) {
				have := int(h.size) - len(p)
				size := min(max(have/2, firstChunk), largeChunk)
				h.chunks = append(h.chunks, make([]byte, 0, size))
			}
			h.used++
		}
		c := &h.chunks[h.used-1]
		n := min(cap(*c)-len(*c), len(p))
		*c = append(*c, p[:n]...)
		p = p[n:]
	}
}

// join appends what is in the chunks to dst.
func (h *held) join(dst []byte) []byte {
	for _, c := range h.chunks[:h.used] {
		dst = append(dst, c...)
	}
	return dst
}

// giveUp keeps the two ends of a message that p takes over the limit.
func (h *held) giveUp(p []byte) {
	h.over = &TooLong{Limit: h.limit}
	h.meter.Drop()
	for _, c := range append(h.chunks[:h.used:h.used], h.whole, p) {
		h.over.keep(c)
	}
	h.whole = nil
	h.release()
}

// keep adds p to the ends that are kept.
func (e *TooLong) keep(p []byte) {
	e.Prefix = append(e.Prefix, p[:min(prefixSize-len(e.Prefix), len(p))]...)
	p = p[max(len(p)-suffixSize, 0):]
	if n := len(e.Suffix) + len(p) - suffixSize; n > 0 {
		e.Suffix = e.Suffix[:copy(e.Suffix, e.Suffix[n:])]
	}
	e.Suffix = append(e.Suffix, p...)
}

// take returns the message, which is the caller's, and begins the next.
func (h *held) take() (message []byte, err error) {
	over, whole, size := h.over, h.whole, h.size
	h.over, h.whole, h.size = nil, nil, 0
	defer func() { h.meter.Keep(message) }()
	switch {
	case over != nil:
		over.Size = size
		return nil, over
	case whole != nil:
		return whole[:size:size], nil
	case h.used == 1:
		whole = append([]byte(nil), h.chunks[0]...)
	default:
		whole = h.join(make([]byte, 0, size))
	}
	h.release()
	return whole, nil
}

// release empties the chunks and keeps a few.
func (h *held) release() {
	spare := 0
	for i := range h.chunks {
		if spare += cap(h.chunks[i]); spare > spareSize {
			clear(h.chunks[i:])
			h.chunks = h.chunks[:i]
			break
		}
		h.chunks[i] = h.chunks[i][:0]
	}
	h.used = 0
}
