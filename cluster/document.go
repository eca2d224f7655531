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
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
)

const (
	// maxDocument limits the text of a document. The value of its head has at most MaxValue bytes.
	maxDocument = 64 << 20
	partSize    = 512 << 10
	headKey     = "head"
	// orphanAge is the age at which parts that no head names are removed: a process ended while it wrote them.
	orphanAge, orphanWait = time.Hour, 5 * time.Second
	// maxReads limits how often a document is read again because it was replaced meanwhile.
	maxReads  = 10
	retryLoad = 500 * time.Millisecond
)

// Document is a text that processes share. A text is replaced as a whole, and only if it is still the one that was
// read. A long text is stored in parts, and becomes visible in one step.
type Document struct {
	name         string
	engine       Engine
	heads, parts KV
	stop         context.CancelFunc
	running      sync.WaitGroup
	changed      chan struct{} // has a value if the engine has another revision
	watches      watch.List

	mu       sync.Mutex
	text     []byte // nil: there is no document
	revision uint64
	// announced is the revision of the last change. Until it is read, a read was old.
	announced uint64
}

// head is the value of the key of a document, if the text is in parts.
type head struct {
	ID     string `json:"id"`
	Parts  int    `json:"parts"`
	Size   int    `json:"size"`
	SHA256 []byte `json:"sha256"`
}

// The first byte of the value of a head.
const (
	headInline = '='
	headParts  = '+'
)

// OpenDocument opens the document of a name, which is 1 to 24 of a-z, 0-9 and "-". It returns once the text is read.
func OpenDocument(ctx context.Context, engine Engine, name string) (*Document, error) {
	d := &Document{
		name: name, engine: engine, heads: engine.KV("doc-" + name), parts: engine.KV("part-" + name),
		changed: make(chan struct{}, 1),
	}
	if _, _, err := d.Load(ctx); err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	d.running.Go(func() {
		_ = d.heads.Watch(run, func(c Change) {
			d.announce(c)
			select {
			case d.changed <- struct{}{}:
			default:
			}
		})
	})
	d.running.Go(func() { d.follow(run) })
	return d, nil
}

// Close ends the document in this process.
func (d *Document) Close() {
	d.stop()
	d.running.Wait()
}

// follow reads the text after each change.
func (d *Document) follow(ctx context.Context) {
	for {
		select {
		case <-d.changed:
		case <-ctx.Done():
			return
		}
		for {
			if _, revision, err := d.Load(ctx); err == nil && d.isCurrent(revision) {
				break
			}
			if !watch.Sleep(ctx, retryLoad) {
				return
			}
		}
	}
}

func (d *Document) announce(c Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.Key == headKey {
		d.announced = c.Revision
	}
}

// isCurrent reports whether a revision is as new as the last change.
func (d *Document) isCurrent(revision uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return revision >= d.announced
}

// Read returns the last known text, and its revision. A text of nil means that there is no document. While the engine
// cannot be reached, the text may be old.
func (d *Document) Read() (text []byte, revision uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text, d.revision
}

// Load returns the text from the engine. It may have been replaced some seconds before, see [KV].
func (d *Document) Load(ctx context.Context) (text []byte, revision uint64, err error) {
	for range maxReads {
		var e Entry
		e, err = d.heads.Get(ctx, headKey)
		if errors.Is(err, ErrNotFound) {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		text, err = d.textOf(ctx, e)
		if err == nil {
			d.note(text, e.Revision)
			return text, e.Revision, nil
		}
		if !errors.Is(err, ErrNotFound) { // else the text was replaced while its parts were read
			break
		}
	}
	return nil, 0, fmt.Errorf("document %s: %w", d.name, err)
}

// textOf returns the text of a head.
func (d *Document) textOf(ctx context.Context, e Entry) ([]byte, error) {
	h, err := readHead(e.Value)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return e.Value[1:], nil
	}
	text := make([]byte, 0, h.Size)
	for i := range h.Parts {
		part, err := d.parts.Get(ctx, h.key(i))
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
		if err == nil && h.Size > 0 && h.Size <= maxDocument && h.Parts == (h.Size+partSize-1)/partSize {
			return &h, nil
		}
	}
	return nil, errors.New("its head is none that this program knows: another program uses this name")
}

func (h *head) key(part int) string { return h.ID + "." + strconv.Itoa(part) }

// note keeps a text if it is newer than the known one.
func (d *Document) note(text []byte, revision uint64) {
	d.mu.Lock()
	isNew := revision > d.revision
	if isNew {
		d.text, d.revision = text, revision
	}
	d.mu.Unlock()
	if isNew {
		d.watches.Notify()
	}
}

// Replace stores a text if revision is still the revision of the document; 0 means that there is none. Otherwise the
// error wraps [ErrConflict].
func (d *Document) Replace(ctx context.Context, text []byte, revision uint64) error {
	if len(text) > maxDocument {
		return fmt.Errorf("document %s: it has %d bytes, over %d", d.name, len(text), maxDocument)
	}
	before, err := d.headAt(ctx, revision)
	if err != nil {
		return err
	}
	value := append([]byte{headInline}, text...)
	var h *head
	if len(text) > partSize {
		if h, err = d.writeParts(ctx, text); err != nil {
			return err
		}
		encoded, err := json.Marshal(h)
		if err != nil {
			return err
		}
		value = append([]byte{headParts}, encoded...)
	}
	stored, err := d.heads.Set(ctx, headKey, value, revision, 0)
	switch {
	case errors.Is(err, ErrConflict):
		d.removeParts(ctx, h)
		return err
	case err != nil: // the head may be stored: parts stay, and are removed as orphans
		return err
	}
	d.note(text, stored)
	d.removeParts(ctx, before)
	if h != nil {
		d.removeOrphans(ctx, h)
	}
	return nil
}

// headAt returns the head of a revision if the text is in parts, so that the parts can be removed afterwards.
func (d *Document) headAt(ctx context.Context, revision uint64) (*head, error) {
	d.mu.Lock()
	short := revision == d.revision && len(d.text) <= partSize
	d.mu.Unlock()
	if short || revision == 0 {
		return nil, nil
	}
	e, err := d.heads.Get(ctx, headKey)
	switch {
	case errors.Is(err, ErrNotFound) || err == nil && e.Revision != revision:
		return nil, fmt.Errorf("document %s: %w", d.name, ErrConflict)
	case err != nil:
		return nil, err
	}
	return readHead(e.Value)
}

// writeParts stores the parts of a text. No head names them yet.
func (d *Document) writeParts(ctx context.Context, text []byte) (*head, error) {
	sum := sha256.Sum256(text)
	h := &head{ID: rand.Text(), Size: len(text), SHA256: sum[:], Parts: (len(text) + partSize - 1) / partSize}
	for i := range h.Parts {
		part := text[i*partSize : min((i+1)*partSize, len(text))]
		if _, err := d.parts.Set(ctx, h.key(i), part, 0, 0); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// removeParts removes the parts of a former head. What cannot be removed is an orphan.
func (d *Document) removeParts(ctx context.Context, h *head) {
	for i := range cmp.Or(h, &head{}).Parts {
		if e, err := d.parts.Get(ctx, h.key(i)); err == nil {
			_ = d.parts.Delete(ctx, e.Key, e.Revision)
		}
	}
}

// removeOrphans removes old parts that do not belong to the head.
func (d *Document) removeOrphans(ctx context.Context, h *head) {
	ctx, cancel := context.WithTimeout(ctx, orphanWait)
	defer cancel()
	old := d.engine.Now().Add(-orphanAge)
	var orphans []Entry
	_ = d.parts.Watch(ctx, func(c Change) {
		switch {
		case c.Current:
			cancel()
		case !c.Gone && c.Stored.Before(old) && !strings.HasPrefix(c.Key, h.ID+"."):
			orphans = append(orphans, Entry{Key: c.Key, Revision: c.Revision})
		}
	})
	for _, e := range orphans {
		_ = d.parts.Delete(context.WithoutCancel(ctx), e.Key, e.Revision)
	}
}

// Watch calls changed after each change of the text, by any process, until stop has returned.
func (d *Document) Watch(changed func()) (stop func()) { return d.watches.Watch(changed) }
