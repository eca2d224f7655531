package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/chain"
)

// Filter selects records. The zero value selects all. A text that is not "" must be equal.
type Filter struct {
	Principal, Server, Client, Type, Approval, Trace string
	// Tool is the name of a tool or prompt, or the URI of a resource.
	Tool string
	// View is compared if it is not nil, because "" is the view of everything.
	View    *string
	Outcome Outcome
	// Since and Until bound the times of the records. Both are inclusive. Zero means no bound.
	Since, Until time.Time
	// Before selects the records whose Seq is smaller. 0 means all.
	Before uint64
	// Last selects the last matching records only. 0 means all.
	Last int
}

// Matches reports whether a filter selects a record. It does not consider Last.
func (f *Filter) Matches(r *Record) bool {
	for _, c := range [...]struct{ want, got string }{
		{f.Principal, r.Principal}, {f.Server, r.Server}, {f.Client, r.Client}, {f.Type, r.Type},
		{f.Approval, r.Approval}, {f.Trace, r.Trace}, {string(f.Outcome), string(r.Outcome)},
	} {
		if c.want != "" && c.want != c.got {
			return false
		}
	}
	switch {
	case f.Tool != "" && f.Tool != r.Tool && f.Tool != r.Target:
	case f.View != nil && *f.View != r.View:
	case f.Before > 0 && r.Seq >= f.Before:
	case !f.Since.IsZero() && r.At.Before(f.Since):
	case !f.Until.IsZero() && r.At.After(f.Until):
	default:
		return true
	}
	return false
}

// Read calls each with the records of the log at path, of its earlier files, and of the logs that processes write
// beside it, the oldest first. It returns the number of damaged lines that it left out: Verify reports them. It checks
// each record, but not the chain. If each returns an error, Read returns this error.
func Read(ctx context.Context, path string, f *Filter, each func(*Record) error) (damaged int, err error) {
	paths, err := Logs(path)
	if err != nil {
		return 0, err
	}
	if len(paths) > 1 || paths[0] != path {
		return readTogether(ctx, paths, f, nil, each)
	}
	return newReading(ctx, f, each).readLog(path, (*reading).read)
}

// ReadBack is like [Read] for the log at path alone, but the newest record comes first, and Filter.Last is ignored.
// With Filter.Before, it skips the later records without reading them. So a reader can go on where it stopped.
func ReadBack(ctx context.Context, path string, f *Filter, each func(*Record) error) (damaged int, err error) {
	return newReading(ctx, f, each).readLog(path, func(r *reading, files logFiles) error {
		err := r.backward(files, func(record *Record) bool {
			r.err = each(record)
			return r.err == nil
		})
		return errors.Join(r.err, err)
	})
}

// reading is one reading of records.
type reading struct {
	context.Context
	filter  *Filter
	each    func(*Record) error
	lines   *lineReader
	damaged int
	err     error // of each
}

func newReading(ctx context.Context, f *Filter, each func(*Record) error) *reading {
	if f == nil {
		f = &Filter{}
	}
	return &reading{Context: ctx, filter: f, each: each, lines: newLineReader()}
}

// readLog opens the files of a log for read, and returns the number of damaged lines.
func (r *reading) readLog(path string, read func(*reading, logFiles) error) (damaged int, err error) {
	files, err := openFiles(path)
	if err != nil {
		return 0, fmt.Errorf("audit: %w", err)
	}
	defer files.close()
	err = read(r, files)
	return r.damaged, err
}

func (r *reading) read(files logFiles) error {
	if r.filter.Last > 0 {
		return r.last(files)
	}
	return r.all(files)
}

// take takes a line.
func (r *reading) take(line []byte) {
	if r.err != nil {
		return
	}
	record, err := r.lines.read(line)
	if err != nil {
		r.damaged++
	} else if r.filter.Matches(&record) {
		r.err = r.each(&record)
	}
}

func (r *reading) all(files logFiles) error {
	for _, in := range files {
		var s chain.Scan
		if _, err := s.ReadAll(stopReader{r, io.NewSectionReader(in, 0, in.size)}, maxLine, r.take); err != nil {
			return err
		}
	}
	return r.err
}

// stopReader ends when the context ends, or when each has returned an error.
type stopReader struct {
	*reading
	in io.Reader
}

// Read implements [io.Reader].
func (s stopReader) Read(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	} else if err := s.Context.Err(); err != nil {
		return 0, err
	}
	return s.in.Read(b)
}

// last calls each with the last matching records.
func (r *reading) last(files logFiles) error {
	var found []Record
	err := r.backward(files, func(record *Record) bool {
		record.line = bytes.Clone(record.line)
		found = append(found, *record)
		return len(found) < r.filter.Last
	})
	if err != nil {
		return err
	}
	for i := range slices.Backward(found) {
		if err := r.each(&found[i]); err != nil {
			return err
		}
	}
	return nil
}

// backward calls each with the matching records, the last first, until each returns false.
func (r *reading) backward(files logFiles, each func(*Record) bool) error {
	more := true
	for _, in := range slices.Backward(files) {
		size := in.size
		if r.filter.Before > 0 {
			size = r.sizeBefore(in)
		}
		err := readBackward(in, size, func(line []byte) bool {
			record, err := r.lines.read(line)
			if err != nil {
				r.damaged++
			} else if r.filter.Matches(&record) {
				more = each(&record)
			}
			return more && r.Context.Err() == nil
		})
		if err := errors.Join(err, r.Context.Err()); err != nil || !more {
			return err
		}
	}
	return nil
}

// sizeBefore returns the size of the part of a file with the records that Filter.Before selects. If lines are damaged,
// the part may be larger.
func (r *reading) sizeBefore(in logFile) int64 {
	if first, ok := firstRecord(in); ok && first.Seq >= r.filter.Before {
		return 0
	}
	size := in.size
	for low, high := int64(0), in.size; low < high; {
		middle := low + (high-low)/2
		at, seq, ok := r.firstAfter(in, middle)
		switch {
		case ok && at < size && seq < r.filter.Before:
			low = at
		case ok && at < size:
			size, high = at, middle
		default: // no record begins between middle and size
			high = middle
		}
	}
	return size
}

// firstAfter returns the place and the number of the first good record that begins after a place in a file.
func (r *reading) firstAfter(in logFile, place int64) (at int64, seq uint64, ok bool) {
	for _, size := range []int{8 << 10, 2 * (maxLine + 1)} {
		buf := make([]byte, size)
		n, _ := in.ReadAt(buf, place)
		begin := bytes.IndexByte(buf[:n], '\n') + 1
		for begin > 0 {
			line, _, isWhole := bytes.Cut(buf[begin:n], []byte("\n"))
			if !isWhole {
				break
			}
			if record, err := r.lines.read(line); err == nil {
				return place + int64(begin), record.Seq, true
			}
			begin += len(line) + 1
		}
		if n < size {
			break
		}
	}
	return 0, 0, false
}

// readBackward calls each with the complete lines of a file of this size, the last first, until each returns false.
func readBackward(in io.ReaderAt, size int64, each func(line []byte) bool) error {
	const part = 256 << 10
	var rest []byte // the end of a line
	torn := true    // rest has no end of a line behind it
	for to := size; to > 0; {
		n := int(min(to, part))
		buf := make([]byte, n, n+len(rest))
		to -= int64(n)
		if _, err := in.ReadAt(buf, to); err != nil {
			return err
		}
		buf = append(buf, rest...)
		for {
			at := bytes.LastIndexByte(buf, '\n')
			if at < 0 {
				break
			}
			if !torn && !each(buf[at+1:]) {
				return nil
			}
			torn = false
			buf = buf[:at]
		}
		rest = buf
		if len(rest) > maxLine+part {
			rest = rest[:maxLine+1] // it is too long for a line already
		}
	}
	if !torn {
		each(rest)
	}
	return nil
}

// logFile is a file of a log, with its size when it was opened.
type logFile struct {
	*os.File
	path string
	info os.FileInfo
	size int64
}

func openLogFile(path string) (logFile, error) {
	in, err := os.Open(path)
	if err != nil {
		return logFile{}, err
	}
	info, err := in.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return logFile{}, errors.Join(err, in.Close())
	}
	return logFile{in, path, info, info.Size()}, nil
}

// logFiles holds the files of a log, the oldest first.
type logFiles []logFile

func (f logFiles) close() {
	for _, file := range f {
		file.Close()
	}
}

// openFiles opens the files of a log. There is at least one. The file that is written is opened first, because it may
// become an earlier file in the meantime.
func openFiles(path string) (logFiles, error) {
	current, err := openLogFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	opened, err := openEarlier(path, current.info)
	switch {
	case err != nil && !missing:
		return nil, errors.Join(err, current.Close())
	case err != nil:
		return nil, err
	case !missing:
		return append(opened, current), nil
	case len(opened) == 0:
		return nil, fmt.Errorf("%s: there is no audit log: indus serve writes it once the configuration names it in "+
			"\"audit\". If indus serve runs with --audit FILE, name that FILE", path)
	}
	return opened, nil
}

// openEarlier opens the earlier files of a log. current is left out if it has just become one.
func openEarlier(path string, current os.FileInfo) (opened logFiles, err error) {
	paths, err := earlierFiles(path)
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		file, err := openLogFile(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just been removed: Options.Keep
		} else if err != nil {
			opened.close()
			return nil, err
		}
		if current != nil && os.SameFile(file.info, current) {
			file.Close()
			continue
		}
		opened = append(opened, file)
	}
	return opened, nil
}
