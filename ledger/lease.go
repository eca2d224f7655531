package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/oklog/ulid/v2"

	"github.com/indusagi/indus/internal/filelock"
)

// runsSuffix follows the log's name in the name of the directory of leases.
const runsSuffix = ".runs"

// noteVanished is the note of an End that the run did not write itself.
const noteVanished = "its process is gone"

// Lease shows other processes that a run goes on: it locks a file beside the log. The lease lasts until release is
// called, or until this process ends or no longer uses f. [Attach] calls it.
func (f *File) Lease(ctx context.Context, run string) (release func(), err error) {
	if _, err := ulid.ParseStrict(run); err != nil {
		return nil, fmt.Errorf("ledger: run %q is no ULID: %w", run, err)
	}
	unlock, err := f.leases(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	name := filepath.Join(f.path+runsSuffix, run)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := filelock.Try(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("ledger: run %s: %w", run, err)
	}
	f.leased.Store(run, file)
	f.mark(run, true)
	return func() { f.leased.Delete(run); file.Close(); os.Remove(name) }, nil
}

// leaseWritten is the content of a lease if all entries of its run are in the log, or soon will be.
const leaseWritten = "written"

// mark records in a run's lease whether its entries can be written. Shortening a file works even on a full disk.
func (f *File) mark(run string, written bool) {
	file, ok := f.leased.Load(run)
	if !ok {
		return
	}
	if lease := file.(*os.File); written {
		_, _ = lease.WriteAt([]byte(leaseWritten), 0)
	} else {
		_ = lease.Truncate(0)
	}
}

// Unwritten returns the runs that go on but cannot write the log. The log lacks the tools that they hold.
func (f *File) Unwritten(ctx context.Context) (runs []string, err error) {
	if _, err := f.Reap(ctx); err != nil { // has to write if a run is over
		f.logger.Warn("runs that are over cannot be ended", "err", err)
	}
	files, err := f.leaseFiles()
	for _, entry := range files {
		if info, err := entry.Info(); err == nil && info.Size() < int64(len(leaseWritten)) {
			runs = append(runs, entry.Name())
		}
	}
	return runs, err
}

// leaseFiles returns the leases beside the log. Their names are the ids of the runs.
func (f *File) leaseFiles() ([]fs.DirEntry, error) {
	files, err := os.ReadDir(f.path + runsSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return slices.DeleteFunc(files, func(e fs.DirEntry) bool {
		_, err := ulid.ParseStrict(e.Name())
		return err != nil || !e.Type().IsRegular()
	}), nil
}

// leases prevents other processes from making and reaping leases until unlock is called.
func (f *File) leases(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(f.path+runsSuffix, 0o700); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	unlock, err = filelock.Lock(ctx, f.path+".lock")
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return unlock, nil
}

// Reap ends the runs of processes that ended without an End, and returns the number of these runs. Their tools are no
// longer live. A run without a lease is left alone. [Attach] calls Reap at its beginning. A program that needs the
// tools that are live now should call it too.
func (f *File) Reap(ctx context.Context) (ended int, err error) {
	gone, err := f.abandoned(ctx)
	defer func() {
		for _, file := range gone {
			file.Close()
			if err == nil {
				os.Remove(file.Name())
			}
		}
	}()
	if err != nil {
		return 0, err
	}
	var ends []Entry
	for _, file := range gone {
		ends = append(ends, Entry{Op: End, Run: filepath.Base(file.Name()), Note: noteVanished})
	}
	_, err = f.Append(ctx, ends...)
	return len(ends), err
}

// abandoned returns the leases that no process holds. It locks them.
func (f *File) abandoned(ctx context.Context) (gone []*os.File, err error) {
	unlock, err := f.leases(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if !filelock.Works {
		return nil, nil
	}
	files, err := f.leaseFiles()
	if err != nil {
		return nil, err
	}
	for _, entry := range files {
		file, err := os.OpenFile(filepath.Join(f.path+runsSuffix, entry.Name()), os.O_RDWR, 0)
		if err != nil {
			continue // its owner has just released it
		}
		if err := filelock.Try(file); err != nil {
			file.Close()
			if !errors.Is(err, filelock.ErrHeld) {
				return gone, fmt.Errorf("ledger: %w", err)
			}
			continue
		}
		gone = append(gone, file)
	}
	return gone, nil
}

// fileLog is a log that knows which runs go on.
type fileLog interface {
	Lease(ctx context.Context, run string) (release func(), err error)
	Reap(ctx context.Context) (ended int, err error)
	mark(run string, written bool)
}

var _ fileLog = (*File)(nil)

// startLease ends the runs of processes that are gone, and takes the lease of this run.
func (a *Attachment) startLease(l fileLog) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWrite) // Close waits for it
	defer cancel()
	if _, err := l.Reap(ctx); err != nil {
		a.logger.Warn("runs that are over cannot be ended", "err", err)
	}
	release, err := l.Lease(ctx, a.Run)
	if err != nil {
		a.logger.Warn("other processes cannot see whether this run goes on", "err", err)
	} else {
		a.releaseLease = sync.OnceFunc(release)
	}
}
