package cluster

import (
	"cmp"
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
	// turnKey is held by a process that writes parts. Others then write none. It expires after turnTime
	// if that process has ended.
	turnKey, turnTime = "turn", 5 * time.Second
	// orphanAge is the age at which parts that no head names are removed: a process ended while it wrote them.
	orphanAge, orphanWait = time.Hour, 5 * time.Second
	// maxReads limits how often a document is read again because it was replaced meanwhile.
	maxReads  = 10
	retryLoad = 500 * time.Millisecond
)

// Document is a text that processes share. A text is replaced as a whole, and only if it is still the one that was
// read. A long text is stored in parts, and becomes visible in one step. A later text is stored as its difference from
// the text in the parts if few lines differ, so that a change of a long text is a short write.
type Document struct {
	name      string
	engine    Engine
	heads     KV
	parts     parts
	stop      context.CancelFunc
	running   sync.WaitGroup
	changed   chan struct{} // has a value if the engine has another revision
	watches   watch.List
	announced atomic.Pointer[Entry] // the head after the last change

	mu       sync.Mutex
	swept    time.Time // orphans were removed; this reads all parts
	text     []byte    // nil: there is no document
	base     *longText // of text; nil: the head has the whole text
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
				d.announced.Store(&c.Entry)
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
			e := cmp.Or(d.announced.Load(), &Entry{})
			if _, known := d.Read(); known > 0 && known >= e.Revision { // a change by this process
				break
			}
			if _, err := d.take(ctx, *e); err == nil {
				break
			}
			if _, revision, err := d.Load(ctx); err == nil && revision >= e.Revision { // else the read was old
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
		if text, err = d.take(ctx, e); err == nil {
			return text, e.Revision, nil
		}
		if !errors.Is(err, ErrNotFound) { // else the text was replaced while its parts were read
			break
		}
	}
	return nil, 0, fmt.Errorf("document %s: %w", d.name, err)
}

// take reads the text of a head, and keeps it.
func (d *Document) take(ctx context.Context, e Entry) (text []byte, err error) {
	d.mu.Lock()
	known := d.base
	d.mu.Unlock()
	text, base, err := d.parts.read(ctx, e.Value, known)
	if err == nil {
		d.note(text, base, e.Revision)
	}
	return text, err
}

// note keeps a text if it is newer than the known one.
func (d *Document) note(text []byte, base *longText, revision uint64) {
	d.mu.Lock()
	isNew := revision > d.revision
	if isNew {
		d.text, d.base, d.revision = text, base, revision
	}
	d.mu.Unlock()
	if isNew {
		d.watches.Notify()
	}
}

// Replace stores a text if revision is still the revision of the document; 0 means that there is none. Otherwise the
// error wraps [ErrConflict]. While another process writes parts, the error is ErrConflict too if this text needs parts,
// and none of them is written.
func (d *Document) Replace(ctx context.Context, text []byte, revision uint64) error {
	d.mu.Lock()
	before, former, known := d.text, d.base, d.revision
	d.mu.Unlock()
	if revision != known { // this is a conflict, or the text is gone
		before, former = nil, nil
	}
	value, next := shortValue(text, before, former)
	if value == nil {
		end, err := d.turn(ctx, revision)
		if err != nil {
			return fmt.Errorf("document %s: %w", d.name, err)
		}
		defer end()
		if value, next, err = d.parts.write(ctx, text); err != nil {
			return fmt.Errorf("document %s: %w", d.name, err)
		}
	}
	isNew := next != nil && next != former
	stored, err := d.heads.Set(ctx, headKey, value, revision, 0)
	switch {
	case errors.Is(err, ErrConflict):
		if isNew {
			d.parts.remove(ctx, next)
		}
		return err
	case err != nil: // the head may be stored: parts stay, and are removed as orphans
		return err
	}
	d.note(text, next, stored)
	if former != next {
		d.parts.remove(ctx, former)
	}
	if isNew {
		d.removeOrphans(ctx, next)
	}
	return nil
}

// turn begins to write parts. It returns ErrConflict if another process writes some, or has changed the revision.
func (d *Document) turn(ctx context.Context, revision uint64) (end func(), err error) {
	turn, err := d.heads.Set(ctx, turnKey, nil, 0, turnTime)
	if err != nil {
		return nil, err
	}
	end = func() { _ = d.heads.Delete(context.WithoutCancel(ctx), turnKey, turn) } // otherwise it expires
	e, err := d.heads.Get(ctx, headKey)
	switch {
	case errors.Is(err, ErrNotFound) && revision == 0, err == nil && e.Revision == revision:
		return end, nil
	case errors.Is(err, ErrNotFound), err == nil:
		err = ErrConflict
	}
	end()
	return nil, err
}

// removeOrphans removes old parts that do not belong to current, at most once in the time in which parts become old.
func (d *Document) removeOrphans(ctx context.Context, current *longText) {
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
		if e.Stored.Before(old) && !strings.HasPrefix(e.Key, current.ID+".") {
			_ = d.parts.Delete(context.WithoutCancel(ctx), e.Key, e.Revision)
		}
	}
}

// Watch calls changed after each change of the text, by any process, until stop has returned.
func (d *Document) Watch(changed func()) (stop func()) { return d.watches.Watch(changed) }
