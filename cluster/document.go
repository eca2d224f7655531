package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/watch"
)

const (
	headKey = "head"
	// turnKey is held by the process that writes the parts of a text. Others then write none. It expires after turnTime
	// if that process has ended.
	turnKey, turnTime = "turn", 5 * time.Second
	// orphanAge is the age at which parts that no head names are removed: a process ended while it wrote them.
	orphanAge, orphanWait = time.Hour, 5 * time.Second
	// maxReads limits how often a document is read again because it was replaced meanwhile.
	maxReads  = 10
	retryLoad = 500 * time.Millisecond
)

// Document is a text that processes share. A text is replaced as a whole, and only if it is still the one that was
// read. A long text is stored in parts, and becomes visible in one step.
type Document struct {
	name    string
	engine  Engine
	heads   KV
	parts   parts
	stop    context.CancelFunc
	running sync.WaitGroup
	changed chan struct{} // has a value if the engine has another revision
	watches watch.List
	// announced is the revision of the last change. Until it is read, a read was old.
	announced atomic.Uint64

	mu       sync.Mutex
	swept    time.Time // orphans were removed; this reads all parts
	text     []byte    // nil: there is no document
	revision uint64
}

// OpenDocument opens the document of a name, which is 1 to 24 of a-z, 0-9 and "-". It returns once the text is read.
func OpenDocument(ctx context.Context, engine Engine, name string) (*Document, error) {
	d := &Document{
		name: name, engine: engine, heads: engine.KV("doc-" + name), parts: parts{engine.KV("part-" + name)},
		changed: make(chan struct{}, 1),
	}
	if _, _, err := d.Load(ctx); err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	d.running.Go(func() {
		_ = d.heads.Watch(run, func(c Change) {
			if c.Key == headKey {
				d.announced.Store(c.Revision)
			}
			watch.Signal(d.changed)
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
			if _, known := d.Read(); known > 0 && known >= d.announced.Load() { // a change by this process
				break
			}
			if _, revision, err := d.Load(ctx); err == nil && revision >= d.announced.Load() {
				break
			}
			if !watch.Sleep(ctx, retryLoad) {
				return
			}
		}
	}
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
		if known, at := d.Read(); at == e.Revision {
			return known, at, nil
		}
		text, err = d.parts.read(ctx, e.Value)
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
// error wraps [ErrConflict]. While another process writes a long text, the error is ErrConflict too, and no part of
// this text is written.
func (d *Document) Replace(ctx context.Context, text []byte, revision uint64) error {
	if len(text) > partSize {
		end, err := d.turn(ctx)
		if err != nil {
			return fmt.Errorf("document %s: %w", d.name, err)
		}
		defer end()
	}
	before, err := d.headAt(ctx, revision, len(text) > partSize)
	if err != nil {
		return err
	}
	value, h, err := d.parts.write(ctx, text)
	if err != nil {
		return fmt.Errorf("document %s: %w", d.name, err)
	}
	stored, err := d.heads.Set(ctx, headKey, value, revision, 0)
	switch {
	case errors.Is(err, ErrConflict):
		d.parts.remove(ctx, h)
		return err
	case err != nil: // the head may be stored: parts stay, and are removed as orphans
		return err
	}
	d.note(text, stored)
	d.parts.remove(ctx, before)
	if h != nil {
		d.removeOrphans(ctx, h)
	}
	return nil
}

// turn begins to write a long text, or returns ErrConflict if another process writes one.
func (d *Document) turn(ctx context.Context) (end func(), err error) {
	revision, err := d.heads.Set(ctx, turnKey, nil, 0, turnTime)
	if err != nil {
		return nil, err
	}
	return func() { _ = d.heads.Delete(context.WithoutCancel(ctx), turnKey, revision) }, nil // otherwise it expires
}

// headAt returns the head of a revision if the text is in parts, so that the parts can be removed afterwards. If check
// is set, it finds out whether the document still has this revision.
func (d *Document) headAt(ctx context.Context, revision uint64, check bool) (*head, error) {
	d.mu.Lock()
	short := revision == d.revision && len(d.text) <= partSize
	d.mu.Unlock()
	if !check && (short || revision == 0) {
		return nil, nil
	}
	e, err := d.heads.Get(ctx, headKey)
	switch {
	case errors.Is(err, ErrNotFound) && revision == 0:
		return nil, nil
	case errors.Is(err, ErrNotFound) || err == nil && e.Revision != revision:
		return nil, fmt.Errorf("document %s: %w", d.name, ErrConflict)
	case err != nil:
		return nil, err
	}
	return readHead(e.Value)
}

// removeOrphans removes old parts that do not belong to the head, at most once in the time in which parts become old.
func (d *Document) removeOrphans(ctx context.Context, h *head) {
	now := d.engine.Now()
	old := now.Add(-orphanAge)
	d.mu.Lock()
	isSwept := d.swept.After(old)
	if !isSwept {
		d.swept = now
	}
	d.mu.Unlock()
	if isSwept {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, orphanWait)
	defer cancel()
	all, _ := Entries(ctx, d.parts.KV)
	for _, e := range all {
		if e.Stored.Before(old) && !strings.HasPrefix(e.Key, h.ID+".") {
			_ = d.parts.Delete(context.WithoutCancel(ctx), e.Key, e.Revision)
		}
	}
}

// Watch calls changed after each change of the text, by any process, until stop has returned.
func (d *Document) Watch(changed func()) (stop func()) { return d.watches.Watch(changed) }
