package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/chain"
	"github.com/indusagi/indus/internal/watch"
)

// followTick is the interval at which [Follow] looks for new records, which costs two calls of the system.
const followTick = 200 * time.Millisecond

// logsTicks is the number of ticks after which [Follow] looks for logs of new processes.
const logsTicks = 5

// Follow is [Read], and then calls each with new records, also in new files and logs, until the context ends.
func Follow(ctx context.Context, path string, f *Filter, each func(*Record) error) error {
	paths, err := Logs(path)
	if err != nil {
		return err
	}
	var tails []*tail
	defer func() {
		for _, t := range tails {
			t.file.Close()
		}
	}()
	ends := map[string]uint64{}
	for _, p := range paths {
		t, end, err := openTail(p)
		if err != nil {
			return err
		}
		tails, ends[p] = append(tails, t), end
	}
	if _, err := readTogether(ctx, paths, f, ends, each); err != nil {
		return ignoreEnd(ctx, err)
	}
	var added []Record
	r := newReading(ctx, f, func(r *Record) error { added = append(added, r.clone()); return nil })
	for tick := 1; watch.Sleep(ctx, followTick); tick++ {
		if tick%logsTicks == 0 {
			tails = append(tails, newTails(path, tails)...)
		}
		for _, t := range tails {
			if err := t.next(r); err != nil {
				return ignoreEnd(ctx, err)
			}
		}
		sortByTime(added)
		for i := range added {
			if err := each(&added[i]); err != nil {
				return err
			}
		}
		added = nil
	}
	return nil
}

// openTail opens a log for its new records. It returns the number of the last record before them.
func openTail(path string) (t *tail, end uint64, err error) {
	files, err := openFiles(path)
	if err != nil {
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	last := len(files) - 1
	t = &tail{path: path, file: files[last]}
	defer files[:last].close()
	if t.offset, err = wholeLines(t.file, t.file.size); err != nil {
		return nil, 0, fmt.Errorf("audit: %w", errors.Join(err, t.file.Close()))
	}
	files[last].size = t.offset
	r := newReading(context.Background(), nil, nil)
	err = r.backward(files, func(r *Record) bool { end = r.Seq; return false })
	if err != nil {
		return nil, 0, fmt.Errorf("audit: %w", errors.Join(err, t.file.Close()))
	}
	return t, end, nil
}

// newTails opens the logs of processes that have none of the tails, from their first record on. A log that cannot be
// opened is tried again later.
func newTails(path string, tails []*tail) (opened []*tail) {
	paths, _ := Logs(path)
	for _, p := range paths {
		if slices.ContainsFunc(tails, func(t *tail) bool { return t.path == p }) {
			continue
		}
		if files, err := openFiles(p); err == nil {
			opened = append(opened, &tail{path: p, file: files[0]})
			files[1:].close()
		}
	}
	return opened
}

// ignoreEnd returns nil if the context ended, which is the normal end of [Follow].
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// tail is a file that is read as it grows.
type tail struct {
	path   string
	file   logFile
	offset int64 // of the first unread line
}

// next reads the new lines of the file, and those of the files after it.
func (t *tail) next(r *reading) error {
	for {
		current, err := os.Stat(t.path) // before the last read: nothing is added to the file after it was renamed
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		if err := t.readOn(r); err != nil {
			return err
		}
		if err != nil || os.SameFile(current, t.file.info) {
			return nil
		}
		following, err := t.following()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the file was renamed or removed at this moment: the next tick finds it
		}
		if err != nil {
			return err
		}
		t.file.Close()
		t.file, t.offset = following, 0
	}
}

// readOn reads the complete new lines of the file.
func (t *tail) readOn(r *reading) error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	t.offset = min(t.offset, info.Size()) // it may have been cut
	var s chain.Scan
	torn, err := s.ReadAll(stopReader{r, io.NewSectionReader(t.file, t.offset, info.Size()-t.offset)}, maxLine, r.take)
	if err == nil {
		err = r.err
	}
	t.offset = info.Size() - int64(torn)
	return err
}

// following opens the file after this one.
func (t *tail) following() (logFile, error) {
	earlier, err := earlierFiles(t.path)
	if err != nil {
		return logFile{}, err
	}
	paths := append(earlier, t.path)
	i := slices.IndexFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && os.SameFile(info, t.file.info)
	})
	if i < 0 || i == len(paths)-1 {
		i = len(paths) - 2 // it was removed, or replaced
	}
	next, err := openLogFile(paths[i+1])
	if err != nil {
		return logFile{}, err
	}
	if now, err := earlierFiles(t.path); i+1 == len(earlier) && (err != nil || !slices.Equal(now, earlier)) {
		return logFile{}, errors.Join(next.Close(), cmp.Or(err, fs.ErrNotExist)) // another file may have come between
	}
	return next, nil
}
