package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/indusagi/indus/internal/chain"
	"github.com/indusagi/indus/internal/filelock"
)

// writtenFile is the file that is written now. Only the holder of Log.writing uses it.
type writtenFile struct {
	path   string
	log    *Log
	lock   *os.File
	opened string // describes this process

	out      *os.File // nil: the file could not be opened again
	info     os.FileInfo
	size     int64
	began    time.Time // the time of the first record; zero if the file is empty
	checked  time.Time // when the file was compared with its path
	rotateAt int64
	end      Head // of the file
	cut      bool // the file may have more bytes than size
	// doomed holds the earlier files that are removed as soon as a Pruned record with prunedTo is written.
	doomed   []string
	prunedTo uint64
}

// lockWait bounds the wait for the lock. A reader holds it for a moment to find out whether a process writes.
const lockWait = time.Second

// holder is the content of the lock file: the process that writes, and the last end of the log that it noted. Thus a
// log that was removed is not begun again at 1.
type holder struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	Head
}

// holderAt is the offset of the holder in the lock file. On Windows no other process can read the locked first byte.
const holderAt = 1

// openFile locks and opens the log.
func openFile(path string, l *Log) (*writtenFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f := &writtenFile{path: path, log: l, opened: fmt.Sprintf("process %d", os.Getpid())}
	lock, err := os.OpenFile(lockPath(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f.lock = lock
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	known := readHolder(path)
	if err := filelock.Wait(ctx, lock); err != nil {
		lock.Close()
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%s is written by process %d since %s: stop that process, or name another file",
				path, known.PID, known.Since.Local().Format(time.DateTime))
		}
		return nil, err
	}
	known = readHolder(path) // of the process that has just ended
	if err := f.begin(known); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func lockPath(path string) string { return path + ".lock" }

// readHolder returns the content of the lock file, or the zero holder if it cannot be read.
func readHolder(path string) (h holder) {
	lock, err := os.Open(lockPath(path))
	if err != nil {
		return holder{}
	}
	defer lock.Close()
	text, err := io.ReadAll(io.NewSectionReader(lock, holderAt, 1<<10))
	if err != nil || json.Unmarshal(text, &h) != nil || h.Seq > chain.MaxSeq || (h.Seq > 0) != chain.IsHash(h.Hash) {
		return holder{}
	}
	return h
}

// noteHolder writes the holder. The log can be continued without it, so an error does not matter.
func (f *writtenFile) noteHolder() {
	text, err := json.Marshal(holder{os.Getpid(), time.Now().Truncate(time.Second), f.end})
	if err != nil {
		return
	}
	if _, err := f.lock.WriteAt(append([]byte{' '}, text...), 0); err == nil {
		_ = f.lock.Truncate(int64(holderAt + len(text)))
	}
}

// begin opens the file, and finds the end of the chain in it, in the last earlier file, or in the lock file.
func (f *writtenFile) begin(known holder) error {
	if err := f.open(); err != nil {
		return err
	}
	if f.size > 0 && f.began.IsZero() && !beginsRecord(f.out) {
		return fmt.Errorf("%s is no audit file: its first line is no record: name another file", f.path)
	}
	if f.info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" { // other users could read it
		if err := f.out.Chmod(0o600); err != nil {
			return err
		}
	}
	if err := f.cutTorn(); err != nil {
		return err
	}
	e, err := endOf(f.path)
	if err != nil {
		return err
	}
	earlier, err := earlierFiles(f.path)
	if err != nil {
		return err
	}
	if e.Seq == 0 && len(earlier) > 0 {
		if e, err = endOf(earlier[len(earlier)-1]); err != nil {
			return err
		}
	}
	if known.Seq > e.Seq {
		f.log.logger.Warn("the end of the audit log was removed: its records are missing",
			"path", f.path, "last", known.Seq, "found", e.Seq)
		e = known.Head
	}
	if e.Seq >= chain.MaxSeq {
		return fmt.Errorf("%s: its numbers are used up: verify it, and name another file", f.path)
	}
	f.end = e
	f.noteHolder()
	f.prune(earlier)
	return nil
}

// open opens the file at path, and creates it if there is none.
func (f *writtenFile) open() error {
	out, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := out.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", f.path)
	}
	if err != nil {
		return errors.Join(err, out.Close())
	}
	f.out, f.info, f.size, f.cut, f.checked = out, info, info.Size(), false, time.Time{}
	f.rotateAt = f.log.options.MaxSize
	f.began = time.Time{}
	if first, ok := firstRecord(out); ok {
		f.began = first.At
	}
	return nil
}

// cutTorn cuts off a last line without an end.
func (f *writtenFile) cutTorn() error {
	whole, err := wholeLines(f.out, f.size)
	if err != nil || whole == f.size {
		return err
	}
	if err := f.out.Truncate(whole); err != nil {
		return err
	}
	reason := fmt.Sprintf("%d bytes of a line that was never finished are cut off", f.size-whole)
	f.log.logger.Warn("the audit log ended in a line that was never finished", "path", f.path, "bytes", f.size-whole)
	f.log.note(Record{Type: TypeTorn, Outcome: Error, ErrorKind: "audit", Reason: reason})
	f.size = whole
	return nil
}

// wholeLines returns the length of the complete lines of a file.
func wholeLines(r io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for to := size; to > 0; {
		part := buf[:min(to, int64(len(buf)))]
		to -= int64(len(part))
		if _, err := r.ReadAt(part, to); err != nil {
			return 0, err
		}
		if n := bytes.LastIndexByte(part, '\n'); n >= 0 {
			return to + int64(n) + 1, nil
		}
	}
	return 0, nil
}

// beginsRecord reports whether a file begins as a record does, although its first line is damaged or not finished.
func beginsRecord(r io.ReaderAt) bool {
	start := make([]byte, len(hashKey))
	n, _ := r.ReadAt(start, 0)
	return n > 0 && hashKey[:n] == string(start[:n])
}

// firstRecord returns the first record of a file, if that is a good one.
func firstRecord(r io.ReaderAt) (Record, bool) {
	for _, size := range []int{8 << 10, maxLine + 1} {
		buf := make([]byte, size)
		n, _ := r.ReadAt(buf, 0)
		if line, _, ok := bytes.Cut(buf[:n], []byte("\n")); ok {
			first, err := newLineReader().read(line)
			return first, err == nil
		} else if n < size {
			break
		}
	}
	return Record{}, false
}

func newLineReader() *lineReader { return &lineReader{texts: chain.Texts{}} }

// endOf returns the end of the chain in a file. It reads only the last line, unless that is damaged.
func endOf(path string) (e Head, err error) {
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	} else if err != nil {
		return e, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return e, err
	}
	lines := newLineReader()
	err = readBackward(in, info.Size(), func(line []byte) bool {
		if last, err := lines.read(line); err == nil {
			e = Head{Seq: last.Seq, Hash: last.Hash}
		}
		return false
	})
	if err != nil || e.Seq > 0 {
		return e, err
	}
	v := newVerifier()
	_, err = v.readFile(context.Background(), in, "")
	return Head{Seq: v.scan.High, Hash: v.scan.Prev}, err
}

// write appends the lines of records, the last of which makes the end. If it returns an error, the file has none of
// them.
func (f *writtenFile) write(lines []byte, e Head) error {
	if err := f.prepare(int64(len(lines))); err != nil {
		return err
	}
	if err := f.add(lines); err != nil {
		return err
	}
	err := f.check(int64(len(lines)))
	if err != nil && f.log.options.OnFull == Continue {
		err = f.goOn(lines, err)
	}
	if err != nil {
		return err
	}
	f.size += int64(len(lines))
	if f.began.IsZero() {
		f.began = time.Now()
	}
	f.end = e
	return nil
}

// add appends lines to the open file. If it returns an error, the file has none of them, or cut is set.
func (f *writtenFile) add(lines []byte) error {
	_, err := f.out.Write(lines)
	if err == nil && f.log.options.Sync {
		err = f.out.Sync()
	}
	if err != nil {
		f.cut = true
		_ = f.restore()
	}
	return err
}

// prepare makes the file ready for n more bytes.
func (f *writtenFile) prepare(n int64) error {
	if f.cut {
		if err := f.restore(); err != nil {
			return err
		}
	}
	if f.out == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	age := f.log.options.MaxAge
	old := age > 0 && !f.began.IsZero() && time.Since(f.began) >= age
	if f.size > 0 && (f.size+n > f.rotateAt || old) {
		return f.rotate()
	}
	return nil
}

// restore removes the bytes after size.
func (f *writtenFile) restore() error {
	if err := f.out.Truncate(f.size); err != nil {
		return err
	}
	f.cut = false
	return nil
}

// checkInterval is the time for which a check of the file holds. A check takes as long as a write.
const checkInterval = time.Second

// check returns an error if another program removed, replaced or changed the file. n bytes were just written.
func (f *writtenFile) check(n int64) error {
	now := time.Now()
	if now.Sub(f.checked) < checkInterval {
		return nil
	}
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%s was removed while indus writes it: put it back, or restart indus", f.path)
	case err != nil:
	case !os.SameFile(info, f.info):
		err = fmt.Errorf("%s was replaced while indus writes it: put it back, or restart indus", f.path)
	case info.Size() != f.size+n:
		err = fmt.Errorf("%s was changed by another program: it has %d bytes instead of %d: verify it, and restart indus",
			f.path, info.Size(), f.size+n)
	}
	switch {
	case err == nil:
		f.checked = now
	case f.log.options.OnFull == Stop:
		f.withdraw(n)
	}
	return err
}

// withdraw removes the last n bytes of the open file: no request is answered after them.
func (f *writtenFile) withdraw(n int64) {
	if info, err := f.out.Stat(); err == nil && info.Size() >= n {
		_ = f.out.Truncate(info.Size() - n)
	}
}

// goOn continues in the file that is now at path, after another program removed, replaced or changed the file. The
// records before are missing in the chain.
func (f *writtenFile) goOn(lines []byte, reason error) error {
	f.log.logger.Error("the audit log goes on in another file: records before it are missing", "err", reason)
	before := f.info
	old := f.out
	defer old.Close() // afterwards, so that the new file has another inode
	f.out = nil
	if err := f.open(); err != nil {
		return err
	}
	if os.SameFile(before, f.info) { // it has the lines
		f.size -= int64(len(lines))
		return nil
	}
	if err := f.cutTorn(); err != nil {
		return err
	}
	return f.add(lines)
}

// close closes the file, and notes its end.
func (f *writtenFile) close() error {
	var err error
	if f.out != nil {
		err = f.out.Close()
	}
	if f.end.Seq > 0 {
		f.noteHolder()
	}
	return errors.Join(err, f.lock.Close())
}
