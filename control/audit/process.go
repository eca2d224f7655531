package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// processPart is the part of the name of a process's log before the name of the process.
const processPart = "process-"

// ProcessPath returns the path of a log for this process alone, beside the log at path: audit.jsonl becomes
// audit-process-4711.k3x9mq2vw7ra4.jsonl. It is for programs that may run several times at once. [Read] and [Follow]
// read such logs together with the log at path.
func ProcessPath(path string) string { return processPath(path, processName()) }

// processName returns the number of this process and a random text: two containers that share a directory have
// processes with the same number.
var processName = sync.OnceValue(func() string {
	return strconv.Itoa(os.Getpid()) + "." + strings.ToLower(rand.Text()[:13])
})

func processPath(path, name string) string {
	before, after := splitName(path)
	return filepath.Join(filepath.Dir(path), before+processPart+name+after)
}

// isOwnPath reports whether no other process writes to a path: ProcessPath has made it.
func isOwnPath(path string) bool {
	return strings.Contains(filepath.Base(path), "-"+processPart+processName()+".")
}

// isProcessName reports whether a text is the name of a process. The random text may be missing.
func isProcessName(name string) bool {
	number, random, _ := strings.Cut(name, ".")
	_, err := strconv.ParseUint(number, 10, 64)
	return err == nil && !strings.ContainsAny(random, ".-")
}

// Logs returns the path of a log, if it was written, and of the logs that processes write beside it. If there is none,
// it returns path alone.
func Logs(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("audit: %w", err)
	}
	before, after := splitName(path)
	var paths []string
	isWritten := false
	for _, e := range entries {
		rest, ends := strings.CutSuffix(e.Name(), after)
		stamp, ok := strings.CutPrefix(rest, before)
		switch name, isProcess := strings.CutPrefix(stamp, processPart); {
		case e.Name() == filepath.Base(path) || ok && ends && isStamp(stamp):
			isWritten = true
		case ok && ends && isProcess:
			name, stamp, rotated := strings.Cut(name, "-")
			if isProcessName(name) && (!rotated || isStamp(stamp)) {
				paths = append(paths, processPath(path, name))
			}
		}
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if isWritten || paths == nil {
		paths = append([]string{path}, paths...)
	}
	return paths, nil
}

// source is a log whose records are merged with the records of others.
type source struct {
	path  string
	first time.Time // of its first record
	next  func() (*Record, bool)
	head  *Record // the next record
	err   error
}

// errEnough ends a reading whose records are no longer wanted.
var errEnough = errors.New("enough records")

// readTogether is Read for several logs. Records with the same time are in the order of the logs. A log is open only
// while the times of its records are read, because many processes may have ended. ends has the number of the last
// wanted record of each log. If it is nil, all records are wanted.
func readTogether(
	ctx context.Context, paths []string, f *Filter, ends map[string]uint64, each func(*Record) error,
) (damaged int, err error) {
	if f == nil {
		f = &Filter{}
	}
	isWanted := func(path string, r *Record) bool { return ends == nil || r.Seq <= ends[path] }
	if f.Last > 0 {
		return readLast(ctx, paths, f, isWanted, each)
	}
	var waiting, open []*source
	for _, path := range paths {
		s := &source{path: path}
		if files, err := openFiles(path); err == nil {
			if first, ok := firstRecord(files[0]); ok {
				s.first = first.At
			}
			files.close()
		}
		waiting = append(waiting, s)
	}
	slices.SortStableFunc(waiting, func(a, b *source) int { return a.first.Compare(b.first) })
	for err == nil && len(waiting)+len(open) > 0 {
		i := oldest(open)
		if i < 0 || len(waiting) > 0 && !waiting[0].first.After(open[i].head.At) {
			s := waiting[0]
			waiting = waiting[1:]
			next, stop := iter.Pull(s.records(ctx, f, isWanted, &damaged))
			defer stop()
			s.next = next
			open = append(open, s)
			i = len(open) - 1
		} else {
			err = each(open[i].head)
		}
		var more bool
		if open[i].head, more = open[i].next(); !more {
			err = cmp.Or(err, open[i].err)
			open = slices.Delete(open, i, i+1)
		}
	}
	return damaged, err
}

// oldest returns the index of the source with the oldest next record, or -1 if there is none.
func oldest(open []*source) int {
	found := -1
	for i, s := range open {
		if found < 0 || s.head.At.Before(open[found].head.At) {
			found = i
		}
	}
	return found
}

// records yields the wanted records of the log. It adds the number of damaged lines to damaged, and stores the error.
func (s *source) records(
	ctx context.Context, f *Filter, isWanted func(string, *Record) bool, damaged *int,
) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		n, err := newReading(ctx, f, func(r *Record) error {
			if isWanted(s.path, r) && !yield(r) {
				return errEnough
			}
			return nil
		}).readLog(s.path, (*reading).read)
		*damaged += n
		if err != errEnough {
			s.err = err
		}
	}
}

// readLast calls each with the last wanted records of all logs.
func readLast(
	ctx context.Context, paths []string, f *Filter, isWanted func(string, *Record) bool, each func(*Record) error,
) (damaged int, err error) {
	var found []Record
	for _, path := range paths {
		n, err := newReading(ctx, f, func(r *Record) error {
			if isWanted(path, r) {
				found = append(found, r.clone())
			}
			return nil
		}).readLog(path, (*reading).read)
		damaged += n
		if err != nil {
			return damaged, err
		}
		sortByTime(found)
		found = found[max(0, len(found)-f.Last):]
	}
	for i := range found {
		if err := each(&found[i]); err != nil {
			return damaged, err
		}
	}
	return damaged, nil
}

func sortByTime(records []Record) {
	slices.SortStableFunc(records, func(a, b Record) int { return a.At.Compare(b.At) })
}

// clone returns a record that stays as it is when the next one is read.
func (r *Record) clone() Record {
	c := *r
	c.line = bytes.Clone(r.line)
	return c
}
