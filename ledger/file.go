package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/filelock"
)

// FileOptions tune a [File]. nil and the zero value are good.
type FileOptions struct {
	// Logger hears of damage. nil: silent.
	Logger *slog.Logger
}

// File is a [Log] in one file of JSON Lines, which any number of processes of one
// machine share. The file is opened, and a lock beside it held, for each append
// alone: there is nothing to close. Reading takes no lock but to see where the last
// whole line ends.
type File struct {
	path   string
	logger *slog.Logger
	sync   func(*os.File) error // tests count

	mu   sync.Mutex
	tail *scan       // what was read so far
	info os.FileInfo // of the file that it was read from
	seen int         // damages of tail that were reported
	last lastRead

	leased sync.Map // run: its file, which would be closed if nobody knew of it
}

// lastRead is up to where a log was read, so that who asks again and again learns
// cheaply that there is nothing new.
type lastRead struct {
	info os.FileInfo
	high uint64
}

var _ Log = (*File)(nil)

// OpenFile opens the log at path, and makes it where there is none, with its
// directory, for nobody but its owner. A line at its end that was cut off is
// removed: no [File.Append] has returned for it. Else the log is not read before the
// first Read or Append. ctx bounds the wait for the lock.
func OpenFile(ctx context.Context, path string, o *FileOptions) (*File, error) {
	f := &File{path: path, logger: slog.New(slog.DiscardHandler), sync: (*os.File).Sync}
	if o != nil && o.Logger != nil {
		f.logger = o.Logger
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.mend(ctx); err != nil {
		return f, fmt.Errorf("ledger: %w", err)
	}
	return f, nil
}

// mend cuts a torn end. It reads the log only where there is one: who opens it reads it
// anyway, or appends in the background.
func (f *File) mend(ctx context.Context) error {
	unlock, err := filelock.Lock(ctx, f.path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	file, err := f.open()
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := f.stat(file)
	if err != nil || info.Size() == 0 {
		return err
	}
	end := make([]byte, 1)
	if _, err := file.ReadAt(end, info.Size()-1); err != nil {
		return err
	}
	if end[0] == '\n' {
		return nil
	}
	return f.catchUp(file)
}

// Damage is what was found wrong while the log was read, so far.
func (f *File) Damage() []Damage {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tail == nil {
		return nil
	}
	return slices.Clone(f.tail.damage)
}

// locked calls do with the file, in which tail stands at the end, and with the lock
// held: nobody else writes. Call it with mu held.
func (f *File) locked(ctx context.Context, do func(*os.File) error) error {
	unlock, err := filelock.Lock(ctx, f.path+".lock")
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer unlock()
	file, err := f.open()
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer file.Close()
	if err := f.catchUp(file); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if err := do(file); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

func (f *File) open() (*os.File, error) {
	file, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if !errors.Is(err, os.ErrNotExist) {
		return file, err
	}
	file, err = os.OpenFile(f.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		syncDir(f.path)
	}
	return file, err
}

func (f *File) stat(file *os.File) (os.FileInfo, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", f.path)
	}
	return info, err
}

// catchUp reads what others have written since, and cuts a torn end.
func (f *File) catchUp(file *os.File) error {
	info, err := f.stat(file)
	if err != nil {
		return err
	}
	// It may have been compacted, perhaps to a file that has the inode of the one before,
	// or somebody has cut it.
	if f.tail == nil || !os.SameFile(info, f.info) || info.Size() < f.tail.offset || !f.tail.isIn(file) {
		f.tail, f.seen = newScan(), 0
	}
	f.info = info
	torn, err := f.tail.read(io.NewSectionReader(file, f.tail.offset, info.Size()-f.tail.offset))
	if err != nil {
		return err
	}
	if torn > 0 {
		f.tail.line++
		f.tail.report(Torn, 0, 0, fmt.Sprintf("%d bytes of a line that was never finished are cut off", torn))
		f.tail.line--
		if err := file.Truncate(f.tail.offset); err != nil {
			return err
		}
	}
	f.warn()
	return nil
}

// warn tells of damage that nobody was told of. Call it with mu held.
func (f *File) warn() {
	for _, d := range f.tail.damage[f.seen:] {
		f.logger.Warn("the ledger is damaged", "path", f.path, "what", d.String())
	}
	f.seen = len(f.tail.damage)
}

// Append implements [Log]: one write, and one sync of the disk. What it could not
// write whole it takes back.
func (f *File) Append(ctx context.Context, entries ...Entry) ([]Entry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var kept []Entry
	err := f.locked(ctx, func(file *os.File) error {
		if f.tail.high > maxSeq-uint64(len(entries)) {
			return errors.New("it says that its numbers are used up: verify it")
		}
		b := f.write(entries)
		_, err := file.WriteAt(b.lines, f.tail.offset)
		if err == nil {
			err = f.sync(file)
		}
		if err != nil {
			return errors.Join(err, file.Truncate(f.tail.offset))
		}
		f.commit(b)
		kept = b.kept
		return nil
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// batch is entries as they will be kept, their lines, and the sums of the tool
// objects in these.
type batch struct {
	kept  []Entry
	lines []byte
	sums  map[string]bool
}

// write makes a batch. A tool object that the log has is not written again.
func (f *File) write(entries []Entry) batch {
	b := batch{sums: map[string]bool{}}
	now, prev := time.Now(), f.tail.prev
	for i, e := range entries {
		if e.At.IsZero() {
			e.At = now
		}
		body := e.seal()
		e = e.plain()
		e.Seq, e.Prev = f.tail.high+uint64(i)+1, prev
		withBody := body && !f.tail.sums[e.Sum] && !b.sums[e.Sum]
		b.lines, e.Hash = appendLine(b.lines, e, withBody)
		if withBody {
			b.sums[e.Sum] = true
		}
		prev = e.Hash
		b.kept = append(b.kept, e)
	}
	return b
}

// seal gives an entry with a tool the sums of its bytes, and reports whether these
// are to be kept.
func (e *Entry) seal() (keep bool) {
	if e.Capability == nil {
		return false
	}
	m := markOf(e.Capability)
	e.Sum, e.Seal = m.sum, m.seal
	n := len(e.Capability.Wire.JSON)
	return n > 0 && n <= maxBody
}

// commit notes what was written.
func (f *File) commit(b batch) {
	for _, e := range b.kept {
		f.tail.line++
		f.tail.advance(e)
	}
	for sum := range b.sums {
		f.tail.sums[sum] = true
	}
	f.tail.offset += int64(len(b.lines))
	lines := bytes.TrimSuffix(b.lines, []byte("\n"))
	f.tail.ends(lines[bytes.LastIndexByte(lines, '\n')+1:])
}

// Read implements [Log]. It waits no longer than for an append that is under way.
func (f *File) Read(ctx context.Context, after uint64) ([]Entry, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if f.hasRead(info, after) {
		return nil, nil
	}
	var out []Entry
	s := newScan()
	s.bodies = map[string]*Capability{}
	s.each = func(e Entry, _ []byte) {
		if e.Seq > after {
			out = append(out, e)
		}
	}
	of, err := f.scan(ctx, s)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.offset == info.Size() {
		f.last = lastRead{info, s.high}
	}
	if f.tail == nil && s.offset == of.Size() { // then the first append need not read it again
		s.bodies, s.each = nil, nil
		f.tail, f.info = s, of
		f.warn()
	}
	return sorted(out), nil
}

func (f *File) hasRead(info os.FileInfo, after uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.last
	return l.info != nil && after >= l.high && os.SameFile(l.info, info) &&
		l.info.Size() == info.Size() && l.info.ModTime().Equal(info.ModTime())
}

// scan reads all whole lines that are there now. They stay as they are, whoever
// writes meanwhile: what is appended comes behind them, and compaction makes
// another file.
func (f *File) scan(ctx context.Context, s *scan) (of os.FileInfo, err error) {
	file, of, err := f.whole(ctx)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer file.Close()
	torn, err := s.read(&interruptible{ctx, io.NewSectionReader(file, 0, of.Size())})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if torn > 0 {
		s.line++
		s.report(Torn, 0, 0, fmt.Sprintf("%d bytes of a line that was never finished", torn))
		s.line--
	}
	return of, nil
}

// whole opens the file, and says how long it was while nobody wrote: what has no
// end then was cut off, and is not being written.
func (f *File) whole(ctx context.Context) (*os.File, os.FileInfo, error) {
	unlock, err := filelock.Lock(ctx, f.path+".lock")
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	file, err := os.Open(f.path)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// interruptible ends with its context.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

// syncDir makes a new name last. Where directories cannot be synced it is up to the
// system.
func syncDir(path string) {
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync()
		dir.Close()
	}
}
