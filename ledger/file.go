package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/indusagi/indus/internal/chain"
	"github.com/indusagi/indus/internal/filelock"
)

// FileOptions configures a [File]. Nil and the zero value are valid.
type FileOptions struct {
	// Logger logs damage. If it is nil, nothing is logged.
	Logger *slog.Logger
}

// File is a [Log] in a file of JSON Lines, which any number of processes of one machine share. The file is open, and a
// lock beside it held, only during an append: there is nothing to close. At 2 MiB the file becomes an archive beside a
// new file. Reading takes the lock only to find where the last whole line ends.
type File struct {
	path        string
	logger      *slog.Logger
	sync        func(*os.File) error // replaced in tests
	archiveSize int64                // archiveAt, or less in tests

	mu           sync.Mutex
	tail         *scan       // the part that was read so far
	info         os.FileInfo // of the file that tail was read from
	loggedDamage int         // number of damages of tail that were logged
	lastInfo     os.FileInfo // of the file at the last read, so that repeated reads learn cheaply that nothing is new
	lastHigh     uint64      // the number up to which it was read
	removed      bool        // this process began the log anew, because it had been removed

	leased sync.Map // run: its open file; without a reference it would be closed
}

var _ Log = (*File)(nil)

// OpenFile opens the log at path. If it does not exist, OpenFile makes it and its directory, for the owner only. A last
// line that was cut off is removed: no [File.Append] has returned for it. Otherwise the log is not read before the
// first Read or Append. ctx bounds the wait for the lock.
func OpenFile(ctx context.Context, path string, o *FileOptions) (*File, error) {
	f := &File{path: path, logger: slog.New(slog.DiscardHandler), sync: (*os.File).Sync, archiveSize: archiveAt}
	if o != nil && o.Logger != nil {
		f.logger = o.Logger
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := f.repair(ctx); err != nil {
		return f, fmt.Errorf("ledger: %w", err)
	}
	return f, nil
}

// repair cuts off a torn end. It reads the log only if there is one, because the caller reads the log anyway, or
// appends in the background.
func (f *File) repair(ctx context.Context) error {
	return f.withLock(ctx, func(file *os.File) error {
		info, err := f.statRegular(file)
		if err != nil || info.Size() == 0 {
			return err
		}
		end := make([]byte, 1)
		if _, err := file.ReadAt(end, info.Size()-1); err != nil || end[0] == '\n' {
			return err
		}
		return f.catchUp(file)
	})
}

// Damage returns the damage that reading the log has found so far.
func (f *File) Damage() []Damage {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tail == nil {
		return nil
	}
	return slices.Clone(f.tail.Damage)
}

// withLock calls do with the file and mu held, while no other process writes. It waits for other processes before it
// takes mu. Thus a caller that only needs the state of this process does not wait for them.
func (f *File) withLock(ctx context.Context, do func(*os.File) error) error {
	unlock, err := filelock.Lock(ctx, f.path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := f.open()
	if err != nil {
		return err
	}
	defer file.Close()
	return do(file)
}

// withTail calls do as withLock does, after tail has read everything.
func (f *File) withTail(ctx context.Context, do func(*os.File) error) error {
	err := f.withLock(ctx, func(file *os.File) error {
		if err := f.catchUp(file); err != nil {
			return err
		}
		return do(file)
	})
	if err != nil {
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
	if err != nil {
		return nil, err
	}
	syncDir(f.path)
	if f.hasRemains() {
		err = f.beginAgain(file)
		if err != nil {
			return nil, errors.Join(err, file.Close(), os.Remove(f.path)) // so that the next process finds it removed too
		}
	}
	return file, nil
}

// hasRemains reports whether files beside the log show that there was a log: the leases of runs, or an archive.
func (f *File) hasRemains() bool {
	_, runs := os.Lstat(f.path + runsSuffix)
	archives, _ := filepath.Glob(f.path + ".[0-9]*")
	return runs == nil || len(archives) > 0
}

// beginAgain writes the first entry of a log that was removed. The caller holds mu.
func (f *File) beginAgain(file *os.File) error {
	f.tail = newScan()
	batch, lines := f.tail.records([]Entry{{Op: Reset, Run: string(NewKey()), Note: noteReset}})
	if _, err := file.WriteAt(lines, 0); err != nil {
		return err
	}
	if err := f.sync(file); err != nil {
		return err
	}
	f.logger.Warn("the ledger was removed: its approvals are not known", "path", f.path)
	f.removed = true
	f.tail.advanceTail(batch, lines)
	info, err := file.Stat()
	f.info, f.loggedDamage, f.lastInfo = info, 0, nil
	return err
}

// Removed reports whether f found that the log had been removed, and began a new log with a [Reset]. It finds this if
// leases or archives of the old log still exist.
func (f *File) Removed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.removed
}

func (f *File) statRegular(file *os.File) (os.FileInfo, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", f.path)
	}
	return info, err
}

// catchUp reads the lines that other processes have written since, and cuts a torn end.
func (f *File) catchUp(file *os.File) error {
	info, err := f.statRegular(file)
	if err != nil {
		return err
	}
	// The log may have become an archive, and the new file may have the inode of an earlier one. Or the file was cut.
	if f.tail == nil || !os.SameFile(info, f.info) || info.Size() < f.tail.Offset || !f.tail.Matches(file) {
		f.tail, f.loggedDamage = newScan(), 0
	}
	f.info = info
	rest, err := io.ReadAll(io.NewSectionReader(file, f.tail.Offset, info.Size()-f.tail.Offset))
	if err != nil {
		return err
	}
	if torn := f.tail.read(rest); torn > 0 {
		f.tail.ReportTorn(torn, " are cut off")
		if err := file.Truncate(f.tail.Offset); err != nil {
			return err
		}
	}
	f.warn()
	return nil
}

// warn logs damage that was not logged before. The caller holds mu.
func (f *File) warn() {
	for _, d := range f.tail.Damage[f.loggedDamage:] {
		f.logger.Warn("the ledger is damaged", "path", f.path, "what", d.String())
	}
	f.loggedDamage = len(f.tail.Damage)
}

// Append implements [Log]. It does one write and one sync of the disk. It removes a batch that it could not write
// completely.
func (f *File) Append(ctx context.Context, entries ...Entry) (stored []Entry, err error) {
	if len(entries) == 0 {
		return nil, nil
	}
	err = f.withTail(ctx, func(file *os.File) error {
		if f.tail.High > chain.MaxSeq-uint64(len(entries)) {
			return errors.New("its line numbers are used up: verify it")
		}
		batch, lines := f.tail.records(entries)
		_, err := file.WriteAt(lines, f.tail.Offset)
		if err == nil {
			err = f.sync(file)
		}
		if err != nil {
			return errors.Join(err, file.Truncate(f.tail.Offset))
		}
		stored = f.tail.advanceTail(batch, lines)
		if f.tail.Offset >= f.tail.archiveSize(f.archiveSize) {
			file.Close() // Windows replaces no file that is open
			// If this fails, for example on a full disk, the log grows by as much again before the next attempt.
			if err := f.archive(); err != nil {
				f.tail.grown = f.tail.Offset
				f.logger.Warn("the ledger cannot be made an archive, and grows", "err", err)
			}
		}
		return nil
	})
	return stored, err
}

// Read implements [Log]. It waits at most for an append that is under way. It reads archives only if they have entries
// after the number after. If that is 0 it reads none, because the present does not depend on entries that only an
// archive has. If the log has no entry with the number after, because it was removed, Read returns all entries.
func (f *File) Read(ctx context.Context, after uint64) ([]Entry, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if f.isUnchanged(info, after) {
		return nil, nil
	}
	if after == 0 {
		return f.entries(ctx, after, math.MaxUint64)
	}
	return f.entries(ctx, after, after)
}

// History returns all entries, including the entries of the archives. If an archive does not exist, the history begins
// after it, with the carried entries.
func (f *File) History(ctx context.Context) ([]Entry, error) { return f.entries(ctx, 0, 0) }

// entries returns the entries after the number after. It reads all archives that have an entry after the number
// archived.
func (f *File) entries(ctx context.Context, after, archived uint64) ([]Entry, error) {
	var info os.FileInfo
	out, s, err := collectEntries(after, func(s *scan) (err error) {
		info, _, err = f.readAll(ctx, s, archived)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastInfo, f.lastHigh = info, s.High
	if archived == math.MaxUint64 {
		f.adoptTail(s, info)
	}
	return out, nil
}

// adoptTail makes a complete scan of the file the new tail, so that the first append need not read the file again. The
// caller holds mu.
func (f *File) adoptTail(s *scan, info os.FileInfo) {
	if f.tail == nil && s.Offset == info.Size() {
		s.each, s.eachCarried = nil, nil
		f.tail, f.info = s, info
		f.warn()
	}
}

// isUnchanged reports whether the file is the one that was read up to the number after.
func (f *File) isUnchanged(info os.FileInfo, after uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.lastInfo
	return after > 0 && after == f.lastHigh && last != nil && os.SameFile(last, info) && last.Size() == info.Size() &&
		last.ModTime().Equal(info.ModTime())
}

// load reads the log up to its end at a time when no process wrote. A last line without an end was therefore cut off,
// and is not being written. Later writes do not change the bytes that were read: new lines follow them, and an archive
// is another file.
func (f *File) load(ctx context.Context) (log []byte, info os.FileInfo, err error) {
	unlock, err := filelock.Lock(ctx, f.path+".lock")
	if err != nil {
		return nil, nil, fmt.Errorf("ledger: %w", err)
	}
	file, err := os.Open(f.path)
	if err == nil {
		defer file.Close()
		info, err = f.statRegular(file)
	}
	unlock()
	if err == nil {
		log = make([]byte, info.Size())
		_, err = file.ReadAt(log, 0)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("ledger: %w", err)
	}
	return log, info, nil
}

// syncDir makes a new name durable, on systems that can sync directories.
func syncDir(path string) {
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync()
		dir.Close()
	}
}
