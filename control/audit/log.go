package audit

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/oklog/ulid/v2"
)

// OnFull selects the action if a record cannot be written.
type OnFull int

const (
	// Stop makes Append return an error. The caller refuses requests while [Log.Ready] returns an error.
	Stop OnFull = iota
	// Continue makes Append return nil. The lost records are counted, and a Gap record follows as soon as the file can
	// be written again.
	Continue
)

// Options configures a [Log]. Nil and the zero value are valid.
type Options struct {
	// MaxSize is the size in bytes at which a new file begins. 0 means [DefaultMaxSize].
	MaxSize int64
	// MaxAge is the age of a file at which a new file begins. 0 means that the age does not matter.
	MaxAge time.Duration
	// Keep is the number of earlier files that are kept. 0 means all.
	Keep int
	// OnFull selects the action if a record cannot be written. The zero value is [Stop].
	OnFull OnFull
	// Sync makes Append wait until the record is on the disk, so that it survives a failure of the machine. Otherwise a
	// record survives the end of the process only.
	Sync bool
	// Logger logs failures and damage. If it is nil, nothing is logged.
	Logger *slog.Logger
}

// DefaultMaxSize is the size at which a new file begins, in bytes.
const DefaultMaxSize = 100 << 20

// ErrClosed is returned after Close.
var ErrClosed = errors.New("audit: the log is closed")

// Log appends records to a file. Any goroutine may call its methods.
type Log struct {
	options  Options
	logger   *slog.Logger
	failed   atomic.Bool // the last write failed
	watchers watch.List

	// writing orders the writes. A goroutine that holds it may take mu, and not the other way round.
	writing sync.Mutex
	file    *writtenFile

	// mu guards the encoding of records.
	mu      sync.Mutex
	pending *batch // records that are not written
	spare   *batch // for reuse; nil: none
	end     Head   // after the pending records
	notes   []Record
	lost    lost
	closed  bool
}

// lost counts the records that could not be written, and that no Gap record counts yet.
type lost struct {
	records uint64
	refused uint64 // requests that were refused meanwhile: see Ready
	since   time.Time
	err     error
}

// batch holds the lines of records that are written together. Each of its callers waits for writing. The first that
// gets it writes the batch.
type batch struct {
	lines   []byte
	end     Head   // after its last record
	records uint64 // records of callers
	callers int    // callers that have not looked at written
	// notes and lost are the records about the log itself that the batch begins with.
	notes   []Record
	lost    uint64
	written bool
	err     error
}

// Open opens the log at path, or creates it for the owner only. A last line without an end is cut off, and a Torn
// record is written. If another process writes the file, the error names it.
func Open(path string, o *Options) (*Log, error) {
	l := &Log{pending: &batch{}}
	if o != nil {
		l.options = *o
	}
	l.logger = cmp.Or(l.options.Logger, slog.New(slog.DiscardHandler))
	l.options.MaxSize = cmp.Or(l.options.MaxSize, DefaultMaxSize)
	f, err := openFile(path, l)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l.file = f
	l.end = f.end
	l.note(Record{Type: TypeOpen, Outcome: Allowed, Reason: f.opened})
	if err := l.append(nil); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return l, nil
}

// note adds a record about the log itself before the next record.
func (l *Log) note(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, r)
}

// Append writes a record and sets its ID, At, Seq, Previous and Hash. When it returns nil, the record survives the end
// of the process. Call it before the request is answered. With [Continue], it also returns nil if the record could not
// be written.
func (l *Log) Append(r *Record) error {
	defer l.watchers.Notify()
	return l.append(r)
}

// Watch calls changed after each Append, until stop has returned. changed must not block.
func (l *Log) Watch(changed func()) (stop func()) { return l.watchers.Watch(changed) }

// Ready reports whether the next record can probably be written. It returns nil, at no cost, unless the last Append
// failed. In that case it tries to write again. With [Continue] it always returns nil. Call it before a request is
// passed to a server. The Gap record has the number of errors that Ready returned, which is that of refused requests.
func (l *Log) Ready() error {
	if !l.failed.Load() || l.options.OnFull == Continue {
		return nil
	}
	err := l.append(nil)
	if err != nil {
		l.mu.Lock()
		l.lost.refused++
		l.mu.Unlock()
	}
	return err
}

// append writes a record, or only the records about the log itself if r is nil.
func (l *Log) append(r *Record) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	b := l.pending
	b.callers++
	l.encodeNotes(b)
	if r != nil {
		b.records++
		l.encode(b, r)
	}
	l.mu.Unlock()

	l.writing.Lock()
	defer l.writing.Unlock()
	if !b.written {
		l.write(l.takePending())
	}
	err := b.err
	b.callers--
	if b.callers == 0 {
		l.recycle(b)
	}
	return err
}

// encodeNotes encodes the records about the log itself into an empty batch.
func (l *Log) encodeNotes(b *batch) {
	if len(b.lines) > 0 || len(l.notes) == 0 && l.lost.records == 0 {
		return
	}
	b.notes, b.lost = l.notes, l.lost.records
	l.notes, l.lost.records = nil, 0
	for i := range b.notes {
		l.encode(b, &b.notes[i])
	}
	if b.lost > 0 {
		reason := fmt.Sprintf("since %s: %v", l.lost.since.UTC().Format(time.RFC3339), l.lost.err)
		if l.lost.refused > 0 {
			reason += fmt.Sprintf("; refused requests: %d", l.lost.refused)
		}
		l.encode(b, &Record{Type: TypeGap, Outcome: Error, Lost: b.lost, ErrorKind: "audit", Reason: reason})
	}
}

// encode appends the line of a record to a batch. The caller holds mu.
func (l *Log) encode(b *batch, r *Record) {
	now := time.Now()
	if r.ID == "" {
		r.ID = newID(now)
	}
	r.normalize(now)
	r.Seq, r.Previous = l.end.Seq+1, l.end.Hash
	b.lines = r.appendLine(b.lines)
	l.end = Head{Seq: r.Seq, Hash: r.Hash}
	b.end = l.end
}

// newID returns a ULID. Seq has the order of records of one millisecond.
func newID(now time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(now)) // it fails after the year 10889
	binary.BigEndian.PutUint16(id[6:], uint16(rand.Uint32()))
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	return id.String()
}

// takePending returns the pending batch, and begins a new one. The caller holds writing.
func (l *Log) takePending() *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.pending
	l.pending = l.spare
	l.spare = nil
	if l.pending == nil {
		l.pending = &batch{}
	}
	return b
}

// maxSpare is the size of the largest buffer that is kept, in bytes.
const maxSpare = 1 << 20

func (l *Log) recycle(b *batch) {
	if cap(b.lines) > maxSpare {
		return
	}
	*b = batch{lines: b.lines[:0]}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = b
}

// write writes a batch. The caller holds writing.
func (l *Log) write(b *batch) {
	b.written = true
	if len(b.lines) == 0 {
		return
	}
	err := l.file.write(b.lines, b.end)
	if err != nil {
		l.fail(b, fmt.Errorf("audit: %w", err))
		return
	}
	if l.failed.Swap(false) {
		l.mu.Lock()
		l.lost.refused = 0
		l.mu.Unlock()
		l.logger.Warn("audit records are written again", "path", l.file.path, "lost", b.lost)
	}
	l.file.removeDoomed(b.notes)
}

// fail counts the records of a batch as lost, and those that were encoded after it. The chain goes back to the end of
// the file.
func (l *Log) fail(b *batch, err error) {
	first := !l.failed.Swap(true)
	if first {
		l.logger.Error("audit records cannot be written", "path", l.file.path, "err", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if first {
		l.lost.since = time.Now()
	}
	l.lost.err = err
	next := l.pending
	l.pending = &batch{}
	for _, failed := range []*batch{next, b} {
		l.lost.records += failed.lost + failed.records
		l.notes = append(failed.notes, l.notes...)
		failed.written = true
		if l.options.OnFull == Stop {
			failed.err = err
		}
	}
	l.end = l.file.end
}

// Close closes the file. It may be called twice.
func (l *Log) Close() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	closed, b := l.closed, l.pending
	l.closed = true
	l.failed.Store(true) // Ready returns ErrClosed
	l.mu.Unlock()
	if closed {
		return nil
	}
	if !b.written {
		l.write(l.takePending()) // of callers that wait
	}
	if err := l.file.close(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if l.file.end.Seq == 1 && isOwnPath(l.file.path) { // it has only the record of Open
		return errors.Join(os.Remove(l.file.path), os.Remove(lockPath(l.file.path)))
	}
	return nil
}
