package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/replica/cluster"
)

const (
	sharedName = "ledger"  // of the log, and of the KVs with this prefix
	archiveKey = "archive" // of the place of the newest archive
	readLimit  = 100       // records of one read
	// maxConflicts bounds the attempts of one append. Other writers were faster each time.
	maxConflicts = 200
	conflictWait = 20 * time.Millisecond // at most, after a conflict
	// maxRecord bounds the tool objects of a record, in bytes. A larger batch is several records, so that a server with
	// many large tools does not stop the log.
	maxRecord = 16 << 20
	// maxDoubts is the number of kept appends that were stored although they failed.
	maxDoubts = 64
)

// Shared is a [Log] in a cluster, which all its processes share. Its records have the lines that a [File] would have. A
// record is a batch, or an Archive entry. Records are never removed.
type Shared struct {
	log         cluster.Log
	keys        cluster.KV       // where the newest archive is
	runs        cluster.KV       // runs that go on, also if their process is gone
	leases      cluster.KV       // runs that go on
	lease       time.Duration    // of a run
	now         func() time.Time // of the cluster
	logger      *slog.Logger
	archiveSize int64 // archiveAt, or less in tests

	mu       sync.Mutex
	tail     *scan           // the records after start
	start    uint64          // the sequence of the record before the newest archive, or 0
	archived bool            // tail begins with an archive
	sequence uint64          // of the last record that was read
	size     int64           // of the records after start, in bytes
	warned   int             // number of damages of tail that were logged
	decided  approvals       // of all entries
	revision uint64          // of decided
	ended    map[string]bool // runs of this process that another process ended
	doubts   []*doubt
	removed  bool
	reaped   time.Time // the last time of mayReap
}

// doubt is an append that failed, and may be stored nevertheless.
type doubt struct {
	entries  []Entry // as they were passed to Append
	sequence uint64  // of its record, if it is stored
	lines    []byte
	result   []Entry // of Append
	isStored bool
}

var _ Log = (*Shared)(nil)

// OpenShared opens the log of a cluster. lease is the time after which a process that does not answer is gone. It reads
// the newest archive and the records after it.
func OpenShared(ctx context.Context, engine cluster.Engine, lease time.Duration, o *FileOptions) (*Shared, error) {
	l := &Shared{
		keys: engine.KV(sharedName), runs: engine.KV(sharedName + "-runs"), leases: engine.KV(sharedName + "-leases"),
		lease: lease, now: engine.Now, logger: slog.New(slog.DiscardHandler), archiveSize: archiveAt,
		ended: map[string]bool{},
	}
	if o != nil && o.Logger != nil {
		l.logger = o.Logger
	}
	var err error
	if l.log, err = cluster.OpenLog(ctx, engine, sharedName); err == nil {
		err = l.open(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return l, nil
}

// archivePlace is the value of archiveKey, which exists from the first record on.
type archivePlace struct {
	After uint64 `json:"after"` // the sequence before the archive
}

// open reads the log from the newest archive on. If there was a log, and there is none now, it begins a log with a
// [Reset].
func (l *Shared) open(ctx context.Context) error {
	e, err := l.keys.Get(ctx, archiveKey)
	existed := err == nil
	if err != nil && !errors.Is(err, cluster.ErrNotFound) {
		return err
	}
	var place archivePlace
	_ = json.Unmarshal(e.Value, &place) // if it is wrong, the whole log is read
	l.restart(place.After)
	if err := l.catchUp(ctx); err != nil {
		return err
	}
	if !l.archived && place.After > 0 {
		l.restart(0)
		if err := l.catchUp(ctx); err != nil {
			return err
		}
	}
	if existed && l.sequence == 0 {
		reset := Entry{Op: Reset, Run: string(NewKey()), Note: noteReset}
		if _, err := l.Append(ctx, reset); err != nil {
			return err
		}
		l.logger.Warn("the ledger of the cluster was removed: its approvals are not known")
		l.removed = true
	}
	if !existed && l.sequence > 0 || l.start != place.After {
		l.keep(ctx, e.Revision)
	}
	return nil
}

// keep stores where the newest archive is. If that fails, a later start reads more.
func (l *Shared) keep(ctx context.Context, revision uint64) {
	value, err := json.Marshal(archivePlace{l.start})
	if err == nil {
		_, err = l.keys.Set(ctx, archiveKey, value, revision, 0)
	}
	if err != nil && !errors.Is(err, cluster.ErrConflict) {
		l.logger.Warn("the next start reads more of the ledger", "err", err)
	}
}

// Removed reports whether l found that the log had been removed, and began a new log with a [Reset].
func (l *Shared) Removed() bool { return l.removed }

// restart prepares to read the records after a sequence.
func (l *Shared) restart(after uint64) {
	l.tail, l.start, l.sequence, l.size, l.warned = newScan(), after, after, 0, 0
	l.archived, l.decided = false, newApprovals()
	l.tail.each = func(r *record, _ []byte) { l.fold(r) }
	l.tail.eachCarried = func(r *record, _ []byte) { l.decided.addRecord(r) }
}

// fold takes the next entry.
func (l *Shared) fold(r *record) {
	l.decided.addRecord(r)
	l.revision++
	if _, isOwn := l.ended[r.Run]; isOwn && r.Op == End {
		l.ended[r.Run] = true
	}
}

// catchUp reads the records that other processes have written since. The caller holds mu.
func (l *Shared) catchUp(ctx context.Context) error {
	return l.each(ctx, l.sequence, l.add)
}

// each calls do with all records after a sequence.
func (l *Shared) each(ctx context.Context, after uint64, do func(cluster.Record)) error {
	for {
		records, err := l.log.Read(ctx, after, readLimit)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			do(r)
			after = r.Sequence
		}
	}
}

// add adds a record to tail.
func (l *Shared) add(r cluster.Record) {
	if l.isArchive(r.Data) {
		l.restart(r.Sequence - 1)
		l.archived = true
	}
	l.sequence = r.Sequence
	l.size += int64(len(r.Data))
	readRecord(l.tail, r)
	for _, d := range l.tail.Damage[l.warned:] {
		l.logger.Warn("the ledger is damaged", "what", d.String())
	}
	l.warned = len(l.tail.Damage)
	l.doubts = slices.DeleteFunc(l.doubts, func(d *doubt) bool {
		if d.sequence == r.Sequence {
			d.isStored = bytes.Equal(d.lines, r.Data)
		}
		return d.sequence <= r.Sequence && !d.isStored
	})
}

// isArchive reports whether a record is an archive of the records so far. Otherwise what is decided stays.
func (l *Shared) isArchive(data []byte) bool {
	if first, ok := firstEntry(data); !ok || first.Op != Archive {
		return false
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	r, err := readLine(line, l.tail.text)
	return err == nil && r.archivedLines() != nil && (l.tail.High == 0 || r.Prev == l.tail.Prev)
}

// readRecord passes the lines of a record to a scan, as a file of its own.
func readRecord(s *scan, r cluster.Record) {
	s.NextFile(fmt.Sprintf("record %d", r.Sequence))
	s.ReportTorn(s.read(r.Data), "")
}

// Append implements [Log]. It leaves out an Enroll that is not marked as changed, although the log has approved another
// version or has enrolled the server without this tool: another process was faster. So the first listing of a server is
// one in the whole cluster. If Append fails because the cluster cannot be reached, the entries may be stored. The next
// Append that begins with the same entries does not store them again. A batch over 16 MiB is several records.
func (l *Shared) Append(ctx context.Context, entries ...Entry) ([]Entry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for range maxConflicts {
		stored, err := l.tryAppend(ctx, entries)
		switch {
		case err == nil:
			return stored, nil
		case errors.Is(err, errPart):
			continue
		case !errors.Is(err, cluster.ErrConflict):
			return nil, fmt.Errorf("ledger: %w", err)
		}
		if !watch.Sleep(ctx, rand.N(conflictWait)) {
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("ledger: %w each time: if its records were removed, start again", cluster.ErrConflict)
}

// errPart means that the first entries of a batch are stored.
var errPart = errors.New("the batch is too large for one record")

// tryAppend appends entries after the last record.
func (l *Shared) tryAppend(ctx context.Context, entries []Entry) ([]Entry, error) {
	if err := l.catchUp(ctx); err != nil {
		return nil, err
	}
	stored, rest := l.takeStored(entries)
	n, listings := fittingCount(rest), firstListings(stored)
	isPart := n < len(rest)
	entries = entries[:len(entries)-len(rest)+n]
	rest = slices.DeleteFunc(slices.Clone(rest[:n]), func(e Entry) bool { return l.isLate(e, listings) })
	if len(rest) > 0 {
		batch, lines := l.tail.records(rest)
		all := slices.Clone(stored)
		for _, r := range batch {
			all = append(all, r.Entry)
		}
		sequence, err := l.log.Append(ctx, lines, l.sequence)
		switch {
		case errors.Is(err, cluster.ErrConflict):
			return nil, err
		case err != nil:
			l.doubts = append(l.doubts, &doubt{
				entries: slices.Clone(entries), sequence: l.sequence + 1, lines: lines, result: all,
			})
			l.doubts = l.doubts[max(0, len(l.doubts)-maxDoubts):]
			return nil, err
		}
		stored = all
		l.add(cluster.Record{Sequence: sequence, Data: lines})
		if sequence == 1 {
			l.keep(ctx, 0)
		}
	}
	l.doubts = slices.DeleteFunc(l.doubts, func(d *doubt) bool { return isPrefix(d.entries, entries) })
	if isPart {
		l.doubts = append(l.doubts, &doubt{entries: slices.Clone(entries), result: stored, isStored: true})
		return nil, errPart
	}
	if l.size >= l.tail.archiveSize(l.archiveSize) {
		if err := l.archive(ctx); err != nil && !errors.Is(err, cluster.ErrConflict) {
			l.tail.grown = l.size // it is tried again when the log has grown by as much again
			l.logger.Warn("the ledger of the cluster gets no archive, and a start reads more", "err", err)
		}
	}
	return stored, nil
}

// takeStored returns the result of an earlier Append with the first of the entries that was stored although it failed,
// and the other entries.
func (l *Shared) takeStored(entries []Entry) (stored, rest []Entry) {
	known := 0
	for _, d := range l.doubts {
		if d.isStored && len(d.entries) >= known && isPrefix(d.entries, entries) {
			known, stored = len(d.entries), d.result
		}
	}
	return stored, entries[known:]
}

// fittingCount returns the number of entries that fit into a record.
func fittingCount(entries []Entry) int {
	size := 0
	for i, e := range entries {
		if e.Capability != nil {
			size += len(e.Capability.Wire.JSON)
		}
		if size > maxRecord && i > 0 {
			return i
		}
	}
	return len(entries)
}

func isPrefix(a, b []Entry) bool { return len(a) <= len(b) && slices.Equal(a, b[:len(a)]) }

// isLate reports whether an entry takes a version for approved that is not. listings has the first listings that began
// in an earlier record of the same batch.
func (l *Shared) isLate(e Entry, listings map[listing]bool) bool {
	if e.Op != Enroll || e.Changed {
		return false
	}
	t := e.toolID()
	_, known := l.decided.sums[t]
	belongs := e.Note == noteDeclared || listings[listingOf(e)]
	if !known && belongs && l.decided.enrolled[origin{e.Server, e.Config}] == e.Run {
		return false // to the first listing
	}
	return l.decided.isChanged(t, newRecord(e).toolVersion())
}

// listing identifies the Enrolls of one listing of a server.
type listing struct {
	origin
	at int64
}

func listingOf(e Entry) listing { return listing{origin{e.Server, e.Config}, e.At.UnixMilli()} }

// firstListings returns the listings that stored entries enrolled.
func firstListings(stored []Entry) map[listing]bool {
	all := map[listing]bool{}
	for _, e := range stored {
		if e.Op == Enroll && !e.Changed {
			all[listingOf(e)] = true
		}
	}
	return all
}

// archive appends an Archive entry. If another process does, the error is [cluster.ErrConflict].
func (l *Shared) archive(ctx context.Context) error {
	var text []byte
	err := l.each(ctx, l.start, func(r cluster.Record) {
		if r.Sequence <= l.sequence {
			text = append(text, r.Data...)
		}
	})
	if err != nil {
		return err
	}
	line := l.tail.firstLine(archiveBody(text), fmt.Sprintf("record %d", l.sequence))
	if len(line) > maxFirst {
		return fmt.Errorf("it holds %d MiB of tools that are approved or live", len(line)>>20)
	}
	sequence, err := l.log.Append(ctx, line, l.sequence)
	if err != nil {
		return err
	}
	l.add(cluster.Record{Sequence: sequence, Data: line})
	e, err := l.keys.Get(ctx, archiveKey)
	if err == nil || errors.Is(err, cluster.ErrNotFound) {
		l.keep(ctx, e.Revision)
	}
	return nil
}

// Read implements [Log].
func (l *Shared) Read(ctx context.Context, after uint64) ([]Entry, error) {
	start, isCurrent, err := l.position(ctx, after)
	if err != nil || isCurrent {
		return nil, err
	}
	return l.read(ctx, start, after)
}

// position returns the sequence after which the entries after a number are found. isCurrent reports that there are
// none.
func (l *Shared) position(ctx context.Context, after uint64) (start uint64, isCurrent bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.catchUp(ctx); err != nil {
		return 0, false, fmt.Errorf("ledger: %w", err)
	}
	if after > 0 && after+1 < l.tail.first.Seq {
		return 0, false, nil
	}
	return l.start, after > 0 && after == l.tail.High, nil
}

// History returns all entries.
func (l *Shared) History(ctx context.Context) ([]Entry, error) { return l.read(ctx, 0, 0) }

func (l *Shared) read(ctx context.Context, start, after uint64) ([]Entry, error) {
	entries, _, err := collectEntries(after, func(s *scan) error { return l.scan(ctx, s, start) })
	return entries, err
}

// scan reads the records after start.
func (l *Shared) scan(ctx context.Context, s *scan, start uint64) error {
	if err := l.each(ctx, start, func(r cluster.Record) { readRecord(s, r) }); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// Verify reads all records, and reports damage as [File.Verify] does.
func (l *Shared) Verify(ctx context.Context, heads ...Head) (*Report, error) {
	return verifyLog(heads, func(s *scan) (string, error) { return "", l.scan(ctx, s, 0) })
}

// approvals returns what is decided, and its revision. It returns nil if nothing was decided after a revision. If
// current is set, it reads the log before.
func (l *Shared) approvals(ctx context.Context, after uint64, current bool) (*approvals, uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if current {
		if err := l.catchUp(ctx); err != nil {
			return nil, 0, err
		}
	}
	if after == l.revision {
		return nil, after, nil
	}
	decided := newApprovals()
	l.decided.copyTo(decided)
	return &decided, l.revision, nil
}

// takeEnded reports whether another process ended a run that goes on.
func (l *Shared) takeEnded(run string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	isEnded, isOwn := l.ended[run]
	if isOwn {
		l.ended[run] = false
	}
	return isEnded
}
