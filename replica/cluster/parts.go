package cluster

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

const (
	// maxText limits a text in parts. The value that names the parts has at most MaxValue bytes.
	maxText  = 64 << 20
	partSize = 512 << 10
)

// parts stores texts that may be longer than a value. A short text is in the value itself.
type parts struct{ KV }

// head is the value of a long text. It names the parts of a base, and what of the base is in the text.
type head struct {
	ID        string   `json:"id"`
	Parts     int      `json:"parts"`
	Size      int      `json:"size"` // of the base
	SHA256    []byte   `json:"sha256"`
	Revisions []uint64 `json:"revisions"` // of the parts
	// Pieces are those of the text. Without any, the text is the base.
	Pieces []piece `json:"pieces,omitempty"`
}

// longText is a text in parts. The head has no pieces. Do not change it.
type longText struct {
	head
	text []byte
}

// The first byte of the value of a text.
const (
	headInline = '='
	headParts  = '+' // JSON, a line break and the bytes of the pieces that are new
)

func (h *head) key(part int) string { return h.ID + "." + strconv.Itoa(part) }

// value returns the value of a text that has these pieces of the base.
func (h head) value(pieces []piece, added []byte) []byte {
	h.Pieces = pieces
	encoded, _ := json.Marshal(h) // it has numbers, letters and bytes
	return slices.Concat([]byte{headParts}, encoded, []byte{'\n'}, added)
}

// inline returns the value of a text that is in the value.
func inline(text []byte) []byte { return append([]byte{headInline}, text...) }

// write stores a text in parts, and returns its value.
func (p parts) write(ctx context.Context, text []byte) (value []byte, b *longText, err error) {
	if len(text) > maxText {
		return nil, nil, fmt.Errorf("it has %d bytes, over %d", len(text), maxText)
	}
	sum := sha256.Sum256(text)
	h := head{ID: rand.Text(), Size: len(text), SHA256: sum[:], Parts: (len(text) + partSize - 1) / partSize}
	b = &longText{h, text}
	for part := range slices.Chunk(text, partSize) {
		revision, err := p.Set(ctx, b.key(len(b.Revisions)), part, 0, 0)
		if err != nil {
			return nil, nil, err
		}
		b.Revisions = append(b.Revisions, revision)
	}
	return b.value(nil, nil), b, nil
}

// read returns the text of a value, and its base if the value has not the whole text. The parts of the known base are
// not read again. If a part is not there, the error is ErrNotFound.
func (p parts) read(ctx context.Context, value []byte, known *longText) ([]byte, *longText, error) {
	h, added, err := readHead(value)
	if err != nil || h == nil {
		return added, nil, err
	}
	if known == nil || known.ID != h.ID {
		known = &longText{*h, make([]byte, 0, h.Size)}
		known.Pieces = nil
		for i := range h.Parts {
			part, err := p.Get(ctx, h.key(i))
			if err != nil {
				return nil, nil, err
			}
			known.text = append(known.text, part.Value...)
		}
		if sum := sha256.Sum256(known.text); len(known.text) != h.Size || !bytes.Equal(sum[:], h.SHA256) {
			return nil, nil, errors.New("its parts do not match its head")
		}
	}
	if len(h.Pieces) == 0 {
		return known.text, known, nil
	}
	text, err := joinPieces(h.Pieces, known.text, added)
	return text, known, err
}

// errHead is returned for a value that Document did not write.
var errHead = errors.New("its head is none that this program knows: another program uses this name")

// readHead returns the head of a text in parts, and the bytes that follow it. h is nil if these are the text.
func readHead(value []byte) (h *head, rest []byte, err error) {
	switch {
	case len(value) == 0:
	case value[0] == headInline:
		return nil, value[1:], nil
	case value[0] == headParts:
		encoded, rest, _ := bytes.Cut(value[1:], []byte("\n"))
		h := &head{}
		err := json.Unmarshal(encoded, h)
		if err == nil && h.Size > 0 && h.Size <= maxText && h.Parts == (h.Size+partSize-1)/partSize {
			return h, rest, nil
		}
	}
	return nil, nil, errHead
}

// remove removes the parts of a base that no head names. What cannot be removed is an orphan.
func (p parts) remove(ctx context.Context, b *longText) {
	for i, revision := range cmp.Or(b, &longText{}).Revisions {
		_ = p.Delete(ctx, b.key(i), revision)
	}
}

// longLog is a log of an engine with records of any length.
type longLog struct {
	Log
	parts parts
}

// OpenLog opens the log of a name, which is 1 to 24 of a-z, 0-9 and "-". Unlike the log of the engine, its records may
// have up to 64 MiB. A long record becomes visible in one step.
func OpenLog(ctx context.Context, engine Engine, name string) (Log, error) {
	log, err := engine.Log(ctx, name)
	return &longLog{log, parts{engine.KV("part-log-" + name)}}, err
}

// Append implements [Log]. If the answer is lost, the parts of a long record stay: the record may be stored.
func (l *longLog) Append(ctx context.Context, data []byte, after uint64) (uint64, error) {
	if len(data) <= partSize {
		return l.Log.Append(ctx, inline(data), after)
	}
	value, b, err := l.parts.write(ctx, data)
	if err != nil {
		return 0, err
	}
	sequence, err := l.Log.Append(ctx, value, after)
	if errors.Is(err, ErrConflict) {
		l.parts.remove(ctx, b)
	}
	return sequence, err
}

// Read implements [Log]. The reader gets a record that Append did not write as it is.
func (l *longLog) Read(ctx context.Context, after uint64, limit int) ([]Record, error) {
	records, err := l.Log.Read(ctx, after, limit)
	for i, r := range records {
		text, _, err := l.parts.read(ctx, r.Data, nil)
		switch {
		case err == nil:
			records[i].Data = text
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrUnavailable), ctx.Err() != nil:
			return nil, fmt.Errorf("record %d: %w", r.Sequence, err)
		}
	}
	return records, err
}

// Entries returns the entries of a KV as they are now.
func Entries(ctx context.Context, kv KV) (all []Entry, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	isComplete := false
	err = kv.Watch(ctx, func(c Change) {
		switch {
		case c.Current:
			isComplete = true
			stop()
		case !c.Gone && !isComplete:
			all = append(all, c.Entry)
		}
	})
	if isComplete {
		return all, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
}
