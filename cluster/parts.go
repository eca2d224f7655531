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
	"strconv"
)

const (
	// maxText limits a text in parts. The value that names the parts has at most MaxValue bytes.
	maxText  = 64 << 20
	partSize = 512 << 10
)

// parts stores texts that may be longer than a value. A short text is in the value itself.
type parts struct{ KV }

// head is the value of a long text. It names the parts.
type head struct {
	ID     string `json:"id"`
	Parts  int    `json:"parts"`
	Size   int    `json:"size"`
	SHA256 []byte `json:"sha256"`
}

// The first byte of the value of a text.
const (
	headInline = '='
	headParts  = '+'
)

func (h *head) key(part int) string { return h.ID + "." + strconv.Itoa(part) }

// write returns the value of a text. It stores the parts of a long text, which h names. Otherwise h is nil.
func (p parts) write(ctx context.Context, text []byte) (value []byte, h *head, err error) {
	switch {
	case len(text) > maxText:
		return nil, nil, fmt.Errorf("it has %d bytes, over %d", len(text), maxText)
	case len(text) <= partSize:
		return append([]byte{headInline}, text...), nil, nil
	}
	sum := sha256.Sum256(text)
	h = &head{ID: rand.Text(), Size: len(text), SHA256: sum[:], Parts: (len(text) + partSize - 1) / partSize}
	for i := range h.Parts {
		part := text[i*partSize : min((i+1)*partSize, len(text))]
		if _, err := p.Set(ctx, h.key(i), part, 0, 0); err != nil {
			return nil, nil, err
		}
	}
	encoded, err := json.Marshal(h)
	return append([]byte{headParts}, encoded...), h, err
}

// read returns the text of a value. If a part is not there, the error is ErrNotFound.
func (p parts) read(ctx context.Context, value []byte) ([]byte, error) {
	h, err := readHead(value)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return value[1:], nil
	}
	text := make([]byte, 0, h.Size)
	for i := range h.Parts {
		part, err := p.Get(ctx, h.key(i))
		if err != nil {
			return nil, err
		}
		text = append(text, part.Value...)
	}
	if sum := sha256.Sum256(text); len(text) != h.Size || !bytes.Equal(sum[:], h.SHA256) {
		return nil, errors.New("its parts do not match its head")
	}
	return text, nil
}

// readHead returns the head of a text in parts, or nil if the text follows in the value.
func readHead(value []byte) (*head, error) {
	switch {
	case len(value) == 0:
	case value[0] == headInline:
		return nil, nil
	case value[0] == headParts:
		var h head
		err := json.Unmarshal(value[1:], &h)
		if err == nil && h.Size > 0 && h.Size <= maxText && h.Parts == (h.Size+partSize-1)/partSize {
			return &h, nil
		}
	}
	return nil, errors.New("its head is none that this program knows: another program uses this name")
}

// remove removes the parts of a former head. What cannot be removed is an orphan.
func (p parts) remove(ctx context.Context, h *head) {
	for i := range cmp.Or(h, &head{}).Parts {
		if e, err := p.Get(ctx, h.key(i)); err == nil {
			_ = p.Delete(ctx, e.Key, e.Revision)
		}
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
	value, h, err := l.parts.write(ctx, data)
	if err != nil {
		return 0, err
	}
	sequence, err := l.Log.Append(ctx, value, after)
	if errors.Is(err, ErrConflict) {
		l.parts.remove(ctx, h)
	}
	return sequence, err
}

// Read implements [Log]. The reader gets a record that Append did not write as it is.
func (l *longLog) Read(ctx context.Context, after uint64, limit int) ([]Record, error) {
	records, err := l.Log.Read(ctx, after, limit)
	for i, r := range records {
		text, err := l.parts.read(ctx, r.Data)
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
